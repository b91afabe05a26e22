// What must hold between a sequence's block tables and the pool.
#include "kvcache/kv_cache_manager.h"
#include "kvcache/kv_sizing.h"

namespace folio {

std::string KvCacheManager::CheckSequence(const SequenceBlocks& sequence) const {
  const std::string name = "request " + std::to_string(sequence.request);
  if (sequence.tables.size() != groups_.size()) return name + ": not one table a group";
  if (sequence.computed < 0 || sequence.stored < sequence.computed ||
      sequence.published * block_size_ > sequence.stored) {
    return name + ": its positions are out of order";
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const BlockTable& table = sequence.tables[g];
    if (table.size() != sequence.tables[0].size() ||
        BlocksForTokens(sequence.stored, block_size_) > static_cast<std::int64_t>(table.size())) {
      return name + ": a table's length is wrong";
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const std::string entry =
          name + ": group " + std::to_string(g) + ", entry " + std::to_string(i);
      if ((table[i] == kNoBlock) != (index < FirstSeen(g, sequence.computed))) {
        return entry + (table[i] == kNoBlock ? " is missing" : " is held outside its window");
      }
      if (table[i] == kNoBlock) continue;
      const KvBlock& block = pool_.block(table[i]);
      if (block.group != static_cast<int>(g)) return entry + " is another group's block";
      if (block.hashed != (index < sequence.published)) {
        return entry +
               (block.hashed ? " is hashed and not published" : " is published, not hashed");
      }
    }
  }
  return "";
}

std::string KvCacheManager::CheckIntegrity(std::span<const SequenceBlocks* const> sequences) const {
  std::vector<const BlockTable*> tables;
  for (const SequenceBlocks* sequence : sequences) {
    for (const BlockTable& table : sequence->tables) tables.push_back(&table);
  }
  std::string problem = pool_.CheckIntegrity(tables);
  for (const SequenceBlocks* sequence : sequences) {
    if (problem.empty()) problem = CheckSequence(*sequence);
  }
  return problem;
}

}  // namespace folio
