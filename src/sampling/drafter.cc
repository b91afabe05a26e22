#include "sampling/drafter.h"

namespace folio {

void Drafter::Propose(std::span<const std::int32_t> tokens, double row_cost, std::int64_t most,
                      std::vector<std::int32_t>& draft) {
  draft.clear();
  index_.Update(tokens);
  if (most <= 0) return;
  const NgramMatch match = index_.Find(tokens);
  if (match.length == 0) return;
  match_ = match.length;
  CopyDraft(tokens, match, length_.Choose(match.length, row_cost, static_cast<int>(most)), draft);
}

void Drafter::Note(std::int64_t proposed, std::int64_t accepted) {
  length_.Note(match_, static_cast<int>(proposed), static_cast<int>(accepted));
}

}  // namespace folio
