#include "folio/input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace folio {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 30;

Result<std::string> ReadAll(std::FILE* file, const std::string& name) {
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  while (true) {
    errno = 0;
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), got);
    if (text.size() > kLongest) return InputError(name, "", "is longer than 1 GiB");
    if (got == buffer.size()) continue;
    if (std::ferror(file) != 0) return RuntimeError(name, "read", std::strerror(errno));
    return text;
  }
}

}  // namespace

Result<std::string> ReadStdin() { return ReadAll(stdin, "stdin"); }

Result<std::string> ReadTextFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return InputError(path, "open", std::strerror(errno));
  return ReadAll(file.get(), path);
}

Result<std::string> TextOrStdin(const std::string& value) {
  if (value == "-") return ReadStdin();
  return value;
}

}  // namespace folio
