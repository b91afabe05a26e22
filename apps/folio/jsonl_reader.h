// Reads a file line by line, in bounded memory however long a line is.
#ifndef FOLIO_APPS_FOLIO_JSONL_READER_H_
#define FOLIO_APPS_FOLIO_JSONL_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

class JsonlReader {
 public:
  struct Line {
    std::string_view text;    // without its newline; the first `most_bytes` of a longer one
    std::int64_t number = 0;  // from 1
    std::uint64_t start = 0;  // offset in the file
    std::uint64_t bytes = 0;  // the whole line's, without its newline
    bool terminated = false;  // false: the file ends without a newline

    bool whole() const { return text.size() == bytes; }
    bool blank() const { return text.find_first_not_of(" \t\r") == text.npos && whole(); }
  };

  // A regular file: an input is read twice.
  static Result<JsonlReader> Open(const std::string& path, std::size_t most_bytes);

  // The next line, or nothing at the end; `text` is valid until the next call.
  Result<std::optional<Line>> Next();
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  JsonlReader(std::string path, std::size_t most_bytes)
      : path_(std::move(path)), most_bytes_(most_bytes) {}
  // False at the end of the file.
  Result<bool> Fill();

  std::string path_;
  std::size_t most_bytes_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string chunk_;   // what was read last
  std::size_t at_ = 0;  // of chunk_, where the next line goes on
  std::string line_;
  std::int64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_JSONL_READER_H_
