#include "engine/forecast.h"

#include <algorithm>

namespace folio {
namespace {

// What is kept of all before with each new one: half of what counts is of the latest seven.
constexpr double kKept = 0.9;

}  // namespace

void Forecast::NotePromptRows(std::int64_t rows, double seconds) {
  rows_ = rows_ * kKept + static_cast<double>(rows);
  rows_seconds_ = rows_seconds_ * kKept + seconds;
}

void Forecast::NoteReply(double seconds) {
  replies_ = replies_ * kKept + 1;
  replies_seconds_ = replies_seconds_ * kKept + seconds;
}

std::optional<double> Forecast::PromptSeconds(std::int64_t rows) const {
  if (rows_ <= 0) return std::nullopt;
  return static_cast<double>(rows) * rows_seconds_ / rows_;
}

// Replies end one after another, not all at once: of N that run, one in an N-th of the time of one.
std::optional<double> Forecast::EndSeconds(std::int64_t replies, std::int64_t running) const {
  if (replies_ <= 0) return std::nullopt;
  return static_cast<double>(replies) * replies_seconds_ / replies_ /
         static_cast<double>(std::max<std::int64_t>(1, running));
}

}  // namespace folio
