// One order for the members of a JSON Schema, whatever order a client's library gave them.
#ifndef FOLIO_API_SCHEMA_ORDER_H_
#define FOLIO_API_SCHEMA_ORDER_H_

#include "formats/json.h"

namespace folio {

// `schema` with its members in the order of their names; those of `properties` in that of
// `required`, a list whose order libraries keep, and then by name: models write arguments in the
// order in which they were told of them, and authors put what has to be thought of first first.
// Equal for schemas that differ in the order of members only. `schema` nests as ParseJson allows.
Json OrderedSchema(const Json& schema);

}  // namespace folio

#endif  // FOLIO_API_SCHEMA_ORDER_H_
