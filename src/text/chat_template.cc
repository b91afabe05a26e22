#include "text/chat_template.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "formats/utf8.h"
#include "text/bridge.h"
#include "text/prompt_parts.h"
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

std::string MessagesJson(const std::vector<ChatMessage>& messages) {
  std::string json = "[";
  for (const ChatMessage& message : messages) {
    if (json.size() > 1) json += ',';
    json += R"({"role":)";
    AppendJsonString(message.role, json);
    json += R"(,"content":)";
    AppendJsonString(message.content, json);
    json += '}';
  }
  return json + ']';
}

struct Rendering {
  BridgeBuffer text;
  BridgeIds pieces;
  BridgeParts parts;
};

// Calls marker(id, begin, end) or plain(ids, begin, end) for each piece.
template <typename Marker, typename Plain>
Status ForEachPiece(const Tokenizer& tokenizer, const Rendering& rendering, const Marker& marker,
                    const Plain& plain) {
  const std::string_view text = rendering.text.text();
  std::uint32_t begin = 0;
  bool is_marker = false;
  for (const std::uint32_t end : rendering.pieces.ids()) {
    const std::string_view piece = text.substr(begin, end - begin);
    const TokenId control = is_marker ? tokenizer.FindSpecial(piece) : -1;
    if (control >= 0) {
      marker(control, begin, end);
    } else if (!piece.empty()) {
      auto ids = tokenizer.Encode(piece, SpecialTokens::kAsText);
      if (!ids) return std::unexpected(ids.error());
      plain(*ids, begin, end);
    }
    begin = end;
    is_marker = !is_marker;
  }
  return {};
}

bool NeedsBos(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  return tokenizer.add_bos() && (ids.empty() || ids.front() != tokenizer.bos());
}

PartNames NamesOf(const BridgeParts& parts) {
  PartNames names;
  const std::span<const std::uint32_t> messages = parts.messages();
  names.messages.assign(messages.begin(), messages.end());
  std::string_view lines = parts.labels();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::size_t end = lines.find('\n');
    names.labels.push_back(lines.substr(0, end));
    lines.remove_prefix(std::min(lines.size(), end + 1));
  }
  return names;
}

RenderedText TextOf(const Tokenizer& tokenizer, const Rendering& rendering,
                    bool add_generation_prompt) {
  RenderedText text{.text = rendering.text.text(), .add_generation_prompt = add_generation_prompt};
  const std::span<const std::uint32_t> fields = rendering.parts.stretches();
  for (std::size_t i = 0; i + 2 < fields.size(); i += 3) {
    text.stretches.push_back({fields[i], fields[i + 1], fields[i + 2]});
  }
  const std::span<const std::uint32_t> ends = rendering.pieces.ids();
  for (std::size_t i = 1; i < ends.size(); i += 2) {
    const std::string_view marker = text.text.substr(ends[i - 1], ends[i] - ends[i - 1]);
    const std::vector<TokenId>& turn_ends = tokenizer.end_tokens();
    if (std::ranges::find(turn_ends, tokenizer.FindSpecial(marker)) != turn_ends.end()) {
      text.turn_ends.push_back(ends[i]);
    }
  }
  return text;
}

}  // namespace

struct ChatTemplate::Impl {
  std::string name;
  std::string source;
  std::string bos_token;
  std::string eos_token;
  BridgeTemplate compiled;
  bool takes_parts = false;

  // What a rendering is for.
  enum class Purpose { kText, kTokens, kParts };
  Status Run(std::string_view messages, std::string_view extra, bool add_generation_prompt,
             Purpose purpose, Rendering& rendering) const;
};

