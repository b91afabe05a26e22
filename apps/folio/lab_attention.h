// The steps of `folio lab attention`, after the text on FlashAttention.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "folio/lab.h"
#include "folio/lab_attention_rungs.h"

namespace folio {

struct AttentionSetting {
  std::int64_t tokens = 512;
  std::int64_t head_dim = 64;
  std::uint64_t fast_bytes = std::uint64_t{192} << 10;  // of an A100's multiprocessor
  std::uint64_t seed = 0;
  std::int64_t tile = 0;
};

struct RungRow {
  std::string_view name;
  RungResult result;
  OutputDifference difference;
};

// The five rungs on the same inputs, the first four one vector at a time and the last in tiles.
struct Ladder {
  AttentionInputs inputs;
  std::vector<double> reference;
  std::vector<RungRow> rungs;
};

LabStep AttentionSizes();                                                        // F1
Result<LabStep> AttentionOverflow(const AttentionSetting& setting);              // F2
LabStep AttentionLadder(const AttentionSetting& setting, const Ladder& ladder);  // F3
LabStep AttentionRecurrences(const AttentionSetting& setting);                   // F4
Result<LabSteps> AttentionTraffic(const AttentionSetting& setting);              // F5, F6
LabStep MemoryTiers(const Ladder& ladder);                                       // F7
Result<LabStep> AttentionKernel(const AttentionSetting& setting, const Ladder& ladder);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_H_
