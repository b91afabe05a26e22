// Ctrl-C while a reply is being made: the first stops the reply, the second ends the program.
#ifndef FOLIO_APPS_FOLIO_INTERRUPT_H_
#define FOLIO_APPS_FOLIO_INTERRUPT_H_

#include <csignal>

namespace folio {

// Catches SIGINT for the object's lifetime; one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction saved_{};
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_INTERRUPT_H_
