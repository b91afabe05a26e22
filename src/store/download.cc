#include "store/download.h"

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>

#include "base/checked.h"
#include "base/sha256.h"
#include "store/part_file.h"

namespace folio {
namespace {

// An attempt to bring `part` to its end. Keeps what the server said for the checks afterwards.
class Attempt {
 public:
  Attempt(const DownloadJob& job, PartFile& part, const ProgressHandler& progress)
      : job_(job), part_(part), progress_(progress), total_(job.bytes) {}

  std::expected<void, HttpError> Run(const HttpClient& client) {
    HttpRequest request{.url = job_.url, .offset = 0, .if_range = {}};
    // Without a validator only a checksum known beforehand can tell that the pieces fit.
    if (part_.size() > 0 && (!part_.etag().empty() || !job_.sha256.empty())) {
      request.offset = part_.size();
      request.if_range = part_.etag();
    }
    asked_from_ = request.offset;
    return client.Get(
        request, [this](const HttpHead& head) { return TakeHead(head); },
        [this](std::span<const char> bytes) { return TakeBody(bytes); });
  }

  bool resumed() const { return resumed_; }
  bool already_whole() const { return already_whole_; }
  const std::optional<std::uint64_t>& total() const { return total_; }
  // The server's checksum, or an empty string.
  const std::string& linked_sha256() const { return linked_sha256_; }

 private:
  Result<bool> TakeHead(const HttpHead& head) {
    linked_sha256_ = Unquoted(head.linked_etag);
    if (!IsSha256Hex(linked_sha256_)) linked_sha256_.clear();
    if (head.status == 416) return RangeRefused(head);
    std::optional<std::uint64_t> total = head.content_length;
    resumed_ = head.status == 206;
    if (resumed_) {
      if (head.range_start != asked_from_) {
        return RuntimeError(ShownUrl(job_.url), "Content-Range",
                            "is not the range that was asked for");
      }
      total = head.range_total;
    } else if (const Status restarted = part_.Restart(head.etag); !restarted) {
      return std::unexpected(restarted.error());
    }
    if (job_.bytes && total && *total != *job_.bytes) {
      return RuntimeError(
          ShownUrl(job_.url), "size",
          "is " + std::to_string(*total) + " bytes, but should be " + std::to_string(*job_.bytes));
    }
    if (total) total_ = total;
    if (total_ && *total_ > part_.size()) {
      const Status space = CheckFreeSpace(job_.path, *total_ - part_.size());
      if (!space) return std::unexpected(space.error());
    }
    return true;
  }

  // 416: nothing lies beyond what we have. Whole, if the server's size is ours.
  Result<bool> RangeRefused(const HttpHead& head) {
    already_whole_ = head.range_total && *head.range_total == part_.size();
    if (already_whole_) {
      total_ = head.range_total;
      return false;
    }
    part_.Discard();
    return RuntimeError(ShownUrl(job_.url), "resume",
                        "the server refuses to go on; the partial file is removed, try again");
  }

  Status TakeBody(std::span<const char> bytes) {
    const auto after = CheckedAdd<std::uint64_t>(part_.size(), bytes.size());
    if (total_ && (!after || *after > *total_)) {
      return RuntimeError(
          ShownUrl(job_.url), "size",
          "the server sends more than the " + std::to_string(*total_) + " bytes it announced");
    }
    if (Status appended = part_.Append(bytes); !appended) return appended;
    if (progress_) progress_({job_.path, part_.size(), total_});
    return {};
  }

  static std::string Unquoted(const std::string& etag) {
    if (etag.size() < 2 || etag.front() != '"' || etag.back() != '"') return etag;
    return etag.substr(1, etag.size() - 2);
  }

  const DownloadJob& job_;
  PartFile& part_;
  const ProgressHandler& progress_;
  std::optional<std::uint64_t> total_;
  std::string linked_sha256_;
  std::uint64_t asked_from_ = 0;
  bool resumed_ = false;
  bool already_whole_ = false;
};

std::string LowerCase(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// What the whole file must be; the hash it has, if it is.
Result<PulledFile> Check(const DownloadJob& job, const Attempt& attempt, PartFile& part) {
  if (attempt.total() && *attempt.total() != part.size()) {
    return RuntimeError(ShownUrl(job.url), "size",
                        "has " + std::to_string(part.size()) + " of " +
                            std::to_string(*attempt.total()) + " bytes");
  }
  PulledFile file{.path = job.path, .bytes = part.size(), .sha256 = part.FinishHash()};
  const std::string expected = LowerCase(job.sha256.empty() ? attempt.linked_sha256() : job.sha256);
  if (!expected.empty() && file.sha256 != expected) {
    return RuntimeError(
        ShownUrl(job.url), "SHA-256",
        "is " + file.sha256 + ", but should be " + expected + "; the file is removed");
  }
  file.verified = !expected.empty();
  const Result<bool> gguf = part.StartsAsGguf();
  if (!gguf) return std::unexpected(gguf.error());
  if (!*gguf) return InputError(ShownUrl(job.url), "magic", "what was sent is not a GGUF file");
  return file;
}

}  // namespace

Result<PulledFile> Download(const HttpClient& client, const DownloadJob& job,
                            const PullOptions& options, const ProgressHandler& progress) {
  Result<PartFile> part = PartFile::Open(job.path);
  if (!part) return std::unexpected(part.error());
  auto wait = options.wait;
  bool restarted = false;
  for (int tries = 1;; ++tries) {
    const std::uint64_t before = part->size();
    Attempt attempt(job, *part, progress);
    if (const auto done = attempt.Run(client); !done) {
      if (part->size() > before) tries = 1;  // it moved: the count is of failures in a row
      if (!done.error().transient || tries >= options.attempts) {
        return std::unexpected(done.error().error);
      }
      std::this_thread::sleep_for(wait);
      wait = std::min(2 * wait, std::chrono::milliseconds(8000));
      continue;
    }
    Result<PulledFile> file = Check(job, attempt, *part);
    if (file) {
      if (const Status placed = part->Commit(); !placed) return std::unexpected(placed.error());
      return file;
    }
    // The pieces of different runs did not fit: once, from the start.
    if ((attempt.resumed() || attempt.already_whole()) && !restarted) {
      restarted = true;
      if (const Status empty = part->Restart(""); !empty) return std::unexpected(empty.error());
      continue;
    }
    part->Discard();
    return file;
  }
}

}  // namespace folio
