// How long prompts that wait will take, from how long those before them took.
#ifndef FOLIO_ENGINE_FORECAST_H_
#define FOLIO_ENGINE_FORECAST_H_

#include <cstdint>
#include <optional>

namespace folio {

// Recent steps and replies count most. Nothing is told before there was one.
class Forecast {
 public:
  // A step computed so many rows of prompts, and few others, in so long.
  void NotePromptRows(std::int64_t rows, double seconds);
  // A reply was drawn in so long, from its first token to its end.
  void NoteReply(double seconds);

  // Until so many rows of prompts are computed.
  std::optional<double> PromptSeconds(std::int64_t rows) const;
  // Until so many of `running` replies have ended.
  std::optional<double> EndSeconds(std::int64_t replies, std::int64_t running) const;

 private:
  double rows_ = 0, rows_seconds_ = 0;
  double replies_ = 0, replies_seconds_ = 0;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_FORECAST_H_
