#include "plan/shape_fields.h"

#include "model/config_reader.h"

namespace folio {
namespace {

constexpr std::uint64_t kLargestVocabulary = std::uint64_t{1} << 24;

}  // namespace

std::int64_t ShapeFields::Within(std::string_view field, std::uint64_t value, std::uint64_t least,
                                 std::uint64_t most) {
  if (value >= least && value <= most) return static_cast<std::int64_t>(value);
  if (status()) {
    Refuse(field, "is " + std::to_string(value) + "; from " + std::to_string(least) + " to " +
                      std::to_string(most) + " is needed");
  }
  return static_cast<std::int64_t>(least);
}

std::int64_t ShapeFields::Size(std::string_view field) {
  return Within(field, fields_.Uint(field), 1, kLargestDim);
}

std::int64_t ShapeFields::SizeOr(std::string_view field, std::int64_t fallback) {
  return Has(field) ? Size(field) : fallback;
}

std::int64_t ShapeFields::SizeByClass(std::string_view field, std::int64_t fallback) {
  if (!Has(field)) {
    Note(std::string(field) + " is not in the file; its class's default is " +
         std::to_string(fallback));
  }
  return SizeOr(field, fallback);
}

std::int64_t ShapeFields::CountOr(std::string_view field, std::int64_t fallback) {
  return Has(field) ? Within(field, fields_.Uint(field), 0, kLargestDim) : fallback;
}

std::int64_t ShapeFields::Vocabulary(std::string_view field) {
  return Within(field, fields_.Uint(field), 1, kLargestVocabulary);
}

std::int64_t ShapeFields::Tokens(std::string_view field) {
  return Within(field, fields_.Uint(field), 1, kLargestContext);
}

std::int64_t ShapeFields::TokensOr(std::string_view field, std::int64_t fallback) {
  return Has(field) ? Tokens(field) : fallback;
}

std::string_view ShapeFields::AnyOf(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (Has(name)) return name;
  }
  return *names.begin();
}

std::vector<std::string> ShapeFields::Words(std::string_view field, std::int64_t length) {
  const Json* list = Find(field);
  std::vector<std::string> words;
  if (list == nullptr || !list->is_array()) {
    Refuse(field,
           list == nullptr ? "is missing" : "is " + DescribeJson(*list) + "; a list is needed");
    return words;
  }
  for (const Json& item : *list) {
    if (!item.is_string()) {
      Refuse(field, "has " + DescribeJson(item) + "; words are needed");
      return words;
    }
    words.push_back(item.get<std::string>());
  }
  if (length != 0 && static_cast<std::int64_t>(words.size()) != length) {
    Refuse(field, "has " + std::to_string(words.size()) + " entries for " + std::to_string(length) +
                      " layers");
  }
  return words;
}

std::vector<std::int64_t> ShapeFields::Numbers(std::string_view field, std::int64_t length) {
  const Json* list = Find(field);
  std::vector<std::int64_t> numbers;
  if (list == nullptr || !list->is_array()) {
    Refuse(field,
           list == nullptr ? "is missing" : "is " + DescribeJson(*list) + "; a list is needed");
    return numbers;
  }
  for (const Json& item : *list) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kLargestDim) {
      Refuse(field, "has " + DescribeJson(item) + "; whole numbers from 0 to " +
                        std::to_string(kLargestDim) + " are needed");
      return numbers;
    }
    numbers.push_back(item.get<std::int64_t>());
  }
  if (length != 0 && static_cast<std::int64_t>(numbers.size()) != length) {
    Refuse(field, "has " + std::to_string(numbers.size()) + " entries for " +
                      std::to_string(length) + " layers");
  }
  return numbers;
}

}  // namespace folio
