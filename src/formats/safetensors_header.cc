#include "formats/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/metadata_value.h"
#include "formats/safetensors.h"

namespace folio {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

// Takes the parser's events; each returns false to end the walk, with the reason kept. Where the
// walk is tells `place_`.
class HeaderWalk {
 public:
  explicit HeaderWalk(const std::string& path) : path_(path) {}

  const Status& status() const { return status_; }
  std::vector<SafetensorsEntry>& entries() { return entries_; }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::kStart:
        return Go(Place::kNames);
      case Place::kName:
        return Go(Place::kMembers);
      case Place::kMetadata:
        return Go(Place::kMetadataKeys);
      default:
        return Unexpected("an object");
    }
  }
  bool end_object() {
    if (place_ == Place::kMembers && !IsWhole()) return false;
    return Go(place_ == Place::kNames ? Place::kEnd : Place::kNames);
  }
  bool key(std::string& name) {
    switch (place_) {
      case Place::kNames:
        return StartEntry(name);
      case Place::kMembers:
        return StartMember(name);
      default:
        return Go(Place::kMetadataValue);
    }
  }
  bool start_array(std::size_t) {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return Unexpected("a list");
    return Go(place_ == Place::kShape ? Place::kSizes : Place::kOffset);
  }
  bool end_array() { return Go(Place::kMembers); }
  bool number_unsigned(std::uint64_t number) {
    if (place_ == Place::kSizes)
      return Append(number, kMaxSafetensorsDims, "shape", entries_.back().shape);
    if (place_ == Place::kOffset) return Append(number, 2, "data_offsets", entries_.back().offsets);
    return Unexpected("the number " + std::to_string(number));
  }
  bool number_integer(std::int64_t number) {
    return Unexpected("the number " + std::to_string(number));
  }
  bool number_float(double, const std::string& text) {
    return Unexpected("the number " + text.substr(0, 40));
  }
  bool string(std::string& text) {
    if (place_ == Place::kMetadataValue) return Go(Place::kMetadataKeys);
    if (place_ != Place::kDtype) return Unexpected("the string " + QuotedExcerpt(text));
    entries_.back().dtype = std::move(text);
    return Go(Place::kMembers);
  }
  bool null() { return Unexpected("null"); }
  bool boolean(bool value) { return Unexpected(value ? "true" : "false"); }
  bool binary(nlohmann::json::binary_t&) { return Unexpected("bytes"); }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    return Fail("header", "byte " + std::to_string(position) + " of it is no JSON");
  }

 private:
  enum class Place {
    kStart,
    kNames,    // before a tensor's name, or the end
    kName,     // behind it
    kMembers,  // of a tensor
    kDtype,
    kShape,
    kSizes,
    kOffsets,
    kOffset,
    kMetadata,
    kMetadataKeys,
    kMetadataValue,
    kEnd,
  };

  bool Go(Place place) {
    place_ = place;
    return true;
  }
  bool Fail(std::string where, std::string why) {
    if (status_) status_ = InputError(path_, std::move(where), std::move(why));
    return false;
  }
  std::string Where() const {
    if (entries_.empty() || place_ == Place::kStart) return "header";
    return "tensor " + entries_.back().name;
  }
  bool Unexpected(const std::string& what) {
    return Fail(Where(), what + " stands where the format has something else");
  }

  bool StartEntry(std::string& name) {
    if (name == kMetadataKey) return Go(Place::kMetadata);
    const bool printable =
        !name.empty() && std::ranges::all_of(name, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (!printable || name.size() > kMaxSafetensorsNameBytes) {
      return Fail("header", "the tensor's name " + QuotedExcerpt(name) +
                                " is not printable ASCII of at most " +
                                std::to_string(kMaxSafetensorsNameBytes) + " bytes");
    }
    if (entries_.size() == kMaxSafetensorsTensors) {
      return Fail("header", "has more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
    }
    entries_.push_back({.name = std::move(name), .dtype = {}, .shape = {}, .offsets = {}});
    members_ = 0;
    return Go(Place::kName);
  }

  bool StartMember(const std::string& name) {
    static constexpr std::pair<std::string_view, Place> kMembers[] = {
        {"dtype", Place::kDtype}, {"shape", Place::kShape}, {"data_offsets", Place::kOffsets}};
    for (unsigned i = 0; i < std::size(kMembers); ++i) {
      if (kMembers[i].first != name) continue;
      if ((members_ & (1U << i)) != 0) return Fail(Where(), "has " + name + " twice");
      members_ |= 1U << i;
      return Go(kMembers[i].second);
    }
    return Fail(Where(),
                "has a member " + QuotedExcerpt(name) + "; known are dtype, shape, data_offsets");
  }

  bool IsWhole() {
    if (members_ != 7U) return Fail(Where(), "lacks dtype, shape or data_offsets");
    if (entries_.back().offsets.size() != 2) return Fail(Where(), "data_offsets are not two");
    return true;
  }

  bool Append(std::uint64_t number, std::size_t most, std::string_view member,
              std::vector<std::uint64_t>& list) {
    if (list.size() == most) {
      return Fail(Where(),
                  std::string(member) + " has more than " + std::to_string(most) + " numbers");
    }
    list.push_back(number);
    return true;
  }

  const std::string& path_;
  Status status_;
  Place place_ = Place::kStart;
  unsigned members_ = 0;  // that the open entry has had, a bit each
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace

Result<std::vector<SafetensorsEntry>> ReadSafetensorsHeader(const std::string& path,
                                                            std::string_view text) {
  HeaderWalk walk(path);
  const bool whole = nlohmann::json::sax_parse(text, &walk);
  if (!walk.status()) return std::unexpected(walk.status().error());
  if (!whole) return InputError(path, "header", "is no JSON");
  return std::move(walk.entries());
}

}  // namespace folio
