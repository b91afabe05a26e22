#include "server/endpoints.h"

#include <algorithm>
#include <vector>

namespace folio {
namespace {

std::vector<ApiRoute> Collect() {
  std::vector<ApiRoute> all;
  for (const auto part :
       {OpenAiRoutes(), AnthropicRoutes(), ResponsesRoutes(), CacheRoutes(), PlainRoutes()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const ApiRoute> Routes() {
  static const std::vector<ApiRoute> kRoutes = Collect();
  return kRoutes;
}

std::string LastSegment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string_view QueryField(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), field.size() + 1));
    if (field.starts_with(name) && field.substr(name.size()).starts_with('=')) {
      return field.substr(name.size() + 1);
    }
  }
  return {};
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
