// A model file that loses bytes while it is mapped: the kernel answers the next read with SIGBUS.
#ifndef FOLIO_BUS_ERROR_H_
#define FOLIO_BUS_ERROR_H_

namespace folio {

// From now on SIGBUS ends the program with one line on stderr and the exit code of unusable input,
// instead of a crash.
void ReportBusErrors();

}  // namespace folio

#endif  // FOLIO_BUS_ERROR_H_
