// What a folder says of its tokenizer, put under the model's keys:
//   tokenizer.huggingface.json             tokenizer.json's text (a key of GGUF's specification)
//   tokenizer.huggingface.bos_token, .eos_token    spellings that tokenizer_config.json gives
//   tokenizer.ggml.bos_token_id, .eos_token_id     ids that config.json gives
//   tokenizer.huggingface.end_token_ids    what else ends a reply (generation_config.json)
//   tokenizer.chat_template                chat_template.jinja, or tokenizer_config.json's
#ifndef FOLIO_FORMATS_HUGGINGFACE_TOKENIZER_FILES_H_
#define FOLIO_FORMATS_HUGGINGFACE_TOKENIZER_FILES_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/huggingface/model_builder.h"
#include "formats/json.h"

namespace folio {

// The texts of a folder's files; empty where there is no such file. They must outlive the model.
struct FolderTexts {
  std::string_view config;             // config.json
  std::string_view generation_config;  // generation_config.json
  std::string_view tokenizer;          // tokenizer.json
  std::string_view tokenizer_config;   // tokenizer_config.json
  std::string_view chat_template;      // chat_template.jinja
};

// `config` is config.json, parsed.
Status MapTokenizerFiles(const std::string& folder, const FolderTexts& texts, const Json& config,
                         ModelBuilder& model);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_TOKENIZER_FILES_H_
