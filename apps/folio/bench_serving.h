// `folio bench --serving`: what a server's users notice, measured on the public engine with real
// token streams. Scenarios:
//
//   many    more requests than the pool of KV blocks holds: preemption, throughput, peak memory
//   shared  requests with one long prefix that arrive together: computed once, first tokens
//   agent   two long prompts whose turns alternate: every turn finds the turns before it
//   drafts  replies that copy from their prompt, with and without drafts
//   costs   what scheduling and drawing take beside the forward pass, and a long prompt's hashing
#ifndef FOLIO_APPS_FOLIO_BENCH_SERVING_H_
#define FOLIO_APPS_FOLIO_BENCH_SERVING_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "folio/engine_args.h"
#include "folio/options.h"

namespace folio {

struct ServingArgs {
  bool serving = false;
  std::string scenario;       // empty = all
  std::int64_t requests = 0;  // 0 = the scenario's own: 16 shared, 64 many and costs
  std::int64_t prefix = 0;    // tokens; 0 = 2,000 shared, 28,000 and a quarter of it agent
  std::int64_t turns = 10;    // of each conversation
};

void AddServingArgs(const Command& command, ServingArgs& args);

// Prints what was measured, then fails if a count or the memory is not what it has to be. Times
// never make it fail.
Status RunServingBench(const EngineArgs& engine, const ServingArgs& args, bool json);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BENCH_SERVING_H_
