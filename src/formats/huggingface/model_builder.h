// Puts a ModelFile together from what another format says: metadata under GGUF's keys, tensors
// under GGUF's names, and for each the name that it has in its source, for errors.
#ifndef FOLIO_FORMATS_HUGGINGFACE_MODEL_BUILDER_H_
#define FOLIO_FORMATS_HUGGINGFACE_MODEL_BUILDER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"

namespace folio {

class ModelBuilder {
 public:
  ModelBuilder(std::string path, std::string_view architecture);

  // "<architecture>.<suffix>", which config.json calls `field`.
  void Set(std::string_view suffix, std::uint64_t value, std::string_view field);
  void Set(std::string_view suffix, double value, std::string_view field);
  void Set(std::string_view suffix, std::string_view value, std::string_view field);
  void Set(std::string_view suffix, bool value, std::string_view field);
  // A key of another kind; `source` is the file's own name for it.
  void SetKey(std::string_view key, MetadataValue value, std::string_view source);
  void SetText(std::string_view key, std::string text, std::string_view source);

  // The tensor's data must outlive the model (by mappings of parts()); its name is kept here.
  void AddTensor(std::string name, ModelTensor tensor, std::string_view source);
  // A vector that was computed.
  void AddVector(std::string name, std::vector<float> values, std::string_view source);
  // What Set gave "<architecture>.<suffix>", or 0.
  std::uint64_t Uint(std::string_view suffix) const;
  bool HasTensor(std::string_view name) const { return parts_.source_names.contains(name); }

  ModelFileParts& parts() { return parts_; }
  ModelFile Finish() { return ModelFile(std::move(parts_)); }

 private:
  // Strings and vectors that views of the model point into; they stay where they are.
  struct Kept {
    std::deque<std::string> texts;
    std::deque<std::vector<float>> vectors;
  };

  std::string_view Keep(std::string text) { return kept_->texts.emplace_back(std::move(text)); }
  void SetOfModel(std::string_view suffix, MetadataValue value, std::string_view field);

  std::string prefix_;
  ModelFileParts parts_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_MODEL_BUILDER_H_
