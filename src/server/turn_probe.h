// Whether a conversation's next turn begins with what the last one computed, as far as the model's
// chat template has a say in it. Told when a model is loaded, since nothing else would tell why
// every turn of it misses.
#ifndef FOLIO_SERVER_TURN_PROBE_H_
#define FOLIO_SERVER_TURN_PROBE_H_

#include <string>
#include <vector>

#include "server/served_model.h"

namespace folio {

// A sentence for each way in which earlier turns are rendered otherwise than they were computed;
// none where turns extend. Renders a few small conversations.
std::vector<std::string> TurnNotes(const ServedModel& model);

}  // namespace folio

#endif  // FOLIO_SERVER_TURN_PROBE_H_
