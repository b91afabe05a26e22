// F1 to F3: what attention's matrices take, why exp(x) alone is not safe, and the ladder.
#include "folio/lab_attention.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "folio/text_table.h"
#include "quant/half.h"

namespace folio {
namespace {

constexpr std::int64_t kFewestTokens = 16;
constexpr std::int64_t kMostTokens = 2048;
constexpr float kWide = 2.0F;  // deviation of q and k whose scores overflow exp(x) in FP16

Result<AttentionSetting> SettingOf(const LabArgs& args) {
  AttentionSetting setting;
  if (args.tokens > 0 && (args.tokens < kFewestTokens || args.tokens > kMostTokens)) {
    return UsageError("lab attention", "--tokens",
                      std::to_string(args.tokens) + " is not from " +
                          std::to_string(kFewestTokens) + " to " + std::to_string(kMostTokens));
  }
  if (args.head_dim % 32 != 0) {
    return UsageError("lab attention", "--head-dim",
                      std::to_string(args.head_dim) + " is not a multiple of 32");
  }
  if (args.tokens > 0) setting.tokens = args.tokens;
  if (args.head_dim > 0) setting.head_dim = args.head_dim;
  if (args.fast_memory > 0) setting.fast_bytes = args.fast_memory;
  setting.seed = args.seed.value_or(0);
  const std::int64_t largest = LargestTile(setting.head_dim, setting.fast_bytes, setting.tokens);
  setting.tile = args.tile > 0 ? std::min(args.tile, setting.tokens) : largest;
  if (largest == 0) {
    return UsageError("lab attention", "--fast-memory",
                      std::to_string(setting.fast_bytes) +
                          " bytes do not hold one vector each of "
                          "q, k, v and the output");
  }
  return setting;
}

Result<Ladder> Climb(const AttentionSetting& setting) {
  Ladder ladder{.inputs = MakeInputs(setting.tokens, setting.head_dim, setting.seed, 1.0F)};
  ladder.reference = ReferenceAttention(ladder.inputs);
  const auto add = [&](std::string_view name, Rung rung, Tile tile) -> Status {
    Result<RungResult> result = RunRung(rung, ladder.inputs, tile, setting.fast_bytes);
    if (!result) return std::unexpected(result.error());
    const OutputDifference difference =
        CompareOutput(result->out, ladder.reference, setting.head_dim);
    ladder.rungs.push_back({.name = name, .result = *std::move(result), .difference = difference});
    return {};
  };
  for (const Rung rung :
       {Rung::kThreePass, Rung::kSafeThreePass, Rung::kOnlineTwoPass, Rung::kOnePass}) {
    if (const Status added = add(RungName(rung), rung, {}); !added) {
      return std::unexpected(added.error());
    }
  }
  const Tile tile{.queries = setting.tile, .keys = setting.tile};
  if (const Status added = add("tiled", Rung::kOnePass, tile); !added) {
    return std::unexpected(added.error());
  }
  return ladder;
}

OutputJson RungJson(const RungRow& row) {
  const RungResult& result = row.result;
  return {{"rung", row.name},
          {"passes", result.passes},
          {"k_reads", result.k_reads},
          {"v_reads", result.v_reads},
          {"bytes_read", result.traffic.read},
          {"bytes_written", result.traffic.written},
          {"bytes_moved", result.traffic.total()},
          {"table_bytes", result.table_bytes},
          {"fast_bytes_used", result.peak_bytes},
          {"multiply_adds", result.operations.multiply_adds},
          {"exponentials", result.operations.exponentials},
          {"other_operations", result.operations.others},
          {"operations", result.operations.total()},
          {"overflows", result.overflows},
          {"rows_lost", row.difference.rows_lost},
          {"largest_difference", row.difference.largest}};
}

}  // namespace

LabStep AttentionSizes() {
  constexpr std::int64_t kTokens = 128 << 10;
  constexpr std::int64_t kHeadDim = 128;
  const Grid vectors{.rows = kTokens, .cols = kHeadDim};
  const Grid table{.rows = kTokens, .cols = kTokens};
  LabStep step{.id = "F1", .title = "128 K tokens, head of 128 dimensions, FP16"};
  step.lines = {
      "one n x d matrix: " + Grouped(vectors.bytes()) + " bytes = " + HumanBytes(vectors.bytes()),
      "the n x n table:  " + Grouped(table.bytes()) + " bytes = " + HumanBytes(table.bytes()),
      "An A100 has about 20 MB of SRAM in all: neither fits. One vector of 128 takes 256 "
      "bytes, and does."};
  step.facts = {{"tokens", kTokens},
                {"head_dim", kHeadDim},
                {"matrix_bytes", vectors.bytes()},
                {"table_bytes", table.bytes()}};
  return step;
}

Result<LabStep> AttentionOverflow(const AttentionSetting& setting) {
  LabStep step{.id = "F2", .title = "exp(x) without the row's maximum overflows in FP16"};
  TwoTiers tiers(setting.fast_bytes);
  step.facts["exp"] = OutputJson::array();
  for (const float x : {11.0F, 12.0F}) {
    const float exact = std::exp(x);
    const float half = tiers.Half(exact);
    step.lines.push_back("e^" + Decimal(x, 0) + " = " + Decimal(exact, 1) +
                         "; in FP16: " + (std::isinf(half) ? "infinity" : Decimal(half, 0)));
    step.facts["exp"].push_back(
        {{"x", x}, {"exact", exact}, {"fp16", std::isinf(half) ? OutputJson() : OutputJson(half)}});
  }
  const float most = HalfToFloat(0x7bff);
  step.lines.push_back("the largest number of FP16 is " + Decimal(most, 0) + " = e^" +
                       Decimal(std::log(most), 2));
  const AttentionInputs inputs = MakeInputs(setting.tokens, setting.head_dim, setting.seed, kWide);
  const std::vector<double> reference = ReferenceAttention(inputs);
  TextTable table("lrrr");
  table.Add({"q and k with a deviation of 2", "overflows", "rows lost", "largest difference"});
  step.facts["largest_fp16"] = most;
  step.facts["rungs"] = OutputJson::array();
  for (const Rung rung :
       {Rung::kThreePass, Rung::kFusedUnsafe, Rung::kSafeThreePass, Rung::kOnePass}) {
    const Result<RungResult> result = RunRung(rung, inputs, {}, setting.fast_bytes);
    if (!result) return std::unexpected(result.error());
    const OutputDifference difference = CompareOutput(result->out, reference, setting.head_dim);
    table.Add({std::string(RungName(rung)), Grouped(result->overflows),
               Grouped(difference.rows_lost) + " of " + Grouped(setting.tokens),
               Significant(difference.largest, 2)});
    step.facts["rungs"].push_back({{"rung", RungName(rung)},
                                   {"passes", result->passes},
                                   {"overflows", result->overflows},
                                   {"rows_lost", difference.rows_lost},
                                   {"largest_difference", difference.largest}});
  }
  step.lines.emplace_back();
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  step.lines.emplace_back(
      "A row with one such score is lost: infinity over infinity. The difference is to float64, in "
      "the rows that are left. Less the row's maximum, no x is above 0 and no exp(x) above 1.");
  return step;
}

LabStep AttentionLadder(const AttentionSetting& setting, const Ladder& ladder) {
  LabStep step{.id = "F3",
               .title = "the ladder: " + Grouped(setting.tokens) + " tokens, head of " +
                        std::to_string(setting.head_dim) + ", " + HumanBytes(setting.fast_bytes) +
                        " of fast memory"};
  step.facts = {{"tokens", setting.tokens},
                {"head_dim", setting.head_dim},
                {"fast_bytes", setting.fast_bytes},
                {"tile", setting.tile},
                {"seed", setting.seed},
                {"rungs", OutputJson::array()}};
  TextTable table("lrrrrrrrr");
  table.Add({"rung", "passes", "K", "V", "bytes moved", "n x n tables", "operations", "overflows",
             "difference"});
  for (const RungRow& row : ladder.rungs) {
    const RungResult& result = row.result;
    table.Add({std::string(row.name), std::to_string(result.passes), std::to_string(result.k_reads),
               std::to_string(result.v_reads), Grouped(result.traffic.total()),
               Grouped(result.table_bytes), Grouped(result.operations.total()),
               Grouped(result.overflows), Significant(row.difference.largest, 2)});
    step.facts["rungs"].push_back(RungJson(row));
  }
  step.lines = table.Lines();
  step.lines.emplace_back(
      "All is counted while it happens. A pass is a sweep over the n positions, be it over K, V or "
      "the row of scores or weights that stands for them; K and V: how often each comes as a "
      "whole. Both are for a query, or for a tile of them. The first four rungs have one vector of "
      "each in fast memory, the last " +
      std::to_string(setting.tile) + " rows. The difference is the largest to float64.");
  step.lines.emplace_back(
      "One vector at a time, K and V come anew for every query, so a pass costs more than the "
      "table that it spares: the two-pass rung moves more than the three-pass ones. F5 has every "
      "rung in tiles.");
  return step;
}

Result<LabSteps> AttentionLab(const LabArgs& args) {
  const Result<AttentionSetting> setting = SettingOf(args);
  if (!setting) return std::unexpected(setting.error());
  const Result<Ladder> ladder = Climb(*setting);
  if (!ladder) return std::unexpected(ladder.error());
  Result<LabStep> overflow = AttentionOverflow(*setting);
  if (!overflow) return std::unexpected(overflow.error());
  Result<LabSteps> traffic = AttentionTraffic(*setting);
  if (!traffic) return std::unexpected(traffic.error());
  Result<LabStep> kernel = AttentionKernel(*setting, *ladder);
  if (!kernel) return std::unexpected(kernel.error());
  LabSteps steps = {AttentionSizes(), *std::move(overflow), AttentionLadder(*setting, *ladder),
                    AttentionRecurrences(*setting)};
  for (LabStep& step : *traffic) steps.push_back(std::move(step));
  steps.push_back(MemoryTiers(*ladder));
  steps.push_back(*std::move(kernel));
  return steps;
}

}  // namespace folio
