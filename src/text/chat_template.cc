#include "text/chat_template.h"

#include <cstdint>
#include <utility>

#include "formats/utf8.h"
#include "text/bridge.h"
#include "text/template_trial.h"

namespace folio {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template";
// Longer than any text that Encode takes, so that its own error is the one reported.
constexpr FolioRenderLimits kLimits = {kTemplateFuel, 2 * kMostPromptBytes, 2 * kMostPromptBytes};

void AppendJsonString(std::string_view text, std::string& json) {
  constexpr std::string_view kHex = "0123456789abcdef";
  json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      json += "\\u00";
      json += kHex[byte >> 4];
      json += kHex[byte & 15];
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  json += '"';
}

}  // namespace

struct ChatTemplate::Impl {
  std::string name;
  std::string bos_token;
  std::string eos_token;
  BridgeTemplate compiled;
  bool takes_parts = false;

  struct Rendering {
    BridgeBuffer text;
    BridgeIds pieces;
  };
  Status Run(std::string_view messages, std::string_view extra, bool add_generation_prompt,
             bool protect, Rendering& rendering) const;
};

Status ChatTemplate::Impl::Run(std::string_view messages, std::string_view extra,
                               bool add_generation_prompt, bool protect,
                               Rendering& rendering) const {
  FolioRenderInput input{};
  input.messages = ToBridge(messages);
  input.extra = ToBridge(extra);
  input.bos_token = ToBridge(bos_token);
  input.eos_token = ToBridge(eos_token);
  input.add_generation_prompt = add_generation_prompt;
  input.protect = protect;
  // Callers of the API give what it takes; Hugging Face's callers give what the template takes.
  input.join_text_parts = protect && !takes_parts;
  input.parse_arguments = protect;
  BridgeBuffer error;
  switch (folio_template_render(compiled.get(), &input, &kLimits, rendering.text.get(),
                                rendering.pieces.get(), error.get())) {
    case FOLIO_RENDER_OK:
      return {};
    case FOLIO_RENDER_BAD_CONTEXT:
      return InputError("conversation", "", error.str());
    case FOLIO_RENDER_RAISED:
      return InputError("conversation", "refused by the chat template", error.str());
    default:
      return InputError(name, "", error.str());
  }
}

Result<ChatTemplate> ChatTemplate::FromGguf(const Gguf& file, const Tokenizer& tokenizer) {
  auto source = file.GetString(kKey);
  if (!source) return std::unexpected(source.error());
  return FromSource(*source, file.path() + ": " + std::string(kKey), tokenizer);
}

Result<ChatTemplate> ChatTemplate::FromSource(std::string_view source, const std::string& name,
                                              const Tokenizer& tokenizer) {
  if (source.size() > kMostTemplateBytes) {
    return InputError(name, "",
                      std::to_string(source.size()) + " bytes; at most " +
                          std::to_string(kMostTemplateBytes) + " are taken");
  }
  if (const std::size_t valid = ValidUtf8Prefix(source); valid != source.size()) {
    return InputError(name, "byte " + std::to_string(valid), "not UTF-8");
  }
  auto impl = std::make_unique<Impl>();
  impl->name = name;
  impl->bos_token = tokenizer.TokenPiece(tokenizer.bos());
  impl->eos_token = tokenizer.TokenPiece(tokenizer.eos());
  auto trial = TryTemplate(source, name, impl->bos_token, impl->eos_token);
  if (!trial) return std::unexpected(trial.error());
  impl->takes_parts = trial->takes_parts;

  std::vector<FolioBytes> markers;
  for (const TokenId id : tokenizer.control_tokens()) {
    markers.push_back(ToBridge(tokenizer.TokenPiece(id)));
  }
  BridgeBuffer error;
  impl->compiled.reset(
      folio_template_new(ToBridge(source), markers.data(), markers.size(), error.get()));
  if (impl->compiled == nullptr) return InputError(name, "", error.str());
  return ChatTemplate(std::move(impl));
}

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<std::vector<TokenId>> ChatTemplate::Render(const Tokenizer& tokenizer,
                                                  std::string_view messages_json,
                                                  std::string_view extra_json,
                                                  bool add_generation_prompt) const {
  Impl::Rendering rendering;
  if (auto ok =
          impl_->Run(messages_json, extra_json, add_generation_prompt, /*protect=*/true, rendering);
      !ok) {
    return std::unexpected(ok.error());
  }
  const std::string_view text = rendering.text.text();
  std::vector<TokenId> ids;
  std::uint32_t begin = 0;
  bool marker = false;
  for (const std::uint32_t end : rendering.pieces.ids()) {
    const std::string_view piece = text.substr(begin, end - begin);
    const TokenId control = marker ? tokenizer.FindSpecial(piece) : -1;
    if (control >= 0) {
      ids.push_back(control);
    } else if (!piece.empty()) {
      auto plain = tokenizer.Encode(piece, SpecialTokens::kAsText);
      if (!plain) return plain;
      ids.insert(ids.end(), plain->begin(), plain->end());
    }
    begin = end;
    marker = !marker;
  }
  if (tokenizer.add_bos() && (ids.empty() || ids.front() != tokenizer.bos())) {
    ids.insert(ids.begin(), tokenizer.bos());
  }
  return ids;
}

Result<std::vector<TokenId>> ChatTemplate::Render(const Tokenizer& tokenizer,
                                                  const std::vector<ChatMessage>& messages,
                                                  bool add_generation_prompt) const {
  std::string json = "[";
  for (const ChatMessage& message : messages) {
    if (json.size() > 1) json += ',';
    json += R"({"role":)";
    AppendJsonString(message.role, json);
    json += R"(,"content":)";
    AppendJsonString(message.content, json);
    json += '}';
  }
  json += ']';
  return Render(tokenizer, json, "", add_generation_prompt);
}

Result<std::string> ChatTemplate::RenderText(std::string_view messages_json,
                                             std::string_view extra_json,
                                             bool add_generation_prompt) const {
  Impl::Rendering rendering;
  if (auto ok = impl_->Run(messages_json, extra_json, add_generation_prompt, /*protect=*/false,
                           rendering);
      !ok) {
    return std::unexpected(ok.error());
  }
  return rendering.text.str();
}

}  // namespace folio
