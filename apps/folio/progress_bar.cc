#include "folio/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "folio/output.h"

namespace folio {
namespace {

constexpr std::chrono::milliseconds kQuiet{1000};  // shorter work shows no bar
constexpr std::chrono::milliseconds kInterval{100};
constexpr std::size_t kBar = 24;

std::size_t TerminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

}  // namespace

std::string ProgressLine(const std::string& label, double fraction, const std::string& note,
                         std::size_t columns) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(fraction * kBar);
  std::array<char, 16> percent{};
  std::snprintf(percent.data(), percent.size(), " %3.0f%% ", fraction * 100);
  const std::string bar =
      " [" + std::string(filled, '=') + std::string(kBar - filled, ' ') + "]" + percent.data();
  const std::size_t room = columns - std::min(columns, bar.size() + note.size() + 1);
  std::string line = label.substr(0, room) + bar + note;
  if (line.size() >= columns) line.resize(columns - 1);
  return line;
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      enabled_(isatty(STDERR_FILENO) == 1 && OutputIsTerminal()),
      next_(start_ + kQuiet) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

bool ProgressBar::IsDue() {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now < next_) return false;
  next_ = now + kInterval;
  drawn_ = true;
  return true;
}

void ProgressBar::Update(double fraction, const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (!IsDue()) return;
  const std::string line = ProgressLine(label_, fraction, note, TerminalColumns());
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
}

void ProgressBar::UpdateBytes(std::uint64_t done, std::optional<std::uint64_t> total) {
  if (total && *total > 0) {
    const double fraction = static_cast<double>(done) / static_cast<double>(*total);
    Update(fraction, HumanBytes(done) + " of " + HumanBytes(*total));
    return;
  }
  const std::lock_guard lock(mutex_);
  if (IsDue()) std::fprintf(stderr, "\r\x1b[K%s %s", label_.c_str(), HumanBytes(done).c_str());
}

void ProgressBar::SetLabel(const std::string& label) {
  const std::lock_guard lock(mutex_);
  label_ = label;
}

}  // namespace folio
