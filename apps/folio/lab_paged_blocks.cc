#include "folio/lab_paged_blocks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "folio/text_table.h"
#include "kvcache/kv_cache_manager.h"
#include "kvcache/kv_sizing.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr int kBlockSize = 16;
constexpr std::int64_t kShortest = 32;
constexpr std::int64_t kLongest = 8192;  // the context that a server without paging would reserve
constexpr std::int64_t kReservations = 8;

// Spread evenly over orders of magnitude, the same on every run.
std::int64_t LengthOf(std::int64_t request) {
  const double spread = std::log(static_cast<double>(kLongest) / kShortest);
  return static_cast<std::int64_t>(static_cast<double>(kShortest) *
                                   std::exp(spread * UniformAt(/*seed=*/0, /*choice=*/0, request)));
}

struct Held {
  SequenceBlocks blocks;
  std::int64_t tokens = 0;

  std::int64_t slots() const {
    return static_cast<std::int64_t>(blocks.tables.front().size()) * kBlockSize;
  }
};

// Requests until one finds no room.
std::vector<Held> FillPool(KvCacheManager& cache) {
  std::vector<Held> all;
  while (true) {
    const auto number = static_cast<std::int64_t>(all.size());
    Held held{.blocks = cache.NewSequence(static_cast<std::uint64_t>(number)),
              .tokens = LengthOf(number)};
    BlockChanges changes;
    if (!cache.Allocate(held.blocks, held.tokens, changes)) return all;
    all.push_back(std::move(held));
  }
}

std::int64_t Runs(const BlockTable& table) {
  std::int64_t runs = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    runs += i == 0 || table[i] != table[i - 1] + 1 ? 1 : 0;
  }
  return runs;
}

// Every second request leaves, and one takes all that is free, wherever it lies.
void UseEveryGap(KvCacheManager& cache, std::vector<Held>& all, LabStep& step) {
  for (std::size_t i = 0; i < all.size(); i += 2) cache.Free(all[i].blocks);
  const std::int64_t free = cache.pool().num_free();
  SequenceBlocks large = cache.NewSequence(all.size());
  BlockChanges changes;
  const bool fits = cache.Allocate(large, free * kBlockSize, changes);
  const std::int64_t runs = Runs(large.tables.front());
  step.lines.push_back(
      "Every second request leaves: " + Grouped(free) +
      " blocks are free, in pieces. One request "
      "of " +
      Grouped(free * kBlockSize) + " tokens " +
      (fits ? "takes them all, in " + Grouped(runs) + " runs of neighbours" : "finds no room") +
      ": no gap is too small.");
  step.facts["fragmentation"] = {{"free_blocks", free},
                                 {"tokens", free * kBlockSize},
                                 {"fits", fits},
                                 {"runs", runs},
                                 {"free_after", cache.pool().num_free()}};
  cache.Free(large);
}

}  // namespace

LabStep PagingWaste() {
  constexpr std::int64_t kBlocks = kReservations * kLongest / kBlockSize;
  KvCacheManager cache({KvGroupSpec{}}, kBlockSize, kBlocks, /*caching=*/false, nullptr);
  std::vector<Held> all = FillPool(cache);
  const auto count = static_cast<std::int64_t>(all.size());
  std::int64_t tokens = 0;
  std::int64_t most_wasted = 0;
  for (const Held& held : all) {
    tokens += held.tokens;
    most_wasted = std::max(most_wasted, held.slots() - held.tokens);
  }
  const std::int64_t slots = cache.pool().stats().used * kBlockSize;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const double mean_wasted = share(slots - tokens, count);
  LabStep step{.id = "P7", .title = "fewer than one block of slots is wasted per request"};
  step.lines = {
      "A pool of " + Grouped(kBlocks) + " blocks of " + std::to_string(kBlockSize) +
          " tokens; requests of " + std::to_string(kShortest) + " to " + Grouped(kLongest) +
          " tokens, evenly spread over orders of magnitude.",
      "Reserving " + Grouped(kLongest) + " slots for each: " + std::to_string(kReservations) +
          " requests fit, and hold " + Decimal(100 * share(tokens, count * kLongest), 1) +
          " % of what they reserve.",
      "In blocks: " + Grouped(count) + " requests fit, with " + Grouped(tokens) + " tokens in " +
          Grouped(slots) + " slots (" + Decimal(100 * share(tokens, slots), 1) + " %).",
      "Wasted per request: " + Decimal(mean_wasted, 2) + " slots on average, " +
          std::to_string(most_wasted) + " at most; a block has " + std::to_string(kBlockSize) +
          "."};
  step.facts = {{"block_size", kBlockSize},
                {"pool_blocks", kBlocks},
                {"reserved_per_request", kLongest},
                {"requests_reserving", kReservations},
                {"requests_paged", count},
                {"tokens", tokens},
                {"slots", slots},
                {"wasted_mean", mean_wasted},
                {"wasted_most", most_wasted},
                {"used_share_reserving", share(tokens, count * kLongest)},
                {"used_share_paged", share(tokens, slots)}};
  UseEveryGap(cache, all, step);
  return step;
}

Result<LabStep> BlockTensor(const LabModelShape& shape, KvType type) {
  const Result<KvLayout> layout = LayOutKvBlock(shape.kv, type, kBlockSize);
  if (!layout) return std::unexpected(layout.error());
  const KvLayerSpec& layer = shape.layer();
  const KvLayerLayout& place = layout->layers.front();
  const std::size_t layer_bytes = static_cast<std::size_t>(layer.kv_heads) * place.head_stride;
  const auto numbers = std::int64_t{2} * kBlockSize * layer.kv_heads * layer.head_dim;
  const std::size_t group_layers = layout->groups.front().layers.size();
  LabStep step{.id = "P8",
               .title = "one block's tensor: " + OneLine(shape.name, 60) + ", " +
                        std::string(KvTypeName(type))};
  step.lines = {
      "In each layer [2, block_size, num_kv_heads, head_dim] = [2, " + std::to_string(kBlockSize) +
          ", " + std::to_string(layer.kv_heads) + ", " + std::to_string(layer.head_dim) +
          "], the 2 for K and V: " + Grouped(numbers) + " numbers, " +
          Grouped(std::uint64_t{layer_bytes}) + " bytes.",
      "A block is a column through the " + std::to_string(group_layers) +
          " layers of its KV group: " + Grouped(std::uint64_t{layout->block_bytes}) +
          " bytes in one piece.",
      "The engine keeps these numbers in the order [num_kv_heads, 2, block_size, head_dim], so "
      "that "
      "attention reads one head's keys and then its values in a line: in a layer, heads are " +
          Grouped(std::uint64_t{place.head_stride}) + " bytes apart, and a head's values stand " +
          Grouped(std::uint64_t{place.v_offset}) + " behind its keys."};
  step.facts = {{"model", shape.name},
                {"kv_type", std::string(KvTypeName(type))},
                {"shape", {2, kBlockSize, layer.kv_heads, layer.head_dim}},
                {"numbers_per_layer", numbers},
                {"bytes_per_layer", layer_bytes},
                {"layers_of_group", group_layers},
                {"groups", layout->groups.size()},
                {"block_bytes", layout->block_bytes},
                {"head_stride", place.head_stride},
                {"v_offset", place.v_offset},
                {"layer_offsets", OutputJson::array()}};
  for (const int index : layout->groups.front().layers) {
    step.facts["layer_offsets"].push_back(layout->layers[static_cast<std::size_t>(index)].offset);
  }
  return step;
}

}  // namespace folio
