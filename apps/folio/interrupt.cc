#include "folio/interrupt.h"

#include <unistd.h>

namespace folio {
namespace {

constexpr int kExitInterrupted = 128 + SIGINT;

// A signal handler reaches nothing but a global.
volatile std::sig_atomic_t interrupts = 0;

void OnInterrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1) _exit(kExitInterrupted);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupts = 0;
  struct sigaction action{};
  action.sa_handler = &OnInterrupt;
  sigaction(SIGINT, &action, &saved_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &saved_, nullptr); }

bool InterruptGuard::interrupted() const { return interrupts > 0; }

}  // namespace folio
