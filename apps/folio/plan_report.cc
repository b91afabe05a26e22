#include "folio/plan_report.h"

#include <array>
#include <cmath>
#include <utility>

#include "folio/lab_chart.h"
#include "folio/text_table.h"

namespace folio {
namespace {

std::string KindName(const KvKindPlan& kind) {
  if (kind.latent) return "latent vector";
  return kind.window == 0 ? "all positions" : "window " + Grouped(kind.window);
}

void AppendKv(const PlanAnswer& answer, std::string& text) {
  const KvPlan& kv = answer.plan.kv;
  TextTable table("lrrr");
  table.Add({"a layer sees", "layers", "bytes a token", "blocks held"});
  for (const KvKindPlan& kind : kv.kinds) {
    std::int64_t blocks = 0;
    for (const KvGroupPlan& group : kv.groups) {
      if (group.window == kind.window) blocks += group.blocks_per_sequence;
    }
    table.Add({KindName(kind), std::to_string(kind.layers), Grouped(kind.bytes_per_token),
               Grouped(blocks)});
  }
  for (const std::string& line : table.Lines()) text += "  " + line + "\n";
  text += "  " + Grouped(kv.bytes_per_token) + " bytes a token, " +
          HumanBytes(kv.bytes_per_sequence) + " a sequence: " + Grouped(kv.blocks_per_sequence) +
          " blocks of " + HumanBytes(kv.block_bytes) + "; " + Grouped(kv.empty_slots) +
          " slots of its last block are empty (" + HumanBytes(kv.waste_bytes) + ")\n";
  if (kv.state_bytes_per_sequence > 0) {
    text += "  " + HumanBytes(kv.state_bytes_per_sequence) +
            " of state a sequence, whatever its length\n";
  }
}

void AppendChart(const Plan& plan, std::uint64_t memory, std::string& text) {
  constexpr int kWidth = 40;
  std::vector<Bar> bars;
  for (const PlanPart& part : PlanPartsOf(plan)) {
    if (part.bytes > 0)
      bars.push_back({part.name, static_cast<double>(part.bytes), HumanBytes(part.bytes)});
  }
  for (const std::string& line : BarLines(bars, kWidth)) text += "  " + line + "\n";
  text += "  total " + HumanBytes(plan.total_bytes()) + " of " + HumanBytes(memory) +
          (plan.total_bytes() <= memory ? ": it fits\n" : ": it does not fit\n");
}

// What of the plan is not the engine's own.
void AppendEngineRemarks(const PlanAnswer& answer, std::string& text) {
  const ModelShape& shape = *answer.shape;
  if (!shape.runs_not.empty()) text += "Folio does not run this model: " + shape.runs_not + "\n";
  if (!answer.settings.engine_has_codings)
    text += "Folio's engine does not store keys and values as " + answer.kv_type + "\n";
}

// Which of the parameters a token meets.
std::string OfWhich(const ModelShape& shape) {
  const ParameterShape& parameters = *shape.parameters;
  if (shape.experts == 0) return " (of the layers' own embeddings rows are looked up)";
  std::string text =
      " (" + std::to_string(shape.top_k) + " of " + std::to_string(shape.experts) + " experts";
  if (parameters.output > 0)
    text += "; " + HumanCount(parameters.active_but_lookups()) + " without the embedding";
  return text + ")";
}

void AppendModel(const PlanAnswer& answer, std::string& text) {
  const ModelShape& shape = *answer.shape;
  text += shape.name + ", " + shape.architecture + ": " + std::to_string(shape.layers.size()) +
          " layers";
  if (shape.parameters) {
    text += ", " + HumanCount(shape.parameters->total()) + " parameters";
    if (shape.experts > 0 || shape.parameters->tables > 0)
      text +=
          ", " + HumanCount(shape.parameters->active()) + " of them for a token" + OfWhich(shape);
  }
  text += "\n";
  AppendEngineRemarks(answer, text);
  for (const std::string& note : shape.notes) text += "note: " + note + "\n";
}

void AppendTraffic(const TrafficPlan& traffic, TextTable& table) {
  table.Add({traffic.batch == 1 ? "one sequence" : Grouped(traffic.batch) + " together",
             traffic.distinct_experts > 0 ? Decimal(traffic.distinct_experts, 1) : "-",
             HumanBytes(static_cast<std::uint64_t>(traffic.weight_bytes)),
             HumanBytes(static_cast<std::uint64_t>(traffic.kv_bytes)),
             HumanBytes(static_cast<std::uint64_t>(traffic.bytes_per_token())),
             traffic.tokens_per_s ? Decimal(*traffic.tokens_per_s, 1) : "-"});
}

void AppendSpeed(const PlanAnswer& answer, std::string& text) {
  if (!answer.one) return;
  text += "\nSpeed at best";
  if (answer.machine) text += ", " + SpeedRemark(*answer.machine);
  text += "\n";
  TextTable table("lrrrrr");
  table.Add({"a step of", "experts", "weights read", "K and V read", "bytes a token", "tokens/s"});
  AppendTraffic(*answer.one, table);
  if (answer.batch->batch > 1) AppendTraffic(*answer.batch, table);
  for (const std::string& line : table.Lines()) text += "  " + line + "\n";
  if (!answer.machine) text += "  (tokens a second: give --bandwidth, or --measure)\n";
}

void AppendHosted(const PlanAnswer& answer, std::string& text) {
  if (!answer.hosted) return;
  const HostedCost& cost = answer.hosted->cost;
  const double share = 100 * cost.cached_tokens() / cost.uncached_tokens;
  const auto whole = [](double number) {
    return Grouped(static_cast<std::uint64_t>(std::llround(number)));
  };
  text += "\nA hosted prompt cache would have charged for " + whole(cost.cached_tokens()) +
          " tokens of input where " + whole(cost.uncached_tokens) + " came in (" +
          Decimal(share, 1) + " %): " + Grouped(cost.writes) +
          (cost.writes == 1 ? " write, " : " writes, ") + Grouped(cost.reads) +
          (cost.reads == 1 ? " read\n" : " reads\n");
  if (const double price = answer.hosted->prices.per_million; price > 0) {
    text += "  " + Decimal(price * cost.cached_tokens() / 1e6, 2) + " in the place of " +
            Decimal(price * cost.uncached_tokens / 1e6, 2) + ", at " + Decimal(price, 2) +
            " a million\n";
  }
}

}  // namespace

std::vector<PlanPart> PlanPartsOf(const Plan& plan) {
  return {{"weights", "weights_bytes", plan.parts.weights_bytes},
          {"KV cache", "kv_bytes", plan.parts.kv_bytes},
          {"KV index", "kv_index_bytes", plan.parts.kv_index_bytes},
          {"state", "state_bytes", plan.kv.state_bytes},
          {"workspace", "workspace_bytes", plan.parts.workspace_bytes},
          {"program", "program_bytes", plan.parts.program_bytes}};
}

std::optional<std::uint64_t> AllParameters(const ModelShape& shape) {
  return shape.parameters ? shape.parameters->total() : shape.published_parameters;
}

std::optional<std::uint64_t> ActiveParameters(const ModelShape& shape) {
  return shape.parameters ? shape.parameters->active() : shape.published_active;
}

std::string ContextRemark(const ModelShape& shape, std::int64_t context) {
  if (shape.context_length == 0 || context <= shape.context_length) return "";
  return Grouped(context) + " tokens are more than the " + Grouped(shape.context_length) +
         " that the model was made for";
}

std::string SpeedRemark(const MachineSpeed& machine) {
  std::string text = "reading " + Decimal(machine.bytes_per_s / 1e9, 1) + " GB/s";
  if (machine.operations_per_s > 0)
    text += " and computing " + Decimal(machine.operations_per_s / 1e9, 0) + " GOP/s";
  return text;
}

std::string HumanCount(std::uint64_t number) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  const auto value = static_cast<double>(number);
  for (const auto& [unit, letter] : kUnits) {
    if (value >= unit) return Decimal(value / unit, 1) + " " + letter;
  }
  return std::to_string(number);
}

