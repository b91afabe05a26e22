#include "folio/plan_report.h"

namespace folio {
namespace {

OutputJson ModelJson(const ModelShape& shape) {
  OutputJson json = {
      {"source", shape.source},
      {"name", shape.name},
      {"architecture", shape.architecture},
      {"runs", shape.runs_not.empty()},
      {"runs_not", shape.runs_not.empty() ? OutputJson() : OutputJson(shape.runs_not)},
      {"layers", shape.layers.size()},
      {"hidden", shape.hidden},
      {"vocab", shape.vocab},
      {"context_length", shape.context_length},
      {"query_heads", shape.query_heads},
      {"experts", shape.experts},
      {"experts_per_token", shape.top_k},
      {"parameters", nullptr},
      {"active_parameters", nullptr},
      {"active_parameters_without_lookups", nullptr},
      {"notes", shape.notes}};
  if (const auto parameters = AllParameters(shape)) json["parameters"] = *parameters;
  if (const auto active = ActiveParameters(shape)) json["active_parameters"] = *active;
  if (shape.parameters)
    json["active_parameters_without_lookups"] = shape.parameters->active_but_lookups();
  return json;
}

OutputJson KvJson(const KvPlan& kv) {
  OutputJson kinds = OutputJson::array();
  for (const KvKindPlan& kind : kv.kinds) {
    kinds.push_back({{"kind", kind.latent        ? "latent"
                              : kind.window == 0 ? "full"
                                                 : "window"},
                     {"window", kind.window},
                     {"layers", kind.layers},
                     {"bytes_per_token", kind.bytes_per_token}});
  }
  OutputJson groups = OutputJson::array();
  for (const KvGroupPlan& group : kv.groups) {
    groups.push_back({{"window", group.window},
                      {"layers", group.layers},
                      {"blocks_per_sequence", group.blocks_per_sequence},
                      {"shared_blocks", group.shared_blocks},
                      {"num_blocks", group.num_blocks},
                      {"kv_bytes", static_cast<std::uint64_t>(group.num_blocks) * kv.block_bytes}});
  }
  return {{"block_bytes", kv.block_bytes},
          {"padding_bytes_per_row_of_blocks", kv.padding_bytes},
          {"blocks_per_sequence", kv.blocks_per_sequence},
          {"bytes_per_sequence", kv.bytes_per_sequence},
          {"empty_slots", kv.empty_slots},
          {"waste_bytes_per_sequence", kv.waste_bytes},
          {"state_bytes_per_sequence", kv.state_bytes_per_sequence},
          {"kinds", kinds},
          {"groups", groups}};
}

OutputJson TrafficJson(const TrafficPlan& traffic) {
  return {{"batch", traffic.batch},
          {"expected_distinct_experts", traffic.distinct_experts},
          {"weight_bytes", traffic.weight_bytes},
          {"kv_bytes", traffic.kv_bytes},
          {"state_bytes", traffic.state_bytes},
          {"bytes_per_token", traffic.bytes_per_token()},
          {"operations_per_token", traffic.operations / static_cast<double>(traffic.batch)},
          {"tokens_per_s_at_most",
           traffic.tokens_per_s ? OutputJson(*traffic.tokens_per_s) : OutputJson()}};
}

OutputJson HostedJson(const HostedAnswer& hosted) {
  const HostedCost& cost = hosted.cost;
  return {{"requests", hosted.traffic.requests},
          {"prompt_tokens", hosted.traffic.prompt_tokens},
          {"shared_prefix", hosted.traffic.shared_prefix},
          {"writes", cost.writes},
          {"reads", cost.reads},
          {"input_tokens_without_cache", cost.uncached_tokens},
          {"input_tokens_with_cache", cost.cached_tokens()},
          {"parts",
           {{"written", cost.written_tokens},
            {"read", cost.read_tokens},
            {"plain", cost.plain_tokens}}},
          {"price_without_cache", cost.uncached_tokens * hosted.prices.per_million / 1e6},
          {"price_with_cache", cost.cached_tokens() * hosted.prices.per_million / 1e6}};
}

}  // namespace

OutputJson PlanJson(const PlanAnswer& answer) {
  const Plan& plan = answer.plan;
  OutputJson json;
  json["model"] = ModelJson(*answer.shape);
  json["context"] = plan.context;
  json["users"] = plan.users;
  json["shared_prefix"] = answer.settings.kv.shared_prefix;
  json["block_size"] = answer.settings.kv.block_size;
  json["kv_type"] = answer.kv_type;
  json["memory_bytes"] = answer.settings.memory;
  json["kv_bytes_per_token"] = plan.kv.bytes_per_token;
  json["kv_bytes"] = plan.kv.bytes;
  json["num_blocks"] = plan.kv.num_blocks;
  json["weights_bytes"] = plan.weights_known ? OutputJson(plan.parts.weights_bytes) : OutputJson();
  json["total_bytes"] = plan.total_bytes();
  json["fits"] = plan.total_bytes() <= answer.settings.memory;
  json["max_users"] = answer.max_users;
  json["max_context"] = answer.max_context;
  for (const PlanPart& part : PlanPartsOf(plan)) json["parts"][part.key] = part.bytes;
  json["estimated"] = {{"weights", plan.weights_estimated},
                       {"workspace", plan.workspace_estimated}};
  json["kv"] = KvJson(plan.kv);
  if (answer.one) {
    json["traffic"] = {{"one", TrafficJson(*answer.one)}, {"batch", TrafficJson(*answer.batch)}};
    json["traffic"]["machine"] =
        answer.machine ? OutputJson{{"bytes_per_s", answer.machine->bytes_per_s},
                                    {"operations_per_s", answer.machine->operations_per_s}}
                       : OutputJson();
  }
  if (answer.hosted) json["hosted"] = HostedJson(*answer.hosted);
  return json;
}

OutputJson FactsJson(const ModelShape& shape, std::int64_t batch) {
  OutputJson json = {{"model", ModelJson(shape)}, {"unknown", shape.unknown}};
  for (const char* field : {"kv_bytes_per_token", "kv_bytes", "num_blocks", "weights_bytes",
                            "total_bytes", "max_users", "max_context"}) {
    json[field] = nullptr;
  }
  json["batch"] = batch;
  json["expected_distinct_experts"] = ExpectedDistinctExperts(shape.experts, shape.top_k, batch);
  return json;
}

}  // namespace folio
