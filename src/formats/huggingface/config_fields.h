// Typed access to the fields of a configuration file (config.json). The first error is kept, so
// that reads stay one line each; it names the file, the field and the value.
#ifndef FOLIO_FORMATS_HUGGINGFACE_CONFIG_FIELDS_H_
#define FOLIO_FORMATS_HUGGINGFACE_CONFIG_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/json.h"

namespace folio {

class ConfigFields {
 public:
  // `object` must outlive it; where it is no object, that is the first error.
  ConfigFields(std::string path, const Json& object);

  // A field that is null counts as absent.
  bool Has(std::string_view field) const { return Find(field) != nullptr; }
  const Json* Find(std::string_view field) const;

  // What can't be read comes as 0, "" or nothing.
  std::uint64_t Uint(std::string_view field);
  std::uint64_t UintOr(std::string_view field, std::uint64_t fallback);
  double Float(std::string_view field);
  double FloatOr(std::string_view field, double fallback);
  bool BoolOr(std::string_view field, bool fallback);
  std::string StringOr(std::string_view field, std::string_view fallback);
  // A list of numbers.
  std::vector<float> Floats(std::string_view field);

  // The object in a field, or an empty one. Its errors become this one's by Take.
  ConfigFields Object(std::string_view field) const;
  void Take(const ConfigFields& inner);

  // What Folio has no code for is refused: a flag that is set, a number or a list that is there, a
  // word that is another.
  void RequireFalse(std::string_view field);
  void RequireAbsent(std::string_view field);
  void RequireWord(std::string_view field, std::string_view fallback,
                   std::initializer_list<std::string_view> allowed);

  void Refuse(std::string_view field, std::string why);
  const Status& status() const { return status_; }
  const std::string& path() const { return path_; }

 private:
  ConfigFields(std::string path, std::string prefix, const Json& object);
  void RefuseKind(std::string_view field, const Json& value, std::string_view needed);

  std::string path_;
  std::string prefix_;  // of the fields' names in errors: "rope_scaling."
  const Json* object_;
  Status status_;
};

// A value for an error: the number, the word in quotes, or its kind.
std::string DescribeJson(const Json& value);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_CONFIG_FIELDS_H_
