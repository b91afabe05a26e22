// P1 to P8: the example of the text on paging, step by step.
#include <utility>

#include "folio/lab.h"
#include "folio/lab_model_shape.h"
#include "folio/lab_paged_blocks.h"
#include "folio/lab_paged_story.h"
#include "kvcache/free_block_queue.h"

namespace folio {
namespace {

constexpr std::int64_t kBlocks = 4;
constexpr std::string_view kPrompts[] = {"ABCDEFGHIJKL", "ABCDEFGHXYZ", "ABCDEFGHPPPPQQQQ"};

std::string Joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text.empty() ? "(nothing)" : text;
}

// The story's state and what its trace recorded, behind what the step has already.
void AddState(PagedStory& story, LabStep& step) {
  const std::vector<std::string> events = story.TakeEvents();
  step.lines.push_back("trace:   " + Joined(events, ", "));
  step.lines.emplace_back();
  for (std::string& line : story.StateLines()) step.lines.push_back(std::move(line));
  step.facts["events"] = events;
  step.facts.update(story.StateJson());
}

void AddArrival(const PagedStory::Arrival& arrival, LabStep& step) {
  std::vector<std::string> found;
  step.facts["look_ups"] = OutputJson::array();
  std::vector<BlockId> hits;
  for (const PagedStory::LookUp& look_up : arrival.look_ups) {
    const bool hit = look_up.block != kNoBlock;
    if (hit) hits.push_back(look_up.block);
    found.push_back(look_up.tokens + (look_up.label.empty() ? " not full: no hash"
                                      : hit ? " hit: block " + std::to_string(look_up.block)
                                            : " miss"));
    step.facts["look_ups"].push_back(
        {{"tokens", look_up.tokens},
         {"hash", look_up.label.empty() ? OutputJson() : OutputJson(look_up.label)},
         {"block", hit ? OutputJson(look_up.block) : OutputJson()}});
  }
  step.lines.push_back("look up: " + Joined(found, " | "));
  step.lines.push_back("new:     " + Listed(arrival.fresh));
  step.lines.push_back("compute: " + Joined(arrival.computed, " "));
  step.facts["hits"] = hits;
  step.facts["new_blocks"] = arrival.fresh;
  step.facts["compute"] = arrival.computed;
}

LabStep FirstRequest(PagedStory& story) {
  LabStep step{.id = "P1", .title = "time 0: request 0 arrives with ABCD EFGH IJKL (blocks of 4)"};
  step.lines.push_back("The hash of a block covers everything before it too: " +
                       PagedStory::Label("ABCDEFGH") + " stands for ABCDEFGH.");
  AddArrival(story.Arrive(kPrompts[0]), step);
  AddState(story, step);
  return step;
}

LabStep SecondRequest(PagedStory& story) {
  LabStep step{.id = "P2", .title = "time 1: request 1 arrives with ABCD EFGH XYZ"};
  AddArrival(story.Arrive(kPrompts[1]), step);
  step.lines.emplace_back(
      "Hits are neither copied nor computed: their ref_cnt goes up. XYZ fills no block, so it has "
      "no hash yet.");
  AddState(story, step);
  return step;
}

LabStep Finished(PagedStory& story, const char* id, std::size_t request, const char* note) {
  LabStep step{.id = id,
               .title = "time " + std::to_string(request + 2) + ": request " +
                        std::to_string(request) + " finishes"};
  story.Finish(request);
  step.lines.emplace_back(note);
  AddState(story, step);
  return step;
}

LabStep ThirdRequest(PagedStory& story) {
  LabStep step{.id = "P5", .title = "time 4: request 2 arrives with ABCD EFGH PPPP QQQQ"};
  const PagedStory::Arrival arrival = story.Arrive(kPrompts[2]);
  step.lines.push_back("first the hits, pulled out of the free queue; it is then " +
                       Listed(arrival.queue_after_hits) + ", and the map still has " +
                       Joined(arrival.map_after_hits, " "));
  step.facts["queue_after_hits"] = arrival.queue_after_hits;
  step.facts["map_after_hits"] = arrival.map_after_hits;
  AddArrival(arrival, step);
  step.lines.emplace_back("Only as block 2 is handed out does the map lose " +
                          PagedStory::Label("ABCDEFGHIJKL") + ": eviction is reuse, nothing else.");
  AddState(story, step);
  return step;
}

// The blocks that requests 0 and 1 free, appended at the tail of a queue with no other rule, last
// block first; then the hits leave it and two are handed out.
struct TailOnly {
  std::vector<BlockId> order;
  std::vector<BlockId> handed_out;
};

TailOnly AppendedAtTheTail() {
  std::vector<KvBlock> blocks(kBlocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].block_id = static_cast<BlockId>(i);
  FreeBlockQueue queue(blocks.data());
  TailOnly result;
  for (const BlockId id : {2, 3, 1, 0}) {
    queue.PushBack(blocks[static_cast<std::size_t>(id)]);
    result.order.push_back(id);
  }
  for (const BlockId hit : {0, 1}) queue.Remove(blocks[static_cast<std::size_t>(hit)]);
  while (KvBlock* const block = queue.PopFront()) result.handed_out.push_back(block->block_id);
  return result;
}

LabStep QueueOrder(const std::vector<BlockId>& engine_order,
                   const std::vector<BlockId>& engine_hands_out) {
  const std::vector<BlockId> drawing = {3, 2, 0, 1};
  const TailOnly tail_only = AppendedAtTheTail();
  PagedStory larger(kBlocks + 2);
  larger.Arrive(kPrompts[0]);
  larger.Arrive(kPrompts[1]);
  larger.Finish(0);
  larger.Finish(1);
  const std::vector<BlockId> larger_order = larger.FreeQueue();
  const std::vector<BlockId> larger_hands_out = larger.Arrive(kPrompts[2]).fresh;
  LabStep step{.id = "P6", .title = "in which order free blocks are handed out"};
  step.lines = {
      "after time 3, the next one first:",
      "  as the text draws it:              " + Listed(drawing) +
          "  -> hands out 3 2 (it says that it simplifies)",
      "  freed blocks at the tail, no more: " + Listed(tail_only.order) + "  -> hands out " +
          Listed(tail_only.handed_out),
      "  the engine's pool:                 " + Listed(engine_order) + "  -> hands out " +
          Listed(engine_hands_out),
      "Why the engine's: block 3 was never full and has no hash, so nobody can ever hit it.",
      "It goes first. Then what was freed longest ago: block 2, at time 2. Of one request, the",
      "last block goes before the first: without block 0 a hit could not even begin.",
      "So the drawing's 3 2 comes out right for another reason. The tail alone would have thrown",
      "away what block 2 holds, to keep a block that holds nothing.",
      "With two blocks more the queue is " + Listed(larger_order) + ", " +
          Listed(larger_hands_out) + " are handed out, and nothing is evicted."};
  step.facts = {{"drawing", {{"order", drawing}, {"hands_out", {3, 2}}}},
                {"tail_only", {{"order", tail_only.order}, {"hands_out", tail_only.handed_out}}},
                {"engine", {{"order", engine_order}, {"hands_out", engine_hands_out}}},
                {"six_blocks", {{"order", larger_order}, {"hands_out", larger_hands_out}}}};
  step.facts["six_blocks"].update(larger.StateJson());
  return step;
}

}  // namespace

Result<LabSteps> PagedLab(const LabArgs& args) {
  const Result<LabModelShape> shape = ShapeOf(args);
  if (!shape) return std::unexpected(shape.error());
  Result<LabStep> tensor =
      BlockTensor(*shape, KvTypeFromName(args.kv_type).value_or(KvType::kBf16));
  if (!tensor) return std::unexpected(tensor.error());
  PagedStory story(kBlocks);
  LabSteps steps;
  steps.push_back(FirstRequest(story));
  steps.push_back(SecondRequest(story));
  steps.push_back(Finished(story, "P3", 0,
                           "Blocks 0 and 1 are still in use. Block 2 goes to the free queue, and "
                           "the map keeps its entry: "
                           "what it holds can be hit until the block is handed out."));
  steps.push_back(
      Finished(story, "P4", 1, "All blocks are free, and the map still has its three entries."));
  const std::vector<BlockId> order = story.FreeQueue();
  steps.push_back(ThirdRequest(story));
  const auto handed_out = steps.back().facts["new_blocks"].get<std::vector<BlockId>>();
  steps.push_back(QueueOrder(order, handed_out));
  steps.push_back(PagingWaste());
  steps.push_back(*std::move(tensor));
  return steps;
}

}  // namespace folio
