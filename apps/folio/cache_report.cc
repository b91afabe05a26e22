#include "folio/cache_report.h"

#include <map>
#include <utility>

#include "folio/text_table.h"

namespace folio {
namespace {

std::string InPart(const std::string& part) { return part.empty() ? "" : " (" + part + ")"; }

// Where the hits ended, as "position 57 (messages[1] user, its token 12)".
std::string Place(const MissReport& report) {
  std::string place = "position " + std::to_string(report.position);
  if (!report.part_here.empty()) {
    place += " (" + report.part_here + ", its token " + std::to_string(report.offset_in_part) + ")";
  }
  return place;
}

std::string Reason(const MissReport& report, const std::string& name) {
  const std::string nearest = name + " " + std::to_string(report.nearest_request);
  switch (report.cause) {
    case MissCause::kFullHit:
      return "all of it but the last token, which is computed for its logits";
    case MissCause::kFirstSeen:
      return "no earlier " + name + " begins with its first token";
    case MissCause::kDiffers:
      return "the token at " + Place(report) + " is not the one that " + nearest + " has there" +
             InPart(report.part_there);
    case MissCause::kGoesOn:
      return nearest + " ends in front of " + Place(report) + ", where this one goes on";
    case MissCause::kEvicted:
      return nearest + " has the same " + std::to_string(report.matched_tokens) +
             " first tokens, but its block at " + Place(report) + " has left the cache";
    case MissCause::kOtherContent:
      return nearest + " has the same tokens at " + Place(report) +
             ", but its block holds other content";
    case MissCause::kBlockEnd:
      return nearest + " has all of its tokens, but those from " + Place(report) +
             " on fill no block";
    case MissCause::kForgotten:
      return "the " + name + " that was hit is no longer in the record, so what differs at " +
             Place(report) + " is not known";
    case MissCause::kOff:
      return "the prefix cache is off, or the request ended before its prompt was computed";
  }
  return {};
}

// The last token drawn was never computed.
TokenChain ComputedChain(const LoadedModel& model, const EndedRequest& request) {
  TokenChain chain = model.NewChain("");
  chain.Append(request.prompt, RowKind::kPrompt);
  const std::vector<Sample>& samples = request.outcome.choices.front().samples;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    chain.Append({&samples[i].token, 1}, RowKind::kGenerated);
  }
  return chain;
}

std::string GroupName(const LoadedModel& model, std::size_t group) {
  const std::int64_t window = model.kv_layout().groups[group].window;
  return "group " + std::to_string(group) +
         (window == 0 ? " (sees all)" : " (sees " + std::to_string(window) + ")");
}

void AppendChains(const LoadedModel& model, const Snapshot& snapshot,
                  std::span<const EndedRequest> requests, const std::string& name,
                  std::string& text) {
  text += "blocks that hold them now, in order\n";
  TextTable table("lll");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto chains = ChainBlocks(model, snapshot, requests[i]);
    const auto in_blocks = static_cast<std::int64_t>(chains.front().size()) * snapshot.block_size;
    const auto rest = ComputedChain(model, requests[i]).size() - in_blocks;
    for (std::size_t group = 0; group < chains.size(); ++group) {
      std::string blocks = BlockList(chains[group]);
      if (group == 0 && rest > 0) {
        blocks += (blocks.empty() ? "" : ", and ") + std::to_string(rest) + " tokens fill no block";
      }
      table.Add({group == 0 ? "  " + name + " " + std::to_string(i + 1) : "",
                 chains.size() > 1 ? GroupName(model, group) : "", std::move(blocks)});
    }
  }
  for (const std::string& line : table.Lines()) text += line + "\n";
}

}  // namespace

std::string ExplainCache(const MissReport& report, const std::string& name) {
  return std::to_string(report.cached_tokens) + " of " + std::to_string(report.prompt_tokens) +
         " tokens cached: " + Reason(report, name);
}

OutputJson UsageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},     {"cached_tokens", usage.cached_tokens},
          {"computed_tokens", usage.computed_tokens}, {"generated_tokens", usage.generated_tokens},
          {"drafted_tokens", usage.drafted_tokens},   {"accepted_tokens", usage.accepted_tokens}};
}

OutputJson CacheJson(const MissReport& report, const std::string& name) {
  const auto or_null = [](std::int64_t value, bool known) {
    return known ? OutputJson(value) : OutputJson();
  };
  return {{"cause", std::string(MissCauseName(report.cause))},
          {"cached_tokens", report.cached_tokens},
          {"matched_tokens", report.matched_tokens},
          {"nearest",
           or_null(static_cast<std::int64_t>(report.nearest_request), report.nearest_request != 0)},
          {"position", or_null(report.position, report.position >= 0)},
          {"token", or_null(report.token_here, report.token_here >= 0)},
          {"nearest_token", or_null(report.token_there, report.token_there >= 0)},
          {"part", report.part_here},
          {"nearest_part", report.part_there},
          {"offset_in_part", report.offset_in_part},
          {"why", ExplainCache(report, name)}};
}

