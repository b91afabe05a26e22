// A reply of `folio run`: read while it is made, and as JSON.
#ifndef FOLIO_APPS_FOLIO_RUN_REPLY_H_
#define FOLIO_APPS_FOLIO_RUN_REPLY_H_

#include <string>
#include <string_view>

#include "engine/loaded_model.h"
#include "folio/engine.h"
#include "folio/output.h"

namespace folio {

// The fields of the contract: those that `run --json` prints for one prompt.
OutputJson ReplyJson(const LoadedModel& model, const Request& request, const Outcome& outcome);

// Writes replies to stdout, as a terminal or a pipe wants them.
class ReplyWriter {
 public:
  // `silent`: writes nothing and only waits.
  explicit ReplyWriter(bool silent) : silent_(silent), terminal_(OutputIsTerminal()) {}

  // Text of the command itself. Does nothing once a write failed.
  void Write(std::string_view text);
  // Reads the stream to its end, writing what comes; cancels it once nobody takes the text. What
  // the reply ended with is in the outcome, errors too.
  Outcome Copy(Stream stream);
  // Whether the last reply has not ended its line, be it an empty one.
  bool line_open() const { return line_open_; }
  bool terminal() const { return terminal_; }
  const Status& status() const { return status_; }

 private:
  bool silent_;
  bool terminal_;
  bool line_open_ = false;
  Status status_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_RUN_REPLY_H_
