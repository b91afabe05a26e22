// A name for a model's content: what makes blocks of two models differ in the prefix cache.
#ifndef FOLIO_ENGINE_MODEL_DIGEST_H_
#define FOLIO_ENGINE_MODEL_DIGEST_H_

#include <string>

#include "formats/model_file.h"

namespace folio {

// SHA-256 over the metadata, the tensor table and a page of every tensor's data; 32 bytes. The same
// for the same content under any name, in one file or split, whatever the order of keys.
std::string ModelDigest(const ModelFile& file);

}  // namespace folio

#endif  // FOLIO_ENGINE_MODEL_DIGEST_H_
