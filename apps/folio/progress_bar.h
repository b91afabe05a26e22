// A progress bar on stderr for work over a second; silent unless both stdout and stderr are
// terminals.
#ifndef FOLIO_APPS_FOLIO_PROGRESS_BAR_H_
#define FOLIO_APPS_FOLIO_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace folio {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // From any thread. `note` stands behind the bar ("1.2 GiB of 4.0 GiB").
  void Update(double fraction, const std::string& note = {});
  // The same for bytes; without a total only the count is shown.
  void UpdateBytes(std::uint64_t done, std::optional<std::uint64_t> total);
  void SetLabel(const std::string& label);

 private:
  using Clock = std::chrono::steady_clock;
  bool IsDue();

  std::mutex mutex_;
  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

// "label [=====>    ]  50% note", `columns` wide at most.
std::string ProgressLine(const std::string& label, double fraction, const std::string& note,
                         std::size_t columns);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PROGRESS_BAR_H_
