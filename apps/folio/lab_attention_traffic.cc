// F5 and F6: what moves between the tiers when each rung works in tiles, the FlashAttention paper's
// own setting counted, and what is not saved: arithmetic.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "folio/lab_attention.h"
#include "folio/lab_attention_training.h"
#include "folio/text_table.h"

namespace folio {
namespace {

// Figure 2 of the paper: GPT-2 medium, an A100, forward and backward.
constexpr std::int64_t kPaperTokens = 1024;
constexpr std::int64_t kPaperHeadDim = 64;
constexpr std::int64_t kPaperHeads = 16;
constexpr std::int64_t kPaperBatch = 64;
constexpr double kPaperStandardGb = 40.3;
constexpr double kPaperFlashGb = 4.4;
constexpr double kHbmGbPerSecond = 1500;
constexpr std::uint64_t kSram = std::uint64_t{192} << 10;       // of a multiprocessor
constexpr std::uint64_t kRegisters = std::uint64_t{256} << 10;  // ... and its registers

std::string Times(double value) { return Decimal(value, 2) + "x"; }

Status AddTiledRungs(const AttentionSetting& setting, LabStep& step) {
  const AttentionInputs inputs = MakeInputs(setting.tokens, setting.head_dim, setting.seed, 1.0F);
  TextTable table("lrrrrr");
  std::vector<std::string> head = {"bytes moved with fast memory of"};
  std::vector<std::vector<std::string>> rows;
  for (const Rung rung :
       {Rung::kThreePass, Rung::kSafeThreePass, Rung::kOnlineTwoPass, Rung::kOnePass}) {
    rows.push_back({std::string(RungName(rung))});
  }
  step.facts["tiers"] = OutputJson::array();
  for (const std::uint64_t part : {16, 4, 1}) {
    const std::uint64_t fast_bytes = setting.fast_bytes / part;
    const std::int64_t tile =
        part == 1 ? setting.tile : LargestTile(setting.head_dim, fast_bytes, setting.tokens);
    if (tile == 0) continue;
    head.push_back(HumanBytes(fast_bytes) + ", tile " + std::to_string(tile));
    OutputJson rungs = OutputJson::array();
    std::size_t row = 0;
    for (const Rung rung :
         {Rung::kThreePass, Rung::kSafeThreePass, Rung::kOnlineTwoPass, Rung::kOnePass}) {
      const Result<RungResult> result =
          RunRung(rung, inputs, {.queries = tile, .keys = tile}, fast_bytes);
      if (!result) return std::unexpected(result.error());
      rows[row++].push_back(Grouped(result->traffic.total()));
      rungs.push_back({{"rung", RungName(rung)},
                       {"bytes_moved", result->traffic.total()},
                       {"table_bytes", result->table_bytes},
                       {"fast_bytes_used", result->peak_bytes},
                       {"operations", result->operations.total()}});
    }
    step.facts["tiers"].push_back(
        {{"fast_bytes", fast_bytes}, {"tile", tile}, {"rungs", std::move(rungs)}});
  }
  table.Add(std::move(head));
  for (std::vector<std::string>& row : rows) table.Add(std::move(row));
  step.lines = table.Lines();
  step.lines.emplace_back(
      "All rungs in tiles, the forward pass of one head. The larger fast memory is, the fewer "
      "times K and V come anew; the tables of the three-pass rungs do not shrink with it.");
  return {};
}

struct PaperRow {
  std::string name;
  TrainingResult result;
  double difference = 0;

