// How many connections this process may have: each is a file to the system.
#ifndef FOLIO_HTTP_FILE_LIMIT_H_
#define FOLIO_HTTP_FILE_LIMIT_H_

#include <cstddef>

namespace folio {

// Raises the process's own limit of open files as far as it may, and leaves some of them for
// models and logs.
std::size_t ConnectionsAllowed();

}  // namespace folio

#endif  // FOLIO_HTTP_FILE_LIMIT_H_
