// E3: six tokens, regrouped by expert and put back; and what a capacity factor would do to them.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

#include "folio/lab_moe.h"
#include "folio/lab_moe_capacity.h"
#include "folio/lab_moe_layer.h"
#include "folio/text_table.h"
#include "model/moe_dispatch.h"

namespace folio {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kHidden = 3;
constexpr std::int64_t kExpertFfn = 4;
constexpr int kExperts = 4;
constexpr RouterConfig kSwitch = {
    .experts = kExperts, .top_k = 1, .weights = RouterWeights::kScores};

// The text draws this example without its numbers, but for t1's 0.62 and t2's 0.70: these have the
// same choices, and those two.
constexpr std::array<float, kTokens * kHidden> kRows = {0.4F,  1.1F, 0.4F,   //
                                                        1.3F,  0.3F, -0.7F,  //
                                                        -0.6F, 1.5F, 1.1F,   //
                                                        0.7F,  1.4F, 1.1F,   //
                                                        1.5F,  0.6F, 1.4F,   //
                                                        -0.3F, 1.1F, 0.0F};
// [experts, hidden]
constexpr std::array<float, kExperts * kHidden> kRouter = {2.0F,  0.0F,  0.5F,   //
                                                           0.5F,  2.0F,  0.0F,   //
                                                           -1.0F, -1.0F, -0.5F,  //
                                                           0.0F,  0.5F,  2.0F};

struct Batch {
  std::vector<RoutedExpert> chosen;  // [tokens]
  std::vector<float> scores;         // [tokens, experts]
  std::vector<float> output;         // [tokens, hidden]
};

std::size_t Different(std::span<const float> a, std::span<const float> b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
  return different;
}

std::span<const float> RowOf(std::span<const float> rows, std::int64_t row) {
  return rows.subspan(static_cast<std::size_t>(row * kHidden), kHidden);
}

Batch RunBatch(LabMoe& layer, const TinyExperts& experts, std::span<const float> rows) {
  Batch batch{.output = layer.Output(experts.weights, rows)};
  batch.chosen.assign(layer.routing().chosen.begin(), layer.routing().chosen.end());
  batch.scores.assign(layer.routing().scores.begin(), layer.routing().scores.end());
  return batch;
}

std::vector<std::int64_t> TokensOf(const Dispatch& dispatch, int expert) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < dispatch.count(expert); ++i)
    tokens.push_back(dispatch.row_of(dispatch.first_slot(expert) + i) + 1);
  return tokens;
}

std::string Named(const std::vector<std::int64_t>& tokens) {
  std::string text;
  for (const std::int64_t token : tokens)
    text += (text.empty() ? "t" : " t") + std::to_string(token);
  return text.empty() ? "(none)" : text;
}

void AddScores(const Batch& batch, LabStep& step) {
  TextTable table("lrrrrl");
  table.Add({"", "expert 1", "expert 2", "expert 3", "expert 4", "goes to"});
  step.facts["tokens"] = OutputJson::array();
  for (std::size_t token = 0; token < kTokens; ++token) {
    const auto scores = std::span(batch.scores).subspan(token * kExperts, kExperts);
    std::vector<std::string> cells = {"t" + std::to_string(token + 1)};
    for (const float score : scores) cells.push_back(Decimal(score, 2));
    cells.push_back("expert " + std::to_string(batch.chosen[token].expert + 1));
    table.Add(std::move(cells));
    step.facts["tokens"].push_back(
        {{"token", token + 1},
         {"probabilities", std::vector(scores.begin(), scores.end())},
         {"chosen", ChosenJson({&batch.chosen[token], 1})},
         {"output", std::vector(RowOf(batch.output, static_cast<std::int64_t>(token)).begin(),
                                RowOf(batch.output, static_cast<std::int64_t>(token)).end())}});
  }
  step.lines = table.Lines();
}

void AddPiles(const Batch& batch, LabStep& step) {
  Dispatch dispatch(kExperts, 1, kTokens);
  dispatch.Build(batch.chosen);
  step.lines.emplace_back();
  step.facts["piles"] = OutputJson::array();
  for (int expert = 0; expert < kExperts; ++expert) {
    const std::vector<std::int64_t> tokens = TokensOf(dispatch, expert);
    step.lines.push_back("expert " + std::to_string(expert + 1) + ":  " + Named(tokens) + ", " +
                         std::to_string(tokens.size()) + " x 3");
    step.facts["piles"].push_back({{"expert", expert + 1}, {"tokens", tokens}});
  }
  std::vector<std::int32_t> slots;
  for (std::int64_t row = 0; row < kTokens; ++row) slots.push_back(dispatch.slot_of(row, 0));
  step.facts["slot_of_token"] = slots;
}

struct Comparison {
  std::size_t compared = 0;
  std::size_t different = 0;       // bits of a token alone against those among others
  std::size_t between_tokens = 0;  // of each token against the next: they do differ
};

Comparison AgainstAlone(LabMoe& layer, const TinyExperts& experts, const Batch& batch) {
  Comparison result;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    const std::span<const float> together = RowOf(batch.output, token);
    const Batch alone = RunBatch(layer, experts, RowOf(kRows, token));
    result.compared += together.size();
    result.different += Different(together, alone.output);
    result.between_tokens += Different(RowOf(batch.output, (token + 1) % kTokens), alone.output);
  }
  return result;
}

