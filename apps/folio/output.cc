#include "folio/output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace folio {
namespace {

// errno of the first write to stdout that failed. The process has one stdout, so one such fact.
int& WriteErrno() {
  static int value = 0;
  return value;
}

Status OutputStatus(bool good) {
  if (good && WriteErrno() == 0) return {};
  if (WriteErrno() == 0) WriteErrno() = errno;
  return RuntimeError("stdout", "write", std::strerror(WriteErrno()));
}

}  // namespace

Status WriteOutput(std::string_view text) {
  return OutputStatus(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

Status FlushOutput() { return OutputStatus(std::fflush(stdout) == 0); }

bool OutputClosed() { return WriteErrno() == EPIPE; }

Status WriteJson(const OutputJson& document) {
  return WriteOutput(document.dump(-1, ' ', false, OutputJson::error_handler_t::replace) + "\n");
}

bool OutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

bool ErrorsInColour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string ForTerminal(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls are two bytes in UTF-8: C2 80 to C2 9F.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      ++i;
    } else if (byte >= 0x20 ? byte != 0x7f : (byte == '\n' || byte == '\t')) {
      safe += text[i];
    }
  }
  return safe;
}

std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace folio
