#ifndef FOLIO_APPS_FOLIO_SIGNALS_H_
#define FOLIO_APPS_FOLIO_SIGNALS_H_

#include <pthread.h>

#include <csignal>

namespace folio {

// The signals that end or change the server: blocked in every thread, and waited for in one.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &saved_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int Wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }
  // A second signal while the first is seen to ends the program at once.
  void Release() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t set_{};
  sigset_t saved_{};
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_SIGNALS_H_
