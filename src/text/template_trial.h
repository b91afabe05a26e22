// A new chat template is tried before it is trusted: rendered on conversations of up to 160
// messages in a forked process with limits on CPU time, memory and output, since fuel doesn't bound
// everything a template can do (a list added to itself in a loop grows without an instruction).
#ifndef FOLIO_TEXT_TEMPLATE_TRIAL_H_
#define FOLIO_TEXT_TEMPLATE_TRIAL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

inline constexpr std::size_t kMostTemplateBytes = std::size_t{64} << 10;
inline constexpr std::uint64_t kTemplateFuel = 2'000'000;

struct TrialResult {
  // Whether it prints the text of a content that is a list of parts.
  bool takes_parts = false;
};

// Compiles and renders `source` in a child process; an error if it doesn't compile, or if it is
// stopped by a limit or a crash. An exception that the template itself raises is no fault: many
// refuse a system message.
//
// The child of fork() in a program with threads may call what another thread held a lock of. It
// only allocates (glibc keeps its allocator usable after fork), creates one thread and computes;
// should it hang all the same, the parent kills it after a few seconds of wall time.
Result<TrialResult> TryTemplate(std::string_view source, const std::string& name,
                                std::string_view bos_token, std::string_view eos_token);

}  // namespace folio

#endif  // FOLIO_TEXT_TEMPLATE_TRIAL_H_
