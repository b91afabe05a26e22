#include "model/config_reader.h"

#include <utility>

namespace folio {

std::int64_t ConfigReader::Int(const char* suffix, std::uint64_t least, std::uint64_t most) {
  return Checked(suffix, file_->GetUint(prefix_ + suffix), least, most);
}

std::int64_t ConfigReader::IntOr(const char* suffix, std::int64_t fallback, std::uint64_t least,
                                 std::uint64_t most) {
  return Checked(suffix, file_->GetUintOr(prefix_ + suffix, static_cast<std::uint64_t>(fallback)),
                 least, most);
}

double ConfigReader::Float(const char* suffix, double least, double most) {
  return Checked(suffix, file_->GetFloat(prefix_ + suffix), least, most);
}

double ConfigReader::FloatOr(const char* suffix, double fallback, double least, double most) {
  return Checked(suffix, file_->GetFloatOr(prefix_ + suffix, fallback), least, most);
}

bool ConfigReader::BoolOr(const char* suffix, bool fallback) {
  const Result<bool> value = file_->GetBoolOr(prefix_ + suffix, fallback);
  if (!value) {
    Fail(value.error());
    return fallback;
  }
  return *value;
}

std::string_view ConfigReader::StringOr(const char* suffix, std::string_view fallback) {
  const Result<std::string_view> value = file_->GetStringOr(prefix_ + suffix, fallback);
  if (!value) {
    Fail(value.error());
    return fallback;
  }
  return *value;
}

bool ConfigReader::Has(const char* suffix) const {
  return file_->Find(prefix_ + suffix) != nullptr;
}

void ConfigReader::Refuse(const char* suffix, std::string why) {
  Fail(
      Error{ErrorKind::kInput, file_->path(), file_->SourceName(prefix_ + suffix), std::move(why)});
}

void ConfigReader::Fail(Error error) {
  if (status_) status_ = std::unexpected(std::move(error));
}

std::int64_t ConfigReader::Checked(const char* suffix, const Result<std::uint64_t>& value,
                                   std::uint64_t least, std::uint64_t most) {
  if (!value) {
    Fail(value.error());
    return static_cast<std::int64_t>(least);
  }
  if (*value < least || *value > most) {
    Refuse(suffix, "is " + std::to_string(*value) + ", must be from " + std::to_string(least) +
                       " to " + std::to_string(most));
    return static_cast<std::int64_t>(least);
  }
  return static_cast<std::int64_t>(*value);
}

double ConfigReader::Checked(const char* suffix, const Result<double>& value, double least,
                             double most) {
  if (!value) {
    Fail(value.error());
    return least;
  }
  if (!(*value >= least && *value <= most)) {  // also refuses NaN
    Refuse(suffix, "is " + std::to_string(*value) + ", must be from " + std::to_string(least) +
                       " to " + std::to_string(most));
    return least;
  }
  return *value;
}

}  // namespace folio
