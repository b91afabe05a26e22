#include "plan/kv_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/checked.h"

namespace folio {
namespace {

std::unexpected<Error> TooMuch(const char* what) {
  return UsageError("plan", what, "does not fit 64 bits: fewer --users or a shorter --context");
}

Status CheckQuestion(const KvQuestion& question) {
  if (question.context < 1)
    return UsageError("plan", "--context", std::to_string(question.context) + " is below 1");
  if (question.users < 1)
    return UsageError("plan", "--users", std::to_string(question.users) + " is below 1");
  if (question.shared_prefix < 0 || question.shared_prefix > question.context) {
    return UsageError("plan", "--shared-prefix",
                      std::to_string(question.shared_prefix) + " is not from 0 to the context, " +
                          std::to_string(question.context));
  }
  return {};
}

// Blocks of a sequence's end that are whole within the prefix: held once by all users. A group with
// a window holds the last blocks only, which reach back into the prefix or don't.
std::int64_t SharedBlocks(const KvQuestion& question, std::int64_t held) {
  const std::int64_t all = BlocksForTokens(question.context, question.block_size);
  const std::int64_t whole = question.shared_prefix / question.block_size;
  return std::clamp<std::int64_t>(whole - (all - held), 0, held);
}

Result<KvGroupPlan> PlanGroup(const KvGroup& group, const KvQuestion& question) {
  KvGroupPlan plan{.window = group.window, .layers = static_cast<int>(group.layers.size())};
  plan.blocks_per_sequence =
      BlocksHeldAtMost(question.context, group.window, question.chunk, question.block_size);
  plan.shared_blocks = question.users > 1 ? SharedBlocks(question, plan.blocks_per_sequence) : 0;
  const auto own = CheckedMul(question.users, plan.blocks_per_sequence - plan.shared_blocks);
  const auto all = own ? CheckedAdd(*own, plan.shared_blocks) : std::nullopt;
  if (!all) return TooMuch("KV blocks");
  plan.num_blocks = *all;
  return plan;
}

void AddKind(const KvLayerSpec& layer, const KvCodings& codings, std::vector<KvKindPlan>& kinds) {
  const bool latent = layer.latent_dim > 0;
  auto kind = std::ranges::find_if(kinds, [&](const KvKindPlan& one) {
    return one.window == layer.window && one.latent == latent;
  });
  if (kind == kinds.end())
    kind = kinds.insert(kinds.end(), {.window = layer.window, .latent = latent});
  ++kind->layers;
  kind->bytes_per_token += KvBytesPerToken(layer, codings);
}

Status AddStates(const ModelShape& shape, std::int64_t users, KvPlan& plan) {
  plan.state_bytes_per_sequence = StateBytes(shape);
  const auto all = CheckedMul(plan.state_bytes_per_sequence, static_cast<std::uint64_t>(users));
  if (!all) return TooMuch("state");
  plan.state_bytes = *all;
  return {};
}

// Of the last block's slots; the shared prefix has none, being whole blocks.
void AddWaste(const KvQuestion& question, KvPlan& plan) {
  const std::int64_t blocks = BlocksForTokens(question.context, question.block_size);
  plan.empty_slots = blocks * question.block_size - question.context;
  for (const KvKindPlan& kind : plan.kinds) {
    if (kind.window == 0)
      plan.waste_bytes += kind.bytes_per_token * static_cast<std::uint64_t>(plan.empty_slots);
  }
}

}  // namespace

Result<KvPlan> PlanKv(const ModelShape& shape, const KvQuestion& question) {
  if (Status checked = CheckQuestion(question); !checked) return std::unexpected(checked.error());
  if (shape.layers.empty()) return InputError(shape.source, "layers", shape.unknown);
  KvPlan plan;
  if (Status states = AddStates(shape, question.users, plan); !states)
    return std::unexpected(states.error());
  const StoredLayers stored = StoredLayersOf(shape);
  if (stored.spec.layers.empty()) return plan;
  const Result<KvLayout> layout =
      LayOutKvGroups(stored.spec, question.codings, question.block_size);
  if (!layout) return std::unexpected(layout.error());
  plan.bytes_per_token = KvBytesPerToken(stored.spec, question.codings);
  plan.block_bytes = layout->block_bytes;
  plan.padding_bytes = layout->padding_bytes;
  for (const KvLayerSpec& layer : stored.spec.layers) AddKind(layer, question.codings, plan.kinds);
  for (const KvGroup& group : layout->groups) {
    const Result<KvGroupPlan> part = PlanGroup(group, question);
    if (!part) return std::unexpected(part.error());
    const auto blocks = CheckedAdd(plan.num_blocks, part->num_blocks);
    if (!blocks) return TooMuch("KV blocks");
    plan.num_blocks = *blocks;
    plan.blocks_per_sequence += part->blocks_per_sequence;
    plan.groups.push_back(*part);
  }
  const auto one = CheckedMul<std::uint64_t>(static_cast<std::uint64_t>(plan.blocks_per_sequence),
                                             plan.block_bytes);
  const auto all =
      CheckedMul<std::uint64_t>(static_cast<std::uint64_t>(plan.num_blocks), plan.block_bytes);
  if (!one || !all) return TooMuch("the KV cache");
  plan.bytes_per_sequence = *one;
  plan.bytes = *all;
  AddWaste(question, plan);
  return plan;
}

}  // namespace folio