  double Gb(const Traffic& traffic) const {
    return static_cast<double>(traffic.total()) * kPaperHeads * kPaperBatch / 1e9;
  }
};

Result<std::vector<PaperRow>> CountPaper(std::uint64_t seed) {
  const TrainingInputs inputs = MakeTrainingInputs(kPaperTokens, kPaperHeadDim, seed);
  const ScoreRules bare;
  const ScoreRules gpt2{.causal = true, .dropout = true};
  const TrainingReference reference = ReferenceTraining(inputs, bare);
  const TrainingReference gpt2_reference = ReferenceTraining(inputs, gpt2);
  const Tile tile = PaperTile(kSram, kPaperHeadDim);
  std::vector<PaperRow> rows;
  const auto add = [&rows](const char* name, Result<TrainingResult> result,
                           const TrainingReference& wanted) -> Status {
    if (!result) return std::unexpected(result.error());
    const double difference = LargestDifference(*result, wanted);
    rows.push_back({.name = name, .result = *std::move(result), .difference = difference});
    return {};
  };
  Status added = add("standard, softmax alone", StandardTraining(inputs, bare, kSram), reference);
  if (added) {
    added =
        add("standard, mask and dropout", StandardTraining(inputs, gpt2, kSram), gpt2_reference);
  }
  if (added) {
    added = add("FlashAttention, mask and dropout",
                FlashTraining(inputs, gpt2, tile, kSram + kRegisters), gpt2_reference);
  }
  if (!added) return std::unexpected(added.error());
  return rows;
}

void AddPaper(const std::vector<PaperRow>& rows, LabStep& step) {
  const Tile tile = PaperTile(kSram, kPaperHeadDim);
  step.lines.emplace_back();
  step.lines.emplace_back(
      "The paper's setting (arXiv:2205.14135, figure 2): attention of one layer of GPT-2 medium, "
      "1,024 tokens, 16 heads of 64, batch 64, FP16, forward and backward. One head is run and "
      "counted, and is one of 16 x 64.");
  TextTable table("lrrrrr");
  table.Add({"GB read and written", "forward", "both", "fast memory used", "difference", "paper"});
  OutputJson counted = OutputJson::array();
  for (const PaperRow& row : rows) {
    const bool flash = &row == &rows.back();
    const bool compared = &row != &rows.front();
    const double paper = flash ? kPaperFlashGb : kPaperStandardGb;
    table.Add({row.name, Decimal(row.Gb(row.result.forward), 2),
               Decimal(row.Gb(row.result.both), 2), HumanBytes(row.result.peak),
               Significant(row.difference, 2), compared ? Decimal(paper, 1) : ""});
    counted.push_back({{"name", row.name},
                       {"forward_gb", row.Gb(row.result.forward)},
                       {"gb", row.Gb(row.result.both)},
                       {"paper_gb", compared ? OutputJson(paper) : OutputJson()},
                       {"head_bytes", row.result.both.total()},
                       {"fast_bytes_used", row.result.peak},
                       {"multiply_adds", row.result.operations.multiply_adds},
                       {"operations", row.result.operations.total()},
                       {"largest_difference", row.difference}});
  }
  const double ratio = rows[1].Gb(rows[1].result.both) / rows[2].Gb(rows[2].result.both);
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  const auto at_hbm_speed = [](const PaperRow& row) {
    return Decimal(row.Gb(row.result.both) / kHbmGbPerSecond * 1e3, 1);
  };
  step.lines.push_back("counted: " + Times(ratio) +
                       " less; the paper: " + Times(kPaperStandardGb / kPaperFlashGb));
  step.lines.push_back("At HBM's 1.5 TB/s these bytes take " + at_hbm_speed(rows[1]) + " ms and " +
                       at_hbm_speed(rows[2]) + " ms; the paper measured 41.7 ms and 7.3 ms.");
  step.lines.push_back(
      "What is counted: the algorithms as the paper writes them. Standard: Algorithms 0 and 3, "
      "each step a kernel that leaves its table in HBM, and the causal mask and dropout kernels of "
      "their own, as a framework's operators are. The paper does not say which kernels its "
      "baseline had; with softmax alone the count is " +
      Decimal(rows[0].Gb(rows[0].result.both), 1) + " GB, with these two " +
      Decimal(rows[1].Gb(rows[1].result.both), 1) + ".");
  step.lines.push_back(
      "FlashAttention: Algorithms 2 and 4, tiles of " + std::to_string(tile.queries) + " x " +
      std::to_string(tile.keys) + " by their formula for " + HumanBytes(kSram) +
      ", and no tile left out above the diagonal. Its buffers need " +
      HumanBytes(rows[2].result.forward_peak) + " forward and " + HumanBytes(rows[2].result.peak) +
      " backward: what is over has to lie in the multiprocessor's " + HumanBytes(kRegisters) +
      " of registers. Algorithm 4 first writes zeros to dQ, dK and dV, and those of dK and dV are "
      "never read. An L2 cache is in neither count, and would be in a profiler's.");
  step.lines.emplace_back(
      "The difference is the largest to float64 in O, dQ, dK and dV, over the "
      "largest value of each.");
  step.facts["paper"] = {{"tokens", kPaperTokens},
                         {"head_dim", kPaperHeadDim},
                         {"heads", kPaperHeads},
                         {"batch", kPaperBatch},
                         {"query_rows", tile.queries},
                         {"key_rows", tile.keys},
                         {"counted", std::move(counted)},
                         {"ratio", ratio},
                         {"paper_ratio", kPaperStandardGb / kPaperFlashGb}};
}

Result<LabStep> Arithmetic(const AttentionSetting& setting, const std::vector<PaperRow>& paper) {
  LabStep step{.id = "F6", .title = "what is not saved: the work stays n x n"};
  TextTable table("lrrr");
  table.Add({"operations, in tiles", "n = " + Grouped(setting.tokens / 2),
             "n = " + Grouped(setting.tokens), "times"});
  step.facts["rungs"] = OutputJson::array();
  for (const Rung rung :
       {Rung::kThreePass, Rung::kSafeThreePass, Rung::kOnlineTwoPass, Rung::kOnePass}) {
    std::array<std::int64_t, 2> counts = {};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::int64_t tokens = setting.tokens / (i == 0 ? 2 : 1);
      const std::int64_t tile = std::min(setting.tile, tokens);
      const AttentionInputs inputs = MakeInputs(tokens, setting.head_dim, setting.seed, 1.0F);
      const Result<RungResult> result =
          RunRung(rung, inputs, {.queries = tile, .keys = tile}, setting.fast_bytes);
      if (!result) return std::unexpected(result.error());
      counts[i] = result->operations.total();
    }
    const double times = static_cast<double>(counts[1]) / static_cast<double>(counts[0]);
    table.Add(
        {std::string(RungName(rung)), Grouped(counts[0]), Grouped(counts[1]), Decimal(times, 2)});
    step.facts["rungs"].push_back({{"rung", RungName(rung)},
                                   {"operations_of_half", counts[0]},
                                   {"operations", counts[1]},
                                   {"times", times}});
  }
  step.lines = table.Lines();
  const auto standard = static_cast<double>(paper[1].result.operations.multiply_adds);
  const auto flash = static_cast<double>(paper[2].result.operations.multiply_adds);
  step.lines.push_back(
      "Twice the tokens, four times the work, on every rung; FlashAttention has a little more than "
      "three passes have, for rescaling. With the backward pass it computes the scores twice: " +
      Times(flash / standard) +
      " the products in the paper's setting (counted); the paper's own GFLOPs are 75.2 against "
      "66.6, " +
      Times(75.2 / 66.6) + ".");
  step.facts["training_products"] = {{"standard", paper[1].result.operations.multiply_adds},
                                     {"flash", paper[2].result.operations.multiply_adds},
                                     {"times", flash / standard},
                                     {"paper_times", 75.2 / 66.6}};
  return step;
}

}  // namespace

Result<LabSteps> AttentionTraffic(const AttentionSetting& setting) {
  LabStep traffic{.id = "F5", .title = "the same arithmetic, far fewer bytes"};
  if (const Status added = AddTiledRungs(setting, traffic); !added) {
    return std::unexpected(added.error());
  }
  const Result<std::vector<PaperRow>> paper = CountPaper(setting.seed);
  if (!paper) return std::unexpected(paper.error());
  AddPaper(*paper, traffic);
  Result<LabStep> arithmetic = Arithmetic(setting, *paper);
  if (!arithmetic) return std::unexpected(arithmetic.error());
  return LabSteps{std::move(traffic), *std::move(arithmetic)};
}

}  // namespace folio
