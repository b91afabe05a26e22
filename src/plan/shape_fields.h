// The numbers of a config.json, each within bounds; the first error is kept and names the file and
// the field. What the file leaves to its class's defaults is taken from these and noted.
#ifndef FOLIO_PLAN_SHAPE_FIELDS_H_
#define FOLIO_PLAN_SHAPE_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/huggingface/config_fields.h"

namespace folio {

class ShapeFields {
 public:
  explicit ShapeFields(ConfigFields fields) : fields_(std::move(fields)) {}

  bool Has(std::string_view field) const { return fields_.Has(field); }
  // A size of 1 to kLargestDim; of tokens, to kLargestContext; of a vocabulary, to 2^24.
  std::int64_t Size(std::string_view field);
  std::int64_t SizeOr(std::string_view field, std::int64_t fallback);
  // As SizeOr, and a note if the field is not there.
  std::int64_t SizeByClass(std::string_view field, std::int64_t fallback);
  // A number from 0 on.
  std::int64_t CountOr(std::string_view field, std::int64_t fallback);
  std::int64_t Vocabulary(std::string_view field);
  std::int64_t Tokens(std::string_view field);
  std::int64_t TokensOr(std::string_view field, std::int64_t fallback);
  bool FlagOr(std::string_view field, bool fallback) { return fields_.BoolOr(field, fallback); }
  std::string WordOr(std::string_view field, std::string_view fallback) {
    return fields_.StringOr(field, fallback);
  }
  // The first of these fields that is there, else the first.
  std::string_view AnyOf(std::initializer_list<std::string_view> names) const;
  // A list of words or of numbers; `length` of them unless that is 0.
  std::vector<std::string> Words(std::string_view field, std::int64_t length);
  std::vector<std::int64_t> Numbers(std::string_view field, std::int64_t length);

  const Json* Find(std::string_view field) const { return fields_.Find(field); }
  ShapeFields Object(std::string_view field) const { return ShapeFields(fields_.Object(field)); }
  void Take(const ShapeFields& inner) { fields_.Take(inner.fields_); }
  void Refuse(std::string_view field, std::string why) { fields_.Refuse(field, std::move(why)); }
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  const Status& status() const { return fields_.status(); }
  const std::string& path() const { return fields_.path(); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::int64_t Within(std::string_view field, std::uint64_t value, std::uint64_t least,
                      std::uint64_t most);

  ConfigFields fields_;
  std::vector<std::string> notes_;
};

}  // namespace folio

#endif  // FOLIO_PLAN_SHAPE_FIELDS_H_
