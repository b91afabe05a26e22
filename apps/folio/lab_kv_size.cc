// K1 to K3: every number here is kv_sizing's, asked about one layer and one head first and about
// the whole model last.
#include <utility>

#include "folio/lab.h"
#include "folio/lab_model_shape.h"
#include "folio/text_table.h"
#include "kvcache/kv_sizing.h"

namespace folio {
namespace {

constexpr std::int64_t kTokens = 100'000;
constexpr int kBlockSize = 16;
constexpr std::int64_t kChunk = 512;

std::string Gib(std::uint64_t bytes) {
  return Decimal(static_cast<double>(bytes) / 0x1p30, 2) + " GiB";
}

KvSpec Uniform(std::size_t layers, int kv_heads, int head_dim) {
  return {.layers = std::vector<KvLayerSpec>(layers, {.kv_heads = kv_heads, .head_dim = head_dim})};
}

LabStep Calculator() {
  const LabModelShape shape = Qwen3_8B();
  const std::uint64_t per_token = KvBytesPerToken(shape.kv, KvType::kBf16);
  const std::uint64_t bytes = per_token * static_cast<std::uint64_t>(kTokens);
  LabStep step{.id = "K1", .title = "Qwen3-8B, BF16, 100,000 tokens"};
  step.lines = {"36 layers, 8 KV heads of 128 dimensions, 2 bytes a number",
                "2 x 100,000 x 128 x 8 x 36 x 2 = " + Grouped(bytes) + " bytes = " + Gib(bytes) +
                    " (" + Decimal(static_cast<double>(bytes) / 1e9, 2) + " GB in decimal units)",
                "that is " + Grouped(per_token) + " bytes for each token"};
  step.facts = {{"model", shape.name},
                {"layers", shape.kv.layers.size()},
                {"kv_heads", shape.layer().kv_heads},
                {"head_dim", shape.layer().head_dim},
                {"kv_type", "bf16"},
                {"tokens", kTokens},
                {"kv_bytes_per_token", per_token},
                {"kv_bytes", bytes},
                {"gib", static_cast<double>(bytes) / 0x1p30}};
  return step;
}

// What the formula says when it has grown so far.
struct Rung {
  std::string formula;
  std::string meaning;
  KvSpec spec;
};

std::vector<Rung> Ladder(const LabModelShape& shape) {
  const int heads = shape.query_heads;
  const int dim = shape.layer().head_dim;
  const std::size_t layers = shape.kv.layers.size();
  return {
      {"2 n d", "K and V of one head, d = " + std::to_string(dim), Uniform(1, 1, dim)},
      {"2 n d h", "every head has its own, h = " + std::to_string(heads), Uniform(1, heads, dim)},
      {"2 n d h L", "and every layer, L = " + std::to_string(layers), Uniform(layers, heads, dim)},
      {"2 n d h_kv L",
       "heads share K and V in groups, h_kv = " + std::to_string(shape.layer().kv_heads),
       shape.kv}};
}

std::vector<Rung> SpecialCases(const LabModelShape& shape) {
  const int heads = shape.query_heads;
  const int dim = shape.layer().head_dim;
  const std::size_t layers = shape.kv.layers.size();
  return {{"MHA", "h_kv = h = " + std::to_string(heads), Uniform(layers, heads, dim)},
          {"GQA", "h_kv = " + std::to_string(shape.layer().kv_heads), shape.kv},
          {"MQA", "h_kv = 1", Uniform(layers, 1, dim)}};
}

LabStep Factors(const LabModelShape& shape, KvType type, std::int64_t tokens) {
  LabStep step{.id = "K2",
               .title = "the formula, factor by factor: " + OneLine(shape.name, 60) + ", " +
                        std::string(KvTypeName(type)) + ", n = " + Grouped(tokens)};
  step.facts = {{"model", shape.name},
                {"kv_type", std::string(KvTypeName(type))},
                {"tokens", tokens},
                {"query_heads", shape.query_heads},
                {"kv_heads", shape.layer().kv_heads},
                {"head_dim", shape.layer().head_dim},
                {"layers", shape.kv.layers.size()}};
  TextTable table("lrrl");
  table.Add({"numbers stored", "bytes", "", "what the last factor is for"});
  const auto add = [&](const Rung& rung, OutputJson& list) {
    const std::uint64_t bytes =
        KvBytesPerToken(rung.spec, type) * static_cast<std::uint64_t>(tokens);
    table.Add({rung.formula, Grouped(bytes), HumanBytes(bytes), rung.meaning});
    list.push_back({{"formula", rung.formula}, {"meaning", rung.meaning}, {"bytes", bytes}});
  };
  OutputJson factors = OutputJson::array();
  for (const Rung& rung : Ladder(shape)) add(rung, factors);
  step.facts["factors"] = std::move(factors);
  table.Add({"", "", "", ""});
  OutputJson cases = OutputJson::array();
  for (const Rung& rung : SpecialCases(shape)) add(rung, cases);
  step.facts["special_cases"] = std::move(cases);
  step.lines = table.Lines();
  step.lines.push_back("MHA is GQA with as many groups as heads, MQA is GQA with one group.");
  return step;
}

struct PagedFigure {
  std::int64_t blocks = 0;  // of all groups
  std::uint64_t bytes = 0;
};

// What a sequence holds once it has so many tokens, computed in chunks of kChunk rows.
PagedFigure Paged(const KvLayout& layout, std::int64_t tokens) {
  PagedFigure figure;
  for (const KvGroup& group : layout.groups) {
    figure.blocks += BlocksHeldAtMost(tokens, group.window, kChunk, layout.block_size);
  }
  figure.bytes = static_cast<std::uint64_t>(figure.blocks) * layout.block_bytes;
  return figure;
}

OutputJson GroupsJson(const KvLayout& layout) {
  OutputJson groups = OutputJson::array();
  for (const KvGroup& group : layout.groups) {
    groups.push_back({{"window", group.window}, {"layers", group.layers}});
  }
  return groups;
}

void AddWindowLines(const KvLayout& layout, std::int64_t tokens, std::uint64_t formula,
                    std::vector<std::string>& lines) {
  TextTable table("lrr");
  table.Add({"KV group", "layers", "blocks held"});
  for (std::size_t i = 0; i < layout.groups.size(); ++i) {
    const KvGroup& group = layout.groups[i];
    table.Add({std::to_string(i) +
                   (group.window == 0 ? ": sees all tokens" : ": sees " + Grouped(group.window)),
               std::to_string(group.layers.size()),
               Grouped(BlocksHeldAtMost(tokens, group.window, kChunk, layout.block_size))});
  }
  lines.emplace_back();
  for (std::string& line : table.Lines()) lines.push_back(std::move(line));
  lines.push_back("A layer with a window lets go of blocks that no later token sees, so this " +
                  std::string("model holds ") + HumanBytes(Paged(layout, tokens).bytes) +
                  " where layers x tokens would be " + HumanBytes(formula) + ".");
}

Result<LabStep> InBlocks(const LabModelShape& shape, KvType type, std::int64_t tokens) {
  const Result<KvLayout> layout = LayOutKvBlock(shape.kv, type, kBlockSize);
  if (!layout) return std::unexpected(layout.error());
  const std::uint64_t per_token = KvBytesPerToken(shape.kv, type);
  LabStep step{.id = "K3", .title = "paged: num_blocks x block_size in place of n"};
  step.facts = {{"block_size", kBlockSize},
                {"block_bytes", layout->block_bytes},
                {"kv_bytes_per_token", per_token},
                {"groups", GroupsJson(*layout)},
                {"figures", OutputJson::array()}};
  step.lines = {std::to_string(kBlockSize) + " tokens a block; a block of one KV group takes " +
                Grouped(std::uint64_t{layout->block_bytes}) + " bytes, and the model has " +
                std::to_string(layout->groups.size()) +
                (layout->groups.size() == 1 ? " group" : " groups")};
  TextTable table("rrrrrr");
  table.Add({"tokens", "num_blocks", "x block_size", "slots empty", "bytes", "formula with n"});
  for (const std::int64_t n : {tokens, tokens + 1}) {
    const std::int64_t blocks = BlocksForTokens(n, kBlockSize);
    const std::int64_t slots = blocks * kBlockSize;
    const PagedFigure paged = Paged(*layout, n);
    const std::uint64_t formula = per_token * static_cast<std::uint64_t>(n);
    table.Add({Grouped(n), Grouped(blocks), Grouped(slots), Grouped(slots - n),
               Grouped(paged.bytes), Grouped(formula)});
    step.facts["figures"].push_back({{"tokens", n},
                                     {"num_blocks", blocks},
                                     {"slots", slots},
                                     {"empty_slots", slots - n},
                                     {"blocks_of_all_groups", paged.blocks},
                                     {"kv_bytes", paged.bytes},
                                     {"formula_bytes", formula}});
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  bool windows = false;
  for (const KvGroup& group : layout->groups) windows = windows || group.window > 0;
  if (windows) {
    AddWindowLines(*layout, tokens, per_token * static_cast<std::uint64_t>(tokens), step.lines);
  }
  return step;
}

}  // namespace

Result<LabSteps> KvSizeLab(const LabArgs& args) {
  const Result<LabModelShape> shape = ShapeOf(args);
  if (!shape) return std::unexpected(shape.error());
  const KvType type = KvTypeFromName(args.kv_type).value_or(KvType::kBf16);
  const std::int64_t tokens = args.tokens > 0 ? args.tokens : kTokens;
  Result<LabStep> paged = InBlocks(*shape, type, tokens);
  if (!paged) return std::unexpected(paged.error());
  return LabSteps{Calculator(), Factors(*shape, type, tokens), *std::move(paged)};
}

}  // namespace folio
