// What tests of grammars ask of a matcher.
#ifndef FOLIO_TEXT_GRAMMAR_TESTING_H_
#define FOLIO_TEXT_GRAMMAR_TESTING_H_

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "text/grammar.h"
#include "text/grammar_walk.h"
#include "text/tokenizer.h"

namespace folio::testing {

inline bool Allows(GrammarMatcher& matcher, TokenId token) {
  const auto mask = matcher.Allowed();
  EXPECT_TRUE(mask.has_value()) << mask.error().Message();
  return mask && IsSet(*mask, token);
}

inline bool MayEnd(const Tokenizer& tokenizer, GrammarMatcher& matcher) {
  return matcher.complete() || Allows(matcher, tokenizer.end_tokens().front());
}

// Whether these tokens are a whole reply.
inline bool FitsTokens(const Tokenizer& tokenizer, GrammarMatcher matcher,
                       const std::vector<TokenId>& ids) {
  for (const TokenId id : ids) {
    if (matcher.complete() || !Allows(matcher, id)) return false;
    if (!matcher.Take(id)) return false;
  }
  return MayEnd(tokenizer, matcher);
}

// Whether `text`, cut into tokens as the tokenizer cuts it, is one.
inline bool Fits(const Tokenizer& tokenizer, GrammarMatcher matcher, std::string_view text) {
  const auto ids = tokenizer.Encode(text, SpecialTokens::kAsText);
  EXPECT_TRUE(ids.has_value());
  return FitsTokens(tokenizer, std::move(matcher), *ids);
}

// Runs `body` on a thread with a stack of 128 KiB: what a thread may have anywhere.
inline void OnSmallStack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{128} << 10);
  pthread_t thread = 0;
  const auto run = [](void* what) -> void* {
    (*static_cast<const std::function<void()>*>(what))();
    return nullptr;
  };
  auto copy = body;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &copy), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace folio::testing

#endif  // FOLIO_TEXT_GRAMMAR_TESTING_H_
