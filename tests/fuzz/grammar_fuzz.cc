// Grammars of callers, through the bridge: the first byte chooses the kind, the second what is
// drawn, the rest is the grammar. Each is refused in one line or can be drawn from.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Kind = folio::ReplyGrammar::Kind;
  static const auto tokenizer = folio::testing::ByteLevelVocabulary().Load();
  static const folio::GrammarCompiler grammars(*tokenizer);
  if (size < 2) return 0;
  constexpr Kind kKinds[] = {Kind::kJsonSchema, Kind::kLark, Kind::kRegex};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  auto matcher = grammars.Compile({.kind = kKinds[data[0] % 3], .text = std::string(text)});
  if (!matcher) {
    Require(!matcher.error().why.empty());
    Require(matcher.error().why.find('\n') == std::string::npos);
    return 0;
  }
  auto copy = matcher->Copy();
  Require(copy.has_value());
  folio::testing::GrammarWalk walk(*tokenizer, data[1]);
  folio::testing::GrammarWalk again(*tokenizer, data[1]);
  Require(walk.Run(*matcher, kMostTokens) == again.Run(*copy, kMostTokens));
  return 0;
}
