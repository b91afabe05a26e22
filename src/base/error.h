// Errors are part of the public API: see folio/error.h.
#ifndef FOLIO_BASE_ERROR_H_
#define FOLIO_BASE_ERROR_H_

#include "folio/error.h"  // IWYU pragma: export

#endif  // FOLIO_BASE_ERROR_H_
