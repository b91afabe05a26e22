// A model as Hugging Face keeps it: a folder with config.json, model.safetensors (or its parts and
// their index) and tokenizer.json. It is read into the keys and names that GGUF files have, so that
// what is known of a family is said once; matrices stay where they lie.
#ifndef FOLIO_FORMATS_HUGGINGFACE_FOLDER_H_
#define FOLIO_FORMATS_HUGGINGFACE_FOLDER_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/huggingface/checkpoint.h"
#include "formats/huggingface/tokenizer_files.h"
#include "formats/json.h"
#include "formats/model_file.h"

namespace folio {

// Errors name the file in the folder, the field or tensor, and its value.
Result<ModelFile> OpenHuggingFaceFolder(const std::string& folder);

// The same from parts in memory, for tests and the fuzzer. What `texts` and the checkpoint's
// tensors point into must outlive the model, but for what the checkpoint's mappings own.
Result<ModelFile> ReadHuggingFaceFolder(const std::string& folder, const FolderTexts& texts,
                                        Checkpoint checkpoint);

// A bounded JSON file of a folder.
Result<Json> ParseFolderJson(const std::string& path, std::string_view text);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_FOLDER_H_
