#include "formats/huggingface/folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "formats/byte_cursor.h"
#include "formats/huggingface/config_fields.h"
#include "formats/huggingface/families.h"
#include "formats/mapped_file.h"
#include "formats/metadata_value.h"

namespace folio {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::uint64_t kMostLayers = 1024;
constexpr std::uint64_t kMostExperts = 1024;
// The largest tokenizer.json known has 34 MB.
constexpr std::size_t kMostTokenizerBytes = std::size_t{256} << 20;
constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;

Result<const ModelFamily*> FamilyOf(ConfigFields& config) {
  const std::string type = config.StringOr("model_type", "");
  if (!config.status()) return std::unexpected(config.status().error());
  const ModelFamily* family = FindModelFamily(type);
  if (family == nullptr) {
    return InputError(config.path(), "model_type",
                      (type.empty() ? "is missing" : "is " + QuotedExcerpt(type)) +
                          "; known in folders are " + KnownModelTypes());
  }
  // A head for something else than the next token has other tensors behind the last layer.
  const Json* classes = config.Find("architectures");
  if (classes == nullptr || !classes->is_array() || classes->empty()) return family;
  const bool generates = std::ranges::any_of(*classes, [](const Json& name) {
    return name.is_string() && name.get_ref<const std::string&>().ends_with("ForCausalLM");
  });
  if (!generates) {
    return InputError(config.path(), "architectures",
                      "has " + DescribeJson(classes->front()) + " and none ForCausalLM");
  }
  return family;
}

// The name that the model has for people, if the writer knew one.
void MapName(ConfigFields& config, ModelBuilder& model) {
  std::string name = config.StringOr("_name_or_path", "");
  if (!name.empty()) model.SetText("general.name", std::move(name), "config.json: _name_or_path");
}

Status MapModel(ConfigFields& config, const ModelFamily& family, const Checkpoint& checkpoint,
                ModelBuilder& model) {
  MapName(config, model);
  family.configure(config, model);
  if (family.pairs_reordered) model.Set("rope.halves", true, "model_type");
  const bool tied = config.BoolOr("tie_word_embeddings", false);
  const std::uint64_t layers = config.Uint("num_hidden_layers");
  // A small file may name very many: bounded before its tensors are looked at.
  if (layers > kMostLayers) config.Refuse("num_hidden_layers", "is " + std::to_string(layers));
  const std::uint64_t experts = model.Uint("expert_count");
  if (experts > kMostExperts) config.Refuse("num_local_experts", "is " + std::to_string(experts));
  if (!config.status()) return config.status();
  const TensorMapping mapping = {.layer = family.rules,
                                 .layers = layers,
                                 .experts = experts,
                                 .one_more = family.norms_add_one,
                                 .tied = tied};
  if (Status mapped = MapTensors(checkpoint, mapping, model); !mapped) return mapped;
  if (config.Has("tie_word_embeddings") && !tied && !model.HasTensor("output.weight")) {
    return InputError(config.path(), "tie_word_embeddings",
                      "is false, but there is no tensor lm_head.weight");
  }
  return {};
}

// Files of a folder beside its tensors, mapped.
class SideFiles {
 public:
  // The text of a file, or nothing where there is no such file.
  Result<std::string_view> Read(const std::string& folder, std::string_view name) {
    const std::string path = folder + "/" + std::string(name);
    // A link to nowhere, and a folder that may not be looked into, are errors of opening.
    std::error_code error;
    const auto type = std::filesystem::symlink_status(path, error).type();
    if (type == std::filesystem::file_type::not_found) return std::string_view();
    Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
    if (!mapping) return std::unexpected(mapping.error());
    const std::size_t most = name == "tokenizer.json" ? kMostTokenizerBytes : kMostTextBytes;
    if ((*mapping)->bytes().size() > most) {
      return InputError(path, "size",
                        "is " + std::to_string((*mapping)->bytes().size()) +
                            " bytes, more than the " + std::to_string(most) + " that are read");
    }
    mappings_.push_back(*std::move(mapping));
    return AsText(mappings_.back()->bytes());
  }
  const std::vector<std::shared_ptr<MappedFile>>& mappings() const { return mappings_; }

 private:
  std::vector<std::shared_ptr<MappedFile>> mappings_;
};

}  // namespace

Result<Json> ParseFolderJson(const std::string& path, std::string_view text) {
  Result<Json> parsed = ParseJson(text);
  if (parsed) return parsed;
  return InputError(path, "text", parsed.error().why);
}

Result<ModelFile> ReadHuggingFaceFolder(const std::string& folder, const FolderTexts& texts,
                                        Checkpoint checkpoint) {
  const std::string path = folder + "/" + std::string(kConfig);
  if (texts.config.empty())
    return InputError(folder, std::string(kConfig), "is not there or empty");
  const Result<Json> parsed = ParseFolderJson(path, texts.config);
  if (!parsed) return std::unexpected(parsed.error());
  ConfigFields config(path, *parsed);
  const Result<const ModelFamily*> family = FamilyOf(config);
  if (!family) return std::unexpected(family.error());
  ModelBuilder model(folder, (*family)->architecture);
  if (Status mapped = MapModel(config, **family, checkpoint, model); !mapped)
    return std::unexpected(mapped.error());
  if (Status mapped = MapTokenizerFiles(folder, texts, *parsed, model); !mapped)
    return std::unexpected(mapped.error());
  ModelFileParts& parts = model.parts();
  parts.files = std::move(checkpoint.files);
  parts.mappings = std::move(checkpoint.mappings);
  parts.file_bytes = checkpoint.bytes;
  return model.Finish();
}

Result<ModelFile> OpenHuggingFaceFolder(const std::string& folder) {
  SideFiles files;
  FolderTexts texts;
  const std::array<std::pair<std::string_view, std::string_view*>, 5> wanted = {{
      {kConfig, &texts.config},
      {"generation_config.json", &texts.generation_config},
      {"tokenizer.json", &texts.tokenizer},
      {"tokenizer_config.json", &texts.tokenizer_config},
      {"chat_template.jinja", &texts.chat_template},
  }};
  for (const auto& [name, text] : wanted) {
    const Result<std::string_view> found = files.Read(folder, name);
    if (!found) return std::unexpected(found.error());
    *text = *found;
  }
  if (texts.config.empty()) {
    return InputError(folder, std::string(kConfig),
                      "is not there or empty: the folder is no model of Hugging Face's");
  }
  Result<Checkpoint> checkpoint = OpenCheckpoint(folder);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  Result<ModelFile> model = ReadHuggingFaceFolder(folder, texts, *std::move(checkpoint));
  if (model) {
    for (const std::shared_ptr<MappedFile>& mapping : files.mappings()) model->Keep(mapping);
  }
  return model;
}

}  // namespace folio
