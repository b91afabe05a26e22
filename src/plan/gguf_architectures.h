// The architectures of GGUF files that a plan is made for by their keys alone, and what each leaves
// unsaid.
#ifndef FOLIO_PLAN_GGUF_ARCHITECTURES_H_
#define FOLIO_PLAN_GGUF_ARCHITECTURES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace folio {

// Where layers see a window and no key says which: every `window_pattern`-th sees everything.
struct GgufArchitecture {
  std::string_view name;
  std::int64_t window_pattern = 0;  // 0: all layers see the window, if there is one
  std::int64_t full_interval = 0;   // one in so many layers has attention, the others a state
  std::string_view chunk;           // the key of a chunk's length
  bool parallel_state = false;      // attention and a state in the same layer
  bool grouped_state = true;        // Mamba-2's convolution also runs over B and C
  std::int64_t fixed_window = 0;    // where writers leave it out, being the same in all models
  bool window_optional = false;     // its smaller models have none, in spite of the pattern
};

// Sorted by name.
std::span<const GgufArchitecture> GgufArchitectures();

}  // namespace folio

#endif  // FOLIO_PLAN_GGUF_ARCHITECTURES_H_
