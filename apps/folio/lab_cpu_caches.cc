#include "folio/lab_cpu_caches.h"

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace folio {
namespace {

std::string CacheFact(int index, const char* fact) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/" +
                     fact);
  std::string text;
  std::getline(file, text);
  return text;
}

// The number that all of `text` is; 0 if it is none.
std::size_t Whole(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// "32K", as the system writes it.
std::size_t Bytes(std::string_view size) {
  return size.ends_with('K') ? Whole(size.substr(0, size.size() - 1)) << 10 : 0;
}

}  // namespace

std::vector<CpuCache> DataCaches() {
  constexpr int kMostCaches = 8;
  std::vector<CpuCache> caches;
  for (int index = 0; index < kMostCaches; ++index) {
    const CpuCache cache{.level = static_cast<int>(Whole(CacheFact(index, "level"))),
                         .bytes = Bytes(CacheFact(index, "size"))};
    if (cache.bytes > 0 && CacheFact(index, "type") != "Instruction") caches.push_back(cache);
  }
  return caches;
}

}  // namespace folio
