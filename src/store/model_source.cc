#include "store/model_source.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "store/file_name.h"

namespace folio {
namespace {

constexpr std::string_view kHub = "hf:";

bool IsRepoPart(std::string_view part) {
  if (part.empty() || part.size() > 96 || part == "." || part == "..") return false;
  return std::ranges::all_of(part, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

Result<ModelSource> ParseHub(std::string_view source) {
  std::string_view rest = source.substr(kHub.size());
  std::string_view quant;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    quant = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (quant.empty()) return UsageError(std::string(source), "QUANT", "is empty after the colon");
  }
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !IsRepoPart(rest.substr(0, slash)) ||
      !IsRepoPart(rest.substr(slash + 1))) {
    return UsageError(std::string(source), "source", "is not of the form hf:ORG/REPO[:QUANT]");
  }
  return HubSource{std::string(rest), std::string(quant)};
}

std::string DecodePercent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* const digits = text.data() + i + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
      if (error == std::errc() && end == digits + 2) {
        decoded += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

// The authority's start and end in `url`, or nothing.
std::optional<std::pair<std::size_t, std::size_t>> Authority(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  const std::size_t start = scheme + 3;
  return std::pair(start, std::min(url.find_first_of("/?#", start), url.size()));
}

std::size_t HostStart(std::string_view url, std::size_t start, std::size_t end) {
  const std::size_t at = url.substr(start, end - start).rfind('@');
  return at == std::string_view::npos ? start : start + at + 1;
}

Result<ModelSource> ParseUrl(std::string_view source) {
  const auto authority = Authority(source);
  const std::string shown = ShownUrl(source);
  if (!authority || authority->first == authority->second) {
    return UsageError(shown, "source", "is not a URL");
  }
  const std::string_view path = std::string_view(shown).substr(
      std::min(shown.size(), shown.find('/', shown.find("://") + 3)));
  const std::string name = DecodePercent(path.substr(path.rfind('/') + 1));
  if (name.find('/') != std::string::npos) {
    return UsageError(shown, "file name", "'" + name + "' is refused as unsafe");
  }
  if (!name.ends_with(".gguf") || name.size() == 5) {
    return UsageError(shown, "source", "does not name a .gguf file");
  }
  if (const Status safe = CheckRelativeName(name, shown); !safe) {
    return std::unexpected(safe.error());
  }
  return UrlSource{std::string(source), name};
}

}  // namespace

Result<ModelSource> ParseModelSource(std::string_view source) {
  if (source.starts_with(kHub)) return ParseHub(source);
  if (source.starts_with("https://") || source.starts_with("http://")) return ParseUrl(source);
  return UsageError(ShownUrl(source), "source",
                    "is neither hf:ORG/REPO[:QUANT] nor an http(s) URL");
}

std::string ShownUrl(std::string_view url) {
  const auto authority = Authority(url);
  if (!authority) return std::string(url.substr(0, url.find_first_of("?#")));
  const auto [start, end] = *authority;
  const std::size_t host = HostStart(url, start, end);
  const std::size_t stop = std::min(url.find_first_of("?#", start), url.size());
  return std::string(url.substr(0, start)) + std::string(url.substr(host, stop - host));
}

std::string UrlOrigin(std::string_view url) {
  const auto authority = Authority(url);
  if (!authority) return {};
  const auto [start, end] = *authority;
  const std::size_t host = HostStart(url, start, end);
  std::string origin =
      std::string(url.substr(0, start)) + std::string(url.substr(host, end - host));
  std::ranges::transform(origin, origin.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view default_port = origin.starts_with("https:") ? ":443" : ":80";
  if (origin.ends_with(default_port)) origin.resize(origin.size() - default_port.size());
  return origin;
}

std::string EncodePath(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (byte < 0x80 && std::isalnum(byte) != 0) || std::string_view("-._~/").contains(c);
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

}  // namespace folio
