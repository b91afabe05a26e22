#include "formats/huggingface/model_builder.h"

#include <span>
#include <utility>
#include <variant>

namespace folio {

ModelBuilder::ModelBuilder(std::string path, std::string_view architecture)
    : prefix_(std::string(architecture) + "."), kept_(std::make_shared<Kept>()) {
  parts_.path = std::move(path);
  parts_.kept.push_back(kept_);
  SetText("general.architecture", std::string(architecture), "config.json: model_type");
}

void ModelBuilder::SetOfModel(std::string_view suffix, MetadataValue value,
                              std::string_view field) {
  SetKey(prefix_ + std::string(suffix), std::move(value), "config.json: " + std::string(field));
}

void ModelBuilder::Set(std::string_view suffix, std::uint64_t value, std::string_view field) {
  SetOfModel(suffix, value, field);
}

void ModelBuilder::Set(std::string_view suffix, double value, std::string_view field) {
  SetOfModel(suffix, value, field);
}

void ModelBuilder::Set(std::string_view suffix, std::string_view value, std::string_view field) {
  SetOfModel(suffix, Keep(std::string(value)), field);
}

void ModelBuilder::Set(std::string_view suffix, bool value, std::string_view field) {
  SetOfModel(suffix, value, field);
}

std::uint64_t ModelBuilder::Uint(std::string_view suffix) const {
  const auto found = parts_.metadata.find(prefix_ + std::string(suffix));
  if (found == parts_.metadata.end()) return 0;
  const auto* value = std::get_if<std::uint64_t>(&found->second);
  return value == nullptr ? 0 : *value;
}

void ModelBuilder::SetKey(std::string_view key, MetadataValue value, std::string_view source) {
  parts_.metadata.insert_or_assign(std::string(key), std::move(value));
  parts_.source_names.insert_or_assign(std::string(key), std::string(source));
}

void ModelBuilder::SetText(std::string_view key, std::string text, std::string_view source) {
  SetKey(key, Keep(std::move(text)), source);
}

void ModelBuilder::AddTensor(std::string name, ModelTensor tensor, std::string_view source) {
  tensor.name = Keep(std::move(name));
  parts_.source_names.emplace(tensor.name, source);
  parts_.tensors.push_back(std::move(tensor));
}

void ModelBuilder::AddVector(std::string name, std::vector<float> values, std::string_view source) {
  const std::vector<float>& kept = kept_->vectors.emplace_back(std::move(values));
  const auto data = std::as_bytes(std::span(kept));
  const auto elements = static_cast<std::int64_t>(kept.size());
  AddTensor(std::move(name),
            {.name = {},
             .type = GgmlType::kF32,
             .dims = {elements},
             .elements = elements,
             .bytes = data.size(),
             .file = -1,
             .offset = 0,
             .data = data},
            source);
}

}  // namespace folio
