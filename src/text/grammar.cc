#include "text/grammar.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kBitsInWord = 32;
constexpr std::size_t kMostHeldBytes = std::size_t{64} << 10;

std::int32_t BridgeKind(ReplyGrammar::Kind kind) {
  switch (kind) {
    case ReplyGrammar::Kind::kJsonSchema:
      return FOLIO_GRAMMAR_JSON_SCHEMA;
    case ReplyGrammar::Kind::kLark:
      return FOLIO_GRAMMAR_LARK;
    case ReplyGrammar::Kind::kRegex:
      return FOLIO_GRAMMAR_REGEX;
    case ReplyGrammar::Kind::kNone:
      break;
  }
  return 0;
}

const char* KindName(ReplyGrammar::Kind kind) {
  switch (kind) {
    case ReplyGrammar::Kind::kJsonSchema:
      return "JSON schema";
    case ReplyGrammar::Kind::kLark:
      return "Lark";
    case ReplyGrammar::Kind::kRegex:
      return "regular expression";
    case ReplyGrammar::Kind::kNone:
      break;
  }
  return "";
}

Result<std::vector<BridgeHeldGrammar>> Hold(const FolioGrammarFactory* factory,
                                            const std::vector<HeldText>& texts) {
  std::vector<BridgeHeldGrammar> held;
  std::size_t bytes = 0;
  for (const HeldText& text : texts) {
    bytes += text.grammar.size();
    if (bytes > kMostHeldBytes) {
      return UsageError("grammar", text.name,
                        "makes the grammars of texts more than " + std::to_string(kMostHeldBytes) +
                            " bytes together");
    }
    BridgeBuffer error;
    held.emplace_back(folio_held_grammar_new(
        factory, text.is_regex ? FOLIO_GRAMMAR_REGEX : FOLIO_GRAMMAR_LARK, ToBridge(text.grammar),
        ToBridge(text.opening), ToBridge(text.closing), error.get()));
    if (held.back() == nullptr) return UsageError("grammar", text.name, error.str());
  }
  return held;
}

}  // namespace

Result<GrammarMatcher> GrammarMatcher::Copy() const {
  BridgeBuffer error;
  BridgeMatcher copy(folio_matcher_copy(matcher_.get(), error.get()));
  if (copy == nullptr) return RuntimeError("grammar", "copy", error.str());
  GrammarMatcher matcher(std::move(copy), allowed_.size());
  matcher.complete_ = complete_;
  return matcher;
}

Result<std::span<const std::uint32_t>> GrammarMatcher::Allowed() {
  BridgeBuffer error;
  if (folio_matcher_mask(matcher_.get(), allowed_.data(), allowed_.size(), error.get()) != 0) {
    // A bound that the grammar went over: the same would happen again.
    return InputError("grammar", "next token", error.str());
  }
  return std::span<const std::uint32_t>(allowed_);
}

Status GrammarMatcher::Take(TokenId token) {
  BridgeBuffer error;
  const std::int32_t taken =
      folio_matcher_take(matcher_.get(), static_cast<std::uint32_t>(token), error.get());
  if (taken < 0) return RuntimeError("grammar", "token " + std::to_string(token), error.str());
  complete_ = taken > 0;
  return {};
}

Result<const FolioGrammarFactory*> GrammarCompiler::Factory() const {
  const std::lock_guard lock(mutex_);
  if (factory_ != nullptr) return factory_.get();
  const auto size = static_cast<std::size_t>(tokenizer_->vocab_size());
  std::vector<FolioBytes> tokens(size);
  std::vector<std::uint8_t> control(size);
  for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
    const bool is_control = tokenizer_->IsControl(id);
    const auto index = static_cast<std::size_t>(id);
    control[index] = is_control ? 1 : 0;
    tokens[index] = ToBridge(is_control ? tokenizer_->TokenPiece(id) : tokenizer_->TokenBytes(id));
  }
  const std::vector<std::uint32_t> ends(tokenizer_->end_tokens().begin(),
                                        tokenizer_->end_tokens().end());
  const FolioGrammarVocabulary vocabulary{.tokens = tokens.data(),
                                          .control = control.data(),
                                          .token_count = size,
                                          .end_tokens = ends.data(),
                                          .end_token_count = ends.size()};
  BridgeBuffer error;
  factory_.reset(folio_grammar_factory_new(&vocabulary, error.get()));
  if (factory_ == nullptr) return RuntimeError("grammar", "vocabulary", error.str());
  return factory_.get();
}

Result<GrammarMatcher> GrammarCompiler::Compile(const ReplyGrammar& grammar) const {
  const Result<const FolioGrammarFactory*> factory = Factory();
  if (!factory) return std::unexpected(factory.error());
  const auto held = Hold(*factory, grammar.held);
  if (!held) return std::unexpected(held.error());
  std::vector<const FolioHeldGrammar*> texts;
  for (const BridgeHeldGrammar& text : *held) texts.push_back(text.get());
  BridgeBuffer error;
  BridgeMatcher matcher(folio_grammar_compile(*factory, BridgeKind(grammar.kind),
                                              ToBridge(grammar.text), texts.data(), texts.size(),
                                              error.get()));
  if (matcher == nullptr) return UsageError("grammar", KindName(grammar.kind), error.str());
  const auto size = static_cast<std::size_t>(tokenizer_->vocab_size());
  return GrammarMatcher(std::move(matcher), (size + kBitsInWord - 1) / kBitsInWord);
}

}  // namespace folio