std::vector<std::string> MemoryLines(const Snapshot& snapshot) {
  const MemoryReport& memory = snapshot.memory;
  TextTable table("lrrl");
  const auto add = [&](const char* name, std::uint64_t bytes, const std::string& note = {}) {
    table.Add({std::string("  ") + name, Grouped(bytes), HumanBytes(bytes), note});
  };
  table.Add({"memory plan", "bytes", ""});
  add("weights", memory.weights_bytes);
  const ExpertCacheSnapshot& experts = snapshot.expert_cache;
  if (experts.experts > 0) {
    add("experts", memory.experts_bytes,
        Grouped(experts.slots) + " of " + Grouped(experts.experts) +
            " in memory, the others read when they are chosen");
  }
  add("KV cache", memory.kv_bytes,
      Grouped(snapshot.blocks_total) + " blocks of " + std::to_string(snapshot.block_size) +
          " tokens, " + Grouped(snapshot.block_bytes) + " bytes each");
  add("KV index", memory.kv_index_bytes, "who holds which block, hashes, recent prompts");
  add("workspace", memory.workspace_bytes, "activations of a step, logits");
  add("program", memory.program_bytes, "code, tokenizer, chat template, threads");
  add("total", memory.total_bytes, "never exceeded");
  add("budget", memory.budget_bytes, "--memory, or what the machine has free");
  return table.Lines();
}

std::vector<std::vector<std::int32_t>> ChainBlocks(const LoadedModel& model,
                                                   const Snapshot& snapshot,
                                                   const EndedRequest& request) {
  std::map<std::pair<std::string, int>, std::int32_t> block_of;
  for (const BlockSnapshot& block : snapshot.blocks) {
    if (block.hashed) block_of[{block.hash, block.group}] = block.id;
  }
  const TokenChain chain = ComputedChain(model, request);
  std::vector<std::vector<std::int32_t>> chains(static_cast<std::size_t>(snapshot.num_groups));
  for (int group = 0; group < snapshot.num_groups; ++group) {
    for (const BlockHash& hash : chain.hashes()) {
      const auto found = block_of.find({HexOf(hash), group});
      chains[static_cast<std::size_t>(group)].push_back(found == block_of.end() ? -1
                                                                                : found->second);
    }
  }
  return chains;
}

std::string BlockList(std::span<const std::int32_t> blocks) {
  constexpr std::size_t kMostRuns = 12;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    const std::int32_t step = blocks[i] < 0 ? 0 : 1;
    while (end < blocks.size() && blocks[end] == blocks[end - 1] + step) ++end;
    const std::size_t length = end - i;
    if (blocks[i] < 0) {
      runs.push_back("(" + std::to_string(length) + " gone)");
    } else if (length == 1) {
      runs.push_back(std::to_string(blocks[i]));
    } else {
      runs.push_back(std::to_string(blocks[i]) + "-" + std::to_string(blocks[end - 1]));
    }
    i = end;
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs.size() > kMostRuns && i == kMostRuns - 2) {
      text += " ...";
      i = runs.size() - 2;
    }
    text += (text.empty() ? "" : " ") + runs[i];
  }
  return text;
}

std::string PoolText(const LoadedModel& model, const Snapshot& snapshot,
                     std::span<const EndedRequest> requests, const std::string& name) {
  std::string text;
  for (const std::string& line : MemoryLines(snapshot)) text += line + "\n";
  text += "pool: " + Grouped(snapshot.blocks_total) + " blocks = " + Grouped(snapshot.blocks_used) +
          " used + " + Grouped(snapshot.blocks_cached) + " cached + " +
          Grouped(snapshot.blocks_free) + " free; " + Grouped(snapshot.steps) + " steps, " +
          Grouped(snapshot.evictions) + " evictions, " + Grouped(snapshot.preemptions) +
          " preemptions\n";
  if (!snapshot.integrity.empty()) text += "pool is broken: " + snapshot.integrity + "\n";
  TextTable table("rrrrr");
  table.Add({name, "tokens", "cached", "computed", "generated"});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Usage& usage = requests[i].outcome.usage;
    table.Add({std::to_string(i + 1), Grouped(usage.prompt_tokens), Grouped(usage.cached_tokens),
               Grouped(usage.computed_tokens), Grouped(usage.generated_tokens)});
  }
  for (const std::string& line : table.Lines()) text += line + "\n";
  text += "why no more was cached\n";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    text += "  " + name + " " + std::to_string(i + 1) + ": " +
            ExplainCache(requests[i].outcome.cache, name) + "\n";
  }
  AppendChains(model, snapshot, requests, name, text);
  return text;
}

OutputJson PoolJson(const LoadedModel& model, const Snapshot& snapshot,
                    std::span<const EndedRequest> requests) {
  const MemoryReport& memory = snapshot.memory;
  OutputJson json;
  json["memory"] = {
      {"budget_bytes", memory.budget_bytes},     {"weights_bytes", memory.weights_bytes},
      {"experts_bytes", memory.experts_bytes},   {"kv_bytes", memory.kv_bytes},
      {"kv_index_bytes", memory.kv_index_bytes}, {"workspace_bytes", memory.workspace_bytes},
      {"program_bytes", memory.program_bytes},   {"total_bytes", memory.total_bytes}};
  json["block_size"] = snapshot.block_size;
  json["block_bytes"] = snapshot.block_bytes;
  json["groups"] = snapshot.num_groups;
  json["context"] = snapshot.context;
  json["blocks"] = {{"total", snapshot.blocks_total},
                    {"used", snapshot.blocks_used},
                    {"cached", snapshot.blocks_cached},
                    {"free", snapshot.blocks_free}};
  json["steps"] = snapshot.steps;
  json["evictions"] = snapshot.evictions;
  json["preemptions"] = snapshot.preemptions;
  json["integrity"] = snapshot.integrity;
  json["chains"] = OutputJson::array();
  for (const EndedRequest& request : requests) {
    json["chains"].push_back(ChainBlocks(model, snapshot, request));
  }
  json["cached_blocks"] = OutputJson::array();
  for (const BlockSnapshot& block : snapshot.blocks) {
    json["cached_blocks"].push_back({{"id", block.id},
                                     {"ref_count", block.ref_count},
                                     {"hash", block.hash},
                                     {"group", block.group}});
  }
  return json;
}

}  // namespace folio
