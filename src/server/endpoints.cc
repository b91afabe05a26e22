#include "server/endpoints.h"

#include <vector>

namespace folio {
namespace {

std::vector<Route> Collect() {
  std::vector<Route> all;
  for (const auto part : {OpenAiRoutes(), AnthropicRoutes(), ResponsesRoutes(), PlainRoutes()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const Route> Routes() {
  static const std::vector<Route> kRoutes = Collect();
  return kRoutes;
}

std::string LastSegment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool MatchesPath(std::string_view pattern, std::string_view path) {
  constexpr std::string_view kAny = "{id}";
  const std::size_t any = pattern.find(kAny);
  if (any == std::string_view::npos) return pattern == path;
  const std::string_view after = pattern.substr(any + kAny.size());
  if (!path.starts_with(pattern.substr(0, any)) || !path.ends_with(after)) return false;
  if (path.size() <= any + after.size()) return false;
  const std::string_view segment = path.substr(any, path.size() - any - after.size());
  return segment.find('/') == std::string_view::npos;
}

}  // namespace folio