LabStep SixTokens(LabMoe& layer, const TinyExperts& experts, const Batch& batch) {
  LabStep step{.id = "E3", .title = "dispatch, experts, combine: six tokens, four experts"};
  AddScores(batch, step);
  AddPiles(batch, step);
  const Comparison comparison = AgainstAlone(layer, experts, batch);
  step.lines.emplace_back(
      "Rows keep their order within an expert. Expert 3's input is empty, which is legal and costs "
      "nothing: an expert without rows is no task.");
  step.lines.push_back("combine puts each row back where its token was. Of " +
                       Grouped(comparison.compared) + " outputs, " + Grouped(comparison.different) +
                       " differ by a bit from the same token's alone in a batch of its own (from "
                       "the next token's: " +
                       Grouped(comparison.between_tokens) + ").");
  step.facts["alone"] = {{"compared", comparison.compared}, {"different", comparison.different}};
  step.facts["next_token"] = {{"compared", comparison.compared},
                              {"different", comparison.between_tokens}};
  return step;
}

// A token's way through the layer and around it; one that is dropped only goes around.
std::vector<float> WithResidual(std::span<const float> x, std::span<const float> output,
                                bool kept) {
  std::vector<float> sum(x.begin(), x.end());
  if (kept) std::ranges::transform(sum, output, sum.begin(), std::plus<>());
  return sum;
}

LabStep CapacityFactors(const Batch& batch) {
  LabStep step{.id = "capacity", .title = "Switch's capacity factor on the same tokens"};
  TextTable table("rrlr");
  table.Add({"factor", "an expert takes", "dropped", "places left empty"});
  step.facts["factors"] = OutputJson::array();
  for (const double factor : {1.0, 1.25, 1.5, 2.0}) {
    const std::int64_t capacity = ExpertCapacity(factor, kTokens, kExperts);
    const std::vector<bool> kept = WithinCapacity(batch.chosen, kExperts, capacity);
    std::vector<std::int64_t> dropped;
    for (std::size_t token = 0; token < kTokens; ++token)
      if (!kept[token]) dropped.push_back(static_cast<std::int64_t>(token) + 1);
    const std::int64_t empty =
        kExperts * capacity - kTokens + static_cast<std::int64_t>(dropped.size());
    table.Add(
        {Decimal(factor, 2), std::to_string(capacity), Named(dropped), std::to_string(empty)});
    step.facts["factors"].push_back({{"factor", factor},
                                     {"capacity", capacity},
                                     {"dropped", dropped},
                                     {"dropped_count", dropped.size()},
                                     {"empty_places", empty}});
  }
  step.lines = table.Lines();
  return step;
}

// The last token, which finds its expert full in the batch but not alone.
void AddDroppedToken(const Batch& batch, LabStep& step) {
  const std::int64_t token = kTokens - 1;
  const auto kept_of = [](std::span<const RoutedExpert> chosen) -> bool {
    const auto tokens = static_cast<std::int64_t>(chosen.size());
    return WithinCapacity(chosen, kExperts, ExpertCapacity(1, tokens, kExperts)).back();
  };
  const std::span<const float> x = RowOf(kRows, token);
  const std::span<const float> output = RowOf(batch.output, token);
  const std::vector<float> alone =
      WithResidual(x, output, kept_of(std::span(batch.chosen).last(1)));
  const std::vector<float> among = WithResidual(x, output, kept_of(batch.chosen));
  step.lines.push_back("t6 and its residual, factor 1, alone:           (" + Decimals(alone, 4) +
                       ")");
  step.lines.push_back("t6 and its residual, factor 1, with the others: (" + Decimals(among, 4) +
                       ") = x, only passed on");
  step.lines.emplace_back(
      "A factor fixes the shapes that a trainer's accelerators work with: ceil(factor x tokens / "
      "E) "
      "rows an expert. What is dropped depends on who else came, so the same request would answer "
      "one way alone and another among strangers. The engine therefore has no capacity: every "
      "expert takes all its rows.");
  step.facts["token_6"] = {{"alone", alone},
                           {"among_others", among},
                           {"x", std::vector(x.begin(), x.end())},
                           {"different", Different(alone, among)}};
}

}  // namespace

Result<LabSteps> MoeDispatching(const MoeSetting& setting, ThreadPool& pool) {
  const Result<TinyExperts> experts = TinyExperts::Create(kRouter, kHidden, kExpertFfn, 2);
  if (!experts) return std::unexpected(experts.error());
  const auto layer = LabMoe::Create(kHidden, kExpertFfn, kSwitch, kTokens, setting.isa, pool);
  if (!layer) return std::unexpected(layer.error());
  const Batch batch = RunBatch(**layer, *experts, kRows);
  LabSteps steps;
  steps.push_back(SixTokens(**layer, *experts, batch));
  steps.push_back(CapacityFactors(batch));
  AddDroppedToken(batch, steps.back());
  return steps;
}

}  // namespace folio
