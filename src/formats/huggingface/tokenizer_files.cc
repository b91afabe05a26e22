#include "formats/huggingface/tokenizer_files.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "formats/huggingface/config_fields.h"
#include "formats/huggingface/folder.h"
#include "formats/utf8.h"

namespace folio {
namespace {

constexpr std::size_t kMostEndTokens = 64;

// A token's spelling: a string, or an object whose "content" it is.
void MapToken(ConfigFields& fields, std::string_view field, ModelBuilder& model) {
  const Json* value = fields.Find(field);
  if (value == nullptr) return;
  std::string spelling;
  if (value->is_object()) {
    ConfigFields token = fields.Object(field);
    spelling = token.StringOr("content", "");
    fields.Take(token);
  } else {
    spelling = fields.StringOr(field, "");
  }
  if (!spelling.empty())
    model.SetText("tokenizer.huggingface." + std::string(field), std::move(spelling),
                  "tokenizer_config.json: " + std::string(field));
}

// An id, or a list of ids.
std::vector<std::uint64_t> Ids(ConfigFields& fields, std::string_view field) {
  std::vector<std::uint64_t> ids;
  const Json* value = fields.Find(field);
  if (value == nullptr) return ids;
  const bool list = value->is_array() && value->size() <= kMostEndTokens;
  for (const Json& item : list ? *value : Json::array({*value})) {
    if (item.is_number_unsigned()) {
      ids.push_back(item.get<std::uint64_t>());
    } else {
      fields.Refuse(field, "has " + DescribeJson(item) + "; ids are needed");
    }
  }
  return ids;
}

// The template itself, or of a list of named ones the default.
std::string TemplateOf(ConfigFields& fields) {
  const Json* value = fields.Find("chat_template");
  if (value == nullptr || !value->is_array()) return fields.StringOr("chat_template", "");
  for (const Json& item : *value) {
    if (!item.is_object() || item.value("name", Json()) != "default") continue;
    const Json source = item.value("template", Json());
    if (source.is_string()) return source.get<std::string>();
  }
  return {};
}

Status MapIds(const std::string& folder, const FolderTexts& texts, const Json& config,
              ModelBuilder& model) {
  ConfigFields fields(folder + "/config.json", config);
  const std::vector<std::uint64_t> begins = Ids(fields, "bos_token_id");
  std::vector<std::uint64_t> ends = Ids(fields, "eos_token_id");
  if (!fields.status()) return fields.status();
  if (!begins.empty()) {
    model.SetKey("tokenizer.ggml.bos_token_id", begins.front(), "config.json: bos_token_id");
  }
  if (!ends.empty()) {
    model.SetKey("tokenizer.ggml.eos_token_id", ends.front(), "config.json: eos_token_id");
  }
  std::string source = "config.json: eos_token_id";
  if (!texts.generation_config.empty()) {
    source = "config.json or generation_config.json: eos_token_id";
    const std::string path = folder + "/generation_config.json";
    const Result<Json> parsed = ParseFolderJson(path, texts.generation_config);
    if (!parsed) return std::unexpected(parsed.error());
    ConfigFields generation(path, *parsed);
    for (const std::uint64_t id : Ids(generation, "eos_token_id")) ends.push_back(id);
    if (!generation.status()) return generation.status();
  }
  model.SetKey("tokenizer.huggingface.end_token_ids", std::move(ends), source);
  return {};
}

Status MapTokenizerConfig(const std::string& path, std::string_view text, bool has_template,
                          ModelBuilder& model) {
  const Result<Json> parsed = ParseFolderJson(path, text);
  if (!parsed) return std::unexpected(parsed.error());
  ConfigFields fields(path, *parsed);
  MapToken(fields, "bos_token", model);
  MapToken(fields, "eos_token", model);
  if (!has_template) {
    std::string source = TemplateOf(fields);
    if (!source.empty())
      model.SetText("tokenizer.chat_template", std::move(source),
                    "tokenizer_config.json: chat_template");
  }
  return fields.status();
}

}  // namespace

Status MapTokenizerFiles(const std::string& folder, const FolderTexts& texts, const Json& config,
                         ModelBuilder& model) {
  if (texts.tokenizer.empty()) {
    return InputError(folder, "tokenizer.json",
                      "is not there or empty (a tokenizer.model alone is not read)");
  }
  model.SetKey("tokenizer.huggingface.json", texts.tokenizer, "tokenizer.json");
  if (Status mapped = MapIds(folder, texts, config, model); !mapped) return mapped;
  if (!texts.chat_template.empty()) {
    if (!IsValidUtf8(texts.chat_template))
      return InputError(folder + "/chat_template.jinja", "text", "is not UTF-8");
    model.SetKey("tokenizer.chat_template", texts.chat_template, "chat_template.jinja");
  }
  if (texts.tokenizer_config.empty()) return {};
  return MapTokenizerConfig(folder + "/tokenizer_config.json", texts.tokenizer_config,
                            !texts.chat_template.empty(), model);
}

}  // namespace folio
