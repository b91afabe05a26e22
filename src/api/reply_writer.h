// One dialect's way of telling a reply, as server-sent events while it is made and as one document
// when it is whole. The server drives it:
//
//   Begin, (KeepAlive | (choice by choice) Add | EndChoice)*, Finish or Fail
//
// Begin comes before the prompt is computed; EndChoice once a choice. Each call returns the bytes
// of the events that it makes, perhaps none; a reply that isn't streamed asks for Document at the
// end instead. A writer keeps what its last events and the document need. It calls nothing and
// knows no clock: used by one thread at a time.
#ifndef FOLIO_API_REPLY_WRITER_H_
#define FOLIO_API_REPLY_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/reply_piece.h"
#include "folio/engine.h"
#include "formats/json.h"

namespace folio {

// Known when the reply begins.
struct ReplyStart {
  std::string id;            // without a dialect's prefix: letters and digits, unique
  std::string model;         // that answers
  std::int64_t created = 0;  // seconds since 1970
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // that the cache had when the request arrived
  Json diagnostics;  // the answer to the dialect's question why the cache missed; null if not asked
};

// What a piece of a choice rests on.
struct ReplyAddition {
  std::vector<ReplyPiece> pieces;
  // OpenAI's chat logprobs {content: [...]} of the tokens since the last addition; null if not
  // asked
  Json logprobs;
};

struct ChoiceEnd {
  FinishReason reason = FinishReason::kStop;
  std::string stop_string;  // the one that ended it, or empty: an end token or the length did
};

// Known when the reply is over.
struct ReplyTotals {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;     // of the prompt
  std::int64_t generated_tokens = 0;  // of all choices
  std::int64_t reasoning_tokens = 0;  // of those
  // Tokens of whole blocks that this request computed up to the last mark with that retention.
  std::int64_t created_5m_tokens = 0;
  std::int64_t created_1h_tokens = 0;
};

class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  virtual std::string Begin(const ReplyStart& start) = 0;
  // While nothing else is to be told. `note`: for people who watch, one line, or empty; it goes
  // where no client reads it, into a comment.
  virtual std::string KeepAlive(std::string_view note) = 0;
  virtual std::string Add(int choice, const ReplyAddition& addition) = 0;
  virtual std::string EndChoice(int choice, const ChoiceEnd& end) = 0;
  virtual std::string Finish(const ReplyTotals& totals) = 0;
  // Instead of what is left, after Begin: as the dialect's clients notice it.
  virtual std::string Fail(const ApiError& error) = 0;
  // After Finish.
  virtual Json Document() const = 0;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_WRITER_H_
