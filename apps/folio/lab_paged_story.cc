#include "folio/lab_paged_story.h"

#include <algorithm>
#include <utility>

#include "folio/text_table.h"

namespace folio {

std::string Listed(std::span<const BlockId> blocks) {
  std::string text;
  for (const BlockId id : blocks) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text.empty() ? "(empty)" : text;
}

PagedStory::PagedStory(std::int64_t num_blocks)
    : trace_(256), cache_({KvGroupSpec{}}, kBlockSize, num_blocks, /*caching=*/true, &trace_) {}

std::string PagedStory::Label(std::string_view prefix) {
  return "0x" + std::string(prefix.substr(0, 2)) + std::string(prefix.substr(prefix.size() - 2));
}

PagedStory::Arrival PagedStory::Arrive(std::string_view prompt) {
  TokenChain chain(hasher_, BlockHash{}, kBlockSize, /*row_kinds_differ=*/false);
  chain.Append(std::vector<std::int32_t>(prompt.begin(), prompt.end()), RowKind::kPrompt);
  Arrival arrival;
  for (std::size_t at = 0; at < prompt.size(); at += kBlockSize) {
    LookUp look_up{.tokens = std::string(prompt.substr(at, kBlockSize)), .label = {}};
    const std::size_t index = at / kBlockSize;
    if (index < chain.hashes().size()) {
      const std::string_view prefix = prompt.substr(0, at + kBlockSize);
      const BlockHash& hash = chain.hashes()[index];
      prefixes_.emplace(hash, prefix);
      look_up.label = Label(prefix);
      look_up.block = cache_.pool().Lookup(hash, 0);
    }
    arrival.look_ups.push_back(std::move(look_up));
  }
  SequenceBlocks blocks = cache_.NewSequence(requests_.size());
  const std::int64_t hit = cache_.TakeHits(blocks, chain);
  arrival.queue_after_hits = FreeQueue();
  arrival.map_after_hits = MapEntries();
  BlockChanges changes;
  // A lab's pool always has room: the fresh blocks would be missing in the step otherwise.
  cache_.Allocate(blocks, chain.size() - blocks.computed, changes);
  arrival.fresh = changes.fresh;
  for (std::size_t at = static_cast<std::size_t>(hit); at < prompt.size(); at += kBlockSize) {
    arrival.computed.emplace_back(prompt.substr(at, kBlockSize));
  }
  cache_.Advance(blocks, chain, chain.size());
  requests_.push_back(
      {.prompt = std::string(prompt), .chain = std::move(chain), .blocks = std::move(blocks)});
  return arrival;
}

void PagedStory::Finish(std::size_t request) { cache_.Free(requests_[request].blocks); }

std::string PagedStory::CheckIntegrity() const {
  std::vector<const SequenceBlocks*> all;
  for (const Request& request : requests_) all.push_back(&request.blocks);
  return cache_.CheckIntegrity(all);
}

std::string PagedStory::LabelOf(const KvBlock& block) const {
  return block.hashed ? Label(prefixes_.at(block.block_hash)) : std::string();
}

std::string PagedStory::TokensIn(BlockId id) const {
  const KvBlock& block = cache_.pool().block(id);
  if (block.hashed) {
    const std::string& prefix = prefixes_.at(block.block_hash);
    return prefix.substr(prefix.size() - kBlockSize);
  }
  for (const Request& request : requests_) {
    const BlockTable& table = request.blocks.tables.front();
    const auto found = std::ranges::find(table, id);
    if (found == table.end()) continue;
    return request.prompt.substr(static_cast<std::size_t>(found - table.begin()) * kBlockSize,
                                 kBlockSize);
  }
  return {};
}

std::vector<std::string> PagedStory::MapEntries() const {
  std::vector<std::string> entries;
  for (BlockId id = 0; id < cache_.pool().num_blocks(); ++id) {
    const KvBlock& block = cache_.pool().block(id);
    if (block.hashed) entries.push_back(LabelOf(block));
  }
  return entries;
}

std::vector<std::string> PagedStory::TakeEvents() {
  const std::vector<Event> kept = trace_.Events();
  const auto fresh = static_cast<std::size_t>(trace_.emitted() - events_seen_);
  events_seen_ = trace_.emitted();
  std::vector<std::string> lines;
  for (const Event& event : std::span(kept).last(fresh)) {
    lines.push_back(std::string(EventTypeName(event.type)) + " " + std::to_string(event.block));
  }
  return lines;
}

std::vector<std::string> PagedStory::StateLines() const {
  TextTable table("lllll");
  table.Add({"block", "holds", "ref_cnt", "hash", "SHA-256"});
  for (BlockId id = 0; id < cache_.pool().num_blocks(); ++id) {
    const KvBlock& block = cache_.pool().block(id);
    table.Add({std::to_string(id), TokensIn(id), std::to_string(block.ref_cnt),
               block.hashed ? LabelOf(block) : "none",
               block.hashed ? HexOf(block.block_hash).substr(0, 12) + "..." : ""});
  }
  std::vector<std::string> lines = table.Lines();
  lines.push_back("free queue: " + Listed(FreeQueue()));
  std::string entries;
  for (BlockId id = 0; id < cache_.pool().num_blocks(); ++id) {
    const KvBlock& block = cache_.pool().block(id);
    if (block.hashed) entries += " " + LabelOf(block) + "->" + std::to_string(id);
  }
  lines.push_back("map:" + (entries.empty() ? " (empty)" : entries));
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const BlockTable& blocks = requests_[i].blocks.tables.front();
    lines.push_back("block table of request " + std::to_string(i) + ": " +
                    (blocks.empty() ? "(finished)" : Listed(blocks)));
  }
  return lines;
}

OutputJson PagedStory::StateJson() const {
  OutputJson json;
  json["block_tables"] = OutputJson::object();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    json["block_tables"][std::to_string(i)] = requests_[i].blocks.tables.front();
  }
  json["blocks"] = OutputJson::array();
  json["map"] = OutputJson::object();
  for (BlockId id = 0; id < cache_.pool().num_blocks(); ++id) {
    const KvBlock& block = cache_.pool().block(id);
    json["blocks"].push_back(
        {{"id", id},
         {"holds", TokensIn(id)},
         {"ref_cnt", block.ref_cnt},
         {"hash", block.hashed ? OutputJson(LabelOf(block)) : OutputJson()},
         {"sha256", block.hashed ? OutputJson(HexOf(block.block_hash)) : OutputJson()}});
    if (block.hashed) json["map"][LabelOf(block)] = id;
  }
  json["free_queue"] = FreeQueue();
  json["integrity"] = CheckIntegrity();
  return json;
}

}  // namespace folio
