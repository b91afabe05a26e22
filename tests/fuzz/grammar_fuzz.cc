// Grammars of callers, through the bridge: the first byte chooses the kind, the second what is
// drawn, the rest is the grammar. Each is refused in one line or can be drawn from, as a reply and
// as a text inside one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/grammar.h"
#include "text/grammar_walk.h"
#include "text/test_vocabulary.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

constexpr int kMostTokens = 60;

void Try(const folio::Tokenizer& tokenizer, const folio::GrammarCompiler& grammars,
         const folio::ReplyGrammar& grammar, std::uint8_t seed) {
  auto matcher = grammars.Compile(grammar);
  if (!matcher) {
    Require(!matcher.error().why.empty());
    Require(matcher.error().why.find('\n') == std::string::npos);
    return;
  }
  constexpr folio::TokenId kOpening = 0;  // "!"
  if (!grammar.held.empty()) Require(matcher->Take(kOpening).has_value());
  auto copy = matcher->Copy();
  Require(copy.has_value());
  folio::testing::GrammarWalk walk(tokenizer, seed);
  folio::testing::GrammarWalk again(tokenizer, seed);
  Require(walk.Run(*matcher, kMostTokens) == again.Run(*copy, kMostTokens));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Kind = folio::ReplyGrammar::Kind;
  static const auto tokenizer = folio::testing::ByteLevelVocabulary().Load();
  static const folio::GrammarCompiler grammars(*tokenizer);
  if (size < 2) return 0;
  constexpr Kind kKinds[] = {Kind::kJsonSchema, Kind::kLark, Kind::kRegex};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Kind kind = kKinds[data[0] % 3];
  Try(*tokenizer, grammars, {.kind = kind, .text = std::string(text), .held = {}}, data[1]);
  if (kind == Kind::kJsonSchema) return 0;
  const folio::HeldText held{.name = "text",
                             .opening = "!",
                             .closing = data[0] % 2 == 0 ? "" : "</p>",
                             .is_regex = kind == Kind::kRegex,
                             .grammar = std::string(text)};
  Try(*tokenizer, grammars, {.kind = Kind::kRegex, .text = "(.|\n)*", .held = {held}}, data[1]);
  return 0;
}
