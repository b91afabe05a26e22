#include "folio/bus_error.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "base/error.h"

namespace folio {
namespace {

// In a signal handler: nothing but write and _exit is safe.
void OnBusError(int) {
  constexpr std::string_view kLine =
      "folio: error: model file: it became shorter, or its disk failed, while it was read\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  _exit(static_cast<int>(ErrorKind::kInput));
}

}  // namespace

void ReportBusErrors() { std::signal(SIGBUS, &OnBusError); }

}  // namespace folio
