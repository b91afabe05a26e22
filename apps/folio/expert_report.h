// Where a model's routers sent the tokens: as a heat map with the load of each layer, and as JSON.
#ifndef FOLIO_APPS_FOLIO_EXPERT_REPORT_H_
#define FOLIO_APPS_FOLIO_EXPERT_REPORT_H_

#include <span>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "folio/engine.h"
#include "folio/output.h"

namespace folio {

// One row a token, one cell a layer: the expert that counted most, as its number and, with
// `colours`, as a colour of its own (ECMA-48 sequences). `tokens`: prompt and reply.
std::string ExpertMap(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                      const RoutedExperts& routed, bool colours);

// A line for each layer: how evenly its experts were used since the start.
std::string ExpertLoadTable(std::span<const ExpertLoadSnapshot> loads);

// [tokens][layers][top_k]; null for a token that was found in the cache.
OutputJson RoutedExpertsJson(const RoutedExperts& routed);
OutputJson ExpertLoadsJson(std::span<const ExpertLoadSnapshot> loads);

// How often the experts needed were in memory, of a model whose experts don't all fit.
std::string ExpertCacheLine(const ExpertCacheSnapshot& cache);
OutputJson ExpertCacheJson(const ExpertCacheSnapshot& cache);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_EXPERT_REPORT_H_
