// An engine loop that a lab drives request by request, with the logits of every token drawn.
#ifndef FOLIO_APPS_FOLIO_LAB_LOOP_H_
#define FOLIO_APPS_FOLIO_LAB_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine_loop.h"
#include "engine/loaded_model.h"
#include "folio/lab.h"

namespace folio {

struct LabReply {
  std::vector<TokenId> prompt;
  Outcome outcome;
  std::vector<std::vector<float>> logits;  // one row a token drawn

  std::vector<TokenId> tokens() const;
  const Usage& usage() const { return outcome.usage; }
};

// How two replies' logits compare, bit by bit, over the tokens that both drew.
struct LogitsDifference {
  std::size_t compared = 0;
  std::size_t different = 0;
};
LogitsDifference CompareLogits(const LabReply& a, const LabReply& b);

class LabLoop {
 public:
  // The model of `args`, with its weights packed, and a pool of one context.
  static Result<std::unique_ptr<LabLoop>> Create(const LabArgs& args, std::int64_t context,
                                                 bool prefix_cache);

  LoadedModel& model() { return *model_; }
  EngineLoop& loop() { return *loop_; }

  // Runs one request to its end, alone: greedy, past end tokens. Its id is the number of requests
  // before it, plus one.
  Result<LabReply> Run(Request request);

  // The first `count` tokens of `text`, without BOS; from its start again where it is too short.
  Result<std::vector<TokenId>> Words(std::string_view text, std::size_t count) const;

 private:
  explicit LabLoop(std::unique_ptr<LoadedModel> model) : model_(std::move(model)) {}

  std::unique_ptr<LoadedModel> model_;
  std::vector<std::vector<float>> logits_;
  std::uint64_t last_id_ = 0;
  std::unique_ptr<EngineLoop> loop_;  // last: it goes before what it uses
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_LOOP_H_
