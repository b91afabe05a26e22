// What the cache did for requests, and the pool that they leave: as text and as JSON.
#ifndef FOLIO_APPS_FOLIO_CACHE_REPORT_H_
#define FOLIO_APPS_FOLIO_CACHE_REPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "folio/engine.h"
#include "folio/output.h"

namespace folio {

// One sentence: how much of the prompt was cached, and why no more. `name` is what one of the
// requests is called ("prompt"): they are numbered from 1, as the engine does.
std::string ExplainCache(const MissReport& report, const std::string& name);

OutputJson UsageJson(const Usage& usage);
OutputJson CacheJson(const MissReport& report, const std::string& name);

// The plan's parts, their sum and the budget.
std::vector<std::string> MemoryLines(const Snapshot& snapshot);

// A request that ended.
struct EndedRequest {
  std::vector<TokenId> prompt;
  Outcome outcome;
};

// Of each KV group the blocks that hold the request's full blocks now, in order; -1 where the cache
// has it no more. The engine must be at rest.
std::vector<std::vector<std::int32_t>> ChainBlocks(const LoadedModel& model,
                                                   const Snapshot& snapshot,
                                                   const EndedRequest& request);

// "0-11 40 (3 gone) 44-45": block ids, runs of them shortened; the middle of a long list is left
// out.
std::string BlockList(std::span<const std::int32_t> blocks);

// The memory plan, the pool, and each request's way through it. `name` as above.
std::string PoolText(const LoadedModel& model, const Snapshot& snapshot,
                     std::span<const EndedRequest> requests, const std::string& name);
OutputJson PoolJson(const LoadedModel& model, const Snapshot& snapshot,
                    std::span<const EndedRequest> requests);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CACHE_REPORT_H_
