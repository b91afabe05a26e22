#include "folio/chunked_logits.h"

#include <algorithm>
#include <vector>

namespace folio {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

}  // namespace

Status ForEachLogits(const LoadedModel& model, Session& session, std::span<const TokenId> tokens,
                     const TakeLogits& take) {
  const auto vocab = static_cast<std::size_t>(model.config().vocab);
  const std::size_t affordable = std::max<std::size_t>(1, kMostBytes / (vocab * sizeof(float)));
  const std::size_t rows =
      std::min(affordable, static_cast<std::size_t>(model.options().max_batch_tokens));
  std::vector<float> logits;
  for (std::size_t first = 0; first < tokens.size(); first += rows) {
    const auto chunk = tokens.subspan(first, std::min(rows, tokens.size() - first));
    if (Status done = session.Append(chunk, &logits); !done) return done;
    if (Status taken = take(first, logits); !taken) return taken;
  }
  return {};
}

}  // namespace folio
