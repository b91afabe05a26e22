// E9: how many experts models have, and how many a token meets.
#include <array>
#include <optional>
#include <string_view>

#include "folio/lab_moe.h"
#include "folio/lab_moe_sizes.h"
#include "folio/text_table.h"

namespace folio {
namespace {

struct KnownShape {
  std::string_view name;
  int experts = 0;
  int top_k = 0;
  std::optional<MoeModelSizes> sizes;  // where its configuration is published and known here
};

// By their published config.json; of the last two the text has only the experts.
std::array<KnownShape, 4> KnownShapes() {
  return {{{.name = "Mixtral-8x7B",
            .experts = 8,
            .top_k = 2,
            .sizes = MoeModelSizes{.layer = {.hidden = 4096, .expert_ffn = 14336},
                                   .layers = 32,
                                   .query_heads = 32,
                                   .kv_heads = 8,
                                   .head_dim = 128,
                                   .vocab = 32000}},
           {.name = "Qwen3-30B-A3B",
            .experts = 128,
            .top_k = 8,
            .sizes = MoeModelSizes{.layer = {.hidden = 2048, .expert_ffn = 768},
                                   .layers = 48,
                                   .query_heads = 32,
                                   .kv_heads = 4,
                                   .head_dim = 128,
                                   .vocab = 151936,
                                   .qk_norm = true}},
           {.name = "DeepSeek-V4-Pro", .experts = 384, .top_k = 6},
           {.name = "Kimi-K3", .experts = 896, .top_k = 16}}};
}

}  // namespace

LabStep MoeShapes() {
  LabStep step{.id = "E9", .title = "shapes to know"};
  TextTable table("lrrrrrr");
  table.Add({"model", "experts", "of a token", "share", "parameters", "of a token", "share"});
  step.facts["models"] = OutputJson::array();
  for (const KnownShape& shape : KnownShapes()) {
    const double share = static_cast<double>(shape.top_k) / shape.experts;
    std::vector<std::string> cells = {std::string(shape.name), std::to_string(shape.experts),
                                      std::to_string(shape.top_k), Decimal(100 * share, 1) + " %"};
    OutputJson json = {
        {"name", shape.name},    {"experts", shape.experts}, {"experts_per_token", shape.top_k},
        {"expert_share", share}, {"parameters", nullptr},    {"active_parameters", nullptr}};
    if (shape.sizes) {
      MoeModelSizes sizes = *shape.sizes;
      sizes.layer.experts = shape.experts;
      sizes.layer.top_k = shape.top_k;
      const ParameterCount count = ModelParameters(sizes);
      json["parameters"] = count.total;
      json["active_parameters"] = count.active;
      cells.push_back(Grouped(count.total));
      cells.push_back(Grouped(count.active));
      cells.push_back(
          Decimal(100 * static_cast<double>(count.active) / static_cast<double>(count.total), 1) +
          " %");
    }
    table.Add(std::move(cells));
    step.facts["models"].push_back(std::move(json));
  }
  step.lines = table.Lines();
  step.lines.emplace_back(
      "Parameters are counted from the published sizes, the router's and the embedding's among "
      "them. Of the last two only the experts are known here, so nothing more is said. E grows "
      "much "
      "faster than k: a token meets an ever smaller share of the model.");
  return step;
}

}  // namespace folio