std::string PlanText(const PlanAnswer& answer) {
  const Plan& plan = answer.plan;
  std::string text;
  AppendModel(answer, text);
  text += "\nKV cache, " + answer.kv_type + ", " + Grouped(plan.context) + " tokens\n";
  AppendKv(answer, text);
  text += "\nMemory, " + Grouped(plan.users) + (plan.users == 1 ? " user" : " users");
  if (answer.settings.kv.shared_prefix > 0)
    text += ", the first " + Grouped(answer.settings.kv.shared_prefix) + " tokens shared";
  text += "\n";
  AppendChart(plan, answer.settings.memory, text);
  if (!plan.weights_known) text += "  the weights are not known and not counted\n";
  if (plan.weights_estimated) text += "  weights: estimated from the number of parameters\n";
  text +=
      "\nAt most " + Grouped(answer.max_users) + " users of " + Grouped(plan.context) +
      " tokens, or " + Grouped(answer.max_context) + " tokens" +
      (answer.max_context == answer.shape->context_length ? ", the model's longest context," : "") +
      " for " + Grouped(plan.users) + (plan.users == 1 ? " user\n" : " users\n");
  if (const std::string past = ContextRemark(*answer.shape, plan.context); !past.empty())
    text += "note: " + past + "\n";
  AppendSpeed(answer, text);
  AppendHosted(answer, text);
  return text;
}

std::string FactsText(const ModelShape& shape, std::int64_t batch) {
  std::string text = shape.name + ": " + shape.unknown + "\n";
  for (const std::string& note : shape.notes) text += "note: " + note + "\n";
  if (const auto parameters = AllParameters(shape)) {
    text += HumanCount(*parameters) + " parameters";
    if (const auto active = ActiveParameters(shape))
      text += ", " + HumanCount(*active) + " of them for a token";
    text += "\n";
  }
  if (shape.experts > 0) {
    text +=
        std::to_string(shape.top_k) + " of " + std::to_string(shape.experts) + " experts a token";
    if (batch > 1) {
      text += "; " + Grouped(batch) + " tokens together are expected to choose " +
              Decimal(ExpectedDistinctExperts(shape.experts, shape.top_k, batch), 1);
    }
    text += "\n";
  }
  return text + "memory, users and speed can't be told of it, whatever the options\n";
}

}  // namespace folio