Status ChatTemplate::Impl::Run(std::string_view messages, std::string_view extra,
                               bool add_generation_prompt, Purpose purpose,
                               Rendering& rendering) const {
  const bool protect = purpose != Purpose::kText;
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
  const int status =
      purpose == Purpose::kParts
          ? folio_template_render_parts(compiled.get(), &input, &kLimits, rendering.text.get(),
                                        rendering.pieces.get(), rendering.parts.get(), error.get())
          : folio_template_render(compiled.get(), &input, &kLimits, rendering.text.get(),
                                  rendering.pieces.get(), error.get());
  switch (status) {
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

Result<ChatTemplate> ChatTemplate::FromModel(const ModelFile& file, const Tokenizer& tokenizer) {
  auto source = file.GetString(kKey);
  if (!source) return std::unexpected(source.error());
  return FromSource(*source, file.path() + ": " + std::string(kKey), tokenizer);
}

Result<ChatTemplate> ChatTemplate::FromFile(const std::string& path, const Tokenizer& tokenizer) {
  std::ifstream file(path, std::ios::binary);
  std::string source(kMostTemplateBytes + 1, '\0');
  file.read(source.data(), static_cast<std::streamsize>(source.size()));
  if (file.bad() || (file.fail() && !file.eof())) return InputError(path, "", "can't be read");
  source.resize(static_cast<std::size_t>(file.gcount()));
  return FromSource(source, path, tokenizer);
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
  impl->source = source;
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

const std::string& ChatTemplate::source() const { return impl_->source; }

Result<std::vector<TokenId>> ChatTemplate::Render(const Tokenizer& tokenizer,
                                                  std::string_view messages_json,
                                                  std::string_view extra_json,
                                                  bool add_generation_prompt) const {
  Rendering rendering;
  if (auto ok = impl_->Run(messages_json, extra_json, add_generation_prompt, Impl::Purpose::kTokens,
                           rendering);
      !ok) {
    return std::unexpected(ok.error());
  }
  std::vector<TokenId> ids;
  auto ok = ForEachPiece(
      tokenizer, rendering,
      [&](TokenId control, std::uint32_t, std::uint32_t) { ids.push_back(control); },
      [&](const std::vector<TokenId>& plain, std::uint32_t, std::uint32_t) {
        ids.insert(ids.end(), plain.begin(), plain.end());
      });
  if (!ok) return std::unexpected(ok.error());
  if (NeedsBos(tokenizer, ids)) ids.insert(ids.begin(), tokenizer.bos());
  return ids;
}

Result<std::vector<TokenId>> ChatTemplate::Render(const Tokenizer& tokenizer,
                                                  const std::vector<ChatMessage>& messages,
                                                  bool add_generation_prompt) const {
  return Render(tokenizer, MessagesJson(messages), "", add_generation_prompt);
}

Result<RenderedPrompt> ChatTemplate::RenderWithParts(const Tokenizer& tokenizer,
                                                     std::string_view messages_json,
                                                     std::string_view extra_json,
                                                     bool add_generation_prompt) const {
  Rendering rendering;
  if (auto ok = impl_->Run(messages_json, extra_json, add_generation_prompt, Impl::Purpose::kParts,
                           rendering);
      !ok) {
    return std::unexpected(ok.error());
  }
  PartTokens parts(
      ShareOut(TextOf(tokenizer, rendering, add_generation_prompt), NamesOf(rendering.parts)));
  RenderedPrompt prompt;
  std::vector<std::size_t> lengths;
  auto ok = ForEachPiece(
      tokenizer, rendering,
      [&](TokenId control, std::uint32_t begin, std::uint32_t) {
        prompt.tokens.push_back(control);
        parts.Add(begin);
      },
      [&](const std::vector<TokenId>& plain, std::uint32_t begin, std::uint32_t end) {
        prompt.tokens.insert(prompt.tokens.end(), plain.begin(), plain.end());
        lengths.clear();
        for (const TokenId id : plain) lengths.push_back(tokenizer.TokenBytes(id).size());
        parts.AddAll(begin, end - begin, lengths);
      });
  if (!ok) return std::unexpected(ok.error());
  if (NeedsBos(tokenizer, prompt.tokens)) {
    prompt.tokens.insert(prompt.tokens.begin(), tokenizer.bos());
    parts.AddInFront();
  }
  prompt.parts = parts.Finish();
  return prompt;
}

Result<RenderedPrompt> ChatTemplate::RenderWithParts(const Tokenizer& tokenizer,
                                                     const std::vector<ChatMessage>& messages,
                                                     bool add_generation_prompt) const {
  return RenderWithParts(tokenizer, MessagesJson(messages), "", add_generation_prompt);
}

Result<std::string> ChatTemplate::RenderText(std::string_view messages_json,
                                             std::string_view extra_json,
                                             bool add_generation_prompt) const {
  Rendering rendering;
  if (auto ok = impl_->Run(messages_json, extra_json, add_generation_prompt, Impl::Purpose::kText,
                           rendering);
      !ok) {
    return std::unexpected(ok.error());
  }
  return rendering.text.str();
}

}  // namespace folio
