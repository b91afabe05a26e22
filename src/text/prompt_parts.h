// Shares the whole text of a rendered prompt out among its parts, what the template itself wrote
// included, and finds their tokens.
#ifndef FOLIO_TEXT_PROMPT_PARTS_H_
#define FOLIO_TEXT_PROMPT_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "folio/prompt_part.h"

namespace folio {

// Bytes [begin, end) of the text are the caller's value `part`.
struct PartStretch {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t part = 0;
};

struct RenderedText {
  std::string_view text;
  // In order and apart.
  std::vector<PartStretch> stretches;
  // Where the template ended turns: offsets behind tokens that end a reply, rising.
  std::vector<std::uint32_t> turn_ends;
  bool add_generation_prompt = false;
};

// The callers' values, in the order of the messages.
struct PartNames {
  std::vector<std::string_view> labels;
  std::vector<std::uint32_t> messages;  // 1 + the index of the part's message; 0: it's in none
};

// Where a part begins in the text.
struct PartStart {
  std::uint32_t begin = 0;
  std::string_view label;
};

// Covers the text from its first byte on. The template's text between two values is the first one's
// up to the end of its turn (its closing tags, where the template ends no turn there) and the other
// one's from there on. A message without a value in the text has the turn at its place. "template"
// is a turn before the first message's, "reply start" what follows the last turn if the prompt asks
// for a reply, "prompt" a text of which nothing is known.
std::vector<PartStart> ShareOut(const RenderedText& rendered, const PartNames& names);

// Turns places in the text into places among the tokens: told of every token in order.
class PartTokens {
 public:
  explicit PartTokens(std::vector<PartStart> starts) : starts_(std::move(starts)) {}

  // A token whose text begins at `offset`; a part begins with the first one at or behind its start.
  void Add(std::size_t offset);
  // A stretch of `text_bytes` at `offset`, tokenised into tokens of these lengths. They add up to
  // text_bytes, but for a space that the tokenizer put first or a text it normalised.
  void AddAll(std::size_t offset, std::size_t text_bytes, std::span<const std::size_t> lengths);
  // A token that is not in the text, before all others.
  void AddInFront() { shift_ = 1; }

  // Parts with at least one token.
  std::vector<PromptPart> Finish() const;

 private:
  std::vector<PartStart> starts_;
  std::size_t next_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t shift_ = 0;
  std::vector<PromptPart> parts_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_PROMPT_PARTS_H_
