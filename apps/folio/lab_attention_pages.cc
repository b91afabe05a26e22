#include "folio/lab_attention_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace folio {
namespace {

constexpr std::size_t kFewestPages = 4;

// A signal handler has no other way to what it works on.
std::atomic<PageTrace*>& Active() {
  static std::atomic<PageTrace*> active;
  return active;
}

}  // namespace

PageTrace::PageTrace(std::span<std::byte> memory, std::size_t pages, std::size_t page_bytes)
    : memory_(memory.data(), (memory.size() + page_bytes - 1) / page_bytes * page_bytes),
      page_bytes_(page_bytes),
      resident_(pages) {}

Result<std::unique_ptr<PageTrace>> PageTrace::Start(std::span<std::byte> memory,
                                                    std::uint64_t fast_bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages =
      std::max(kFewestPages, static_cast<std::size_t>(fast_bytes) / page_bytes);
  std::unique_ptr<PageTrace> trace(new PageTrace(memory, pages, page_bytes));
  PageTrace* none = nullptr;
  if (!Active().compare_exchange_strong(none, trace.get())) {
    return RuntimeError("page trace", "", "another one runs");
  }
  struct sigaction action = {};
  action.sa_sigaction = &PageTrace::OnFault;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSEGV, &action, &trace->before_) != 0 ||
      !trace->Protect(trace->memory_.data(), trace->memory_.size(), PROT_NONE)) {
    return RuntimeError("page trace", "", std::strerror(errno));
  }
  return trace;
}

PageTrace::~PageTrace() {
  if (Active().load() != this) return;
  Protect(memory_.data(), memory_.size(), PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before_, nullptr);
  Active().store(nullptr);
}

bool PageTrace::Protect(std::byte* page, std::size_t bytes, int protection) const {
  return mprotect(page, bytes, protection) == 0;
}

bool PageTrace::Admit(const void* address) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_.data());
  if (offset >= memory_.size()) return false;
  std::byte*& slot = resident_[next_];
  next_ = (next_ + 1) % resident_.size();
  if (slot != nullptr && !Protect(slot, page_bytes_, PROT_NONE)) return false;
  slot = memory_.data() + offset / page_bytes_ * page_bytes_;
  ++came_in_;
  return Protect(slot, page_bytes_, PROT_READ | PROT_WRITE);
}

void PageTrace::OnFault(int signal, siginfo_t* info, void* /*context*/) {
  PageTrace* const trace = Active().load();
  if (trace != nullptr && trace->Admit(info->si_addr)) return;
  // Not ours: the instruction runs again and ends the process as it would have.
  std::signal(signal, SIG_DFL);
}

}  // namespace folio
