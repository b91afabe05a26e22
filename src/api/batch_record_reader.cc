#include <cstdint>
#include <utility>
#include <vector>

#include "api/batch_format.h"

namespace folio {
namespace {

constexpr std::size_t kDeepest = 64;

// Follows where in the document each value stands and keeps the few that a head consists of.
class HeadReader {
 public:
  BatchRecordHead TakeHead() { return std::move(head_); }
  bool complete() const { return has_id_ && has_error_; }

  bool null() { return Scalar(); }
  bool boolean(bool) { return Scalar(); }
  bool number_integer(std::int64_t) { return Scalar(); }
  bool number_unsigned(std::uint64_t value) {
    if (IsAt("response", "status_code")) head_.answered = value == 200;
    return Scalar();
  }
  bool number_float(double, const std::string&) { return Scalar(); }
  bool string(std::string& value) {
    if (IsAt("id")) {
      has_id_ = value.starts_with(kPrefix);
      if (has_id_) head_.id = value.substr(kPrefix.size());
    } else if (IsAt("custom_id")) {
      head_.custom_id = value;
    } else if (IsAt("response", "body", "model")) {
      head_.model = value;
    }
    return Scalar();
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(); }
  bool start_array(std::size_t) { return Open(); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    path_.back() = name;
    return true;
  }
  template <typename Exception>
  bool parse_error(std::size_t, const std::string&, const Exception&) {
    return false;
  }

 private:
  static constexpr std::string_view kPrefix = "batch_req_";

  template <typename... Names>
  bool IsAt(Names... names) const {
    return path_ == std::vector<std::string>{names...};
  }
  bool Scalar() {
    if (IsAt("error")) has_error_ = true;
    return true;
  }
  bool Open() {
    if (IsAt("error")) has_error_ = true;
    if (path_.size() == kDeepest) return false;
    path_.emplace_back();
    return true;
  }
  bool Close() {
    path_.pop_back();
    return true;
  }

  std::vector<std::string> path_;  // the member that is being read, of each level
  BatchRecordHead head_;
  bool has_id_ = false;
  bool has_error_ = false;
};

}  // namespace

Result<BatchRecordHead> ReadBatchRecord(std::string_view line) {
  HeadReader reader;
  if (!line.starts_with(kBatchRecordStart) || !Json::sax_parse(line, &reader) ||
      !reader.complete()) {
    return InputError("", "", "is no record of a batch");
  }
  return reader.TakeHead();
}

}  // namespace folio
