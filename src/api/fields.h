// Reads the members of one JSON object by name, type and range. The first member that is wrong is
// kept as an error that names it by its path ("messages[2].content: is a number"); what is read
// after it no longer matters. A member that is null counts as absent, as clients mean it.
#ifndef FOLIO_API_FIELDS_H_
#define FOLIO_API_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/json.h"

namespace folio {

class Fields {
 public:
  // `object` and `refusal` must outlive this. `path` is empty for the document itself.
  Fields(const Json& object, std::string path, std::optional<Error>& refusal);

  // Nothing where the member is absent or wrong.
  std::optional<std::int64_t> Whole(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<float> Real(std::string_view name, float low, float high);
  std::optional<bool> Flag(std::string_view name);
  std::optional<std::string> Text(std::string_view name);
  const Json* List(std::string_view name);
  const Json* Object(std::string_view name);
  const Json* Find(std::string_view name) const;  // of any type

  void Refuse(std::string_view name, std::string why);
  // Refuses what was found for what it is: "is a number, not WANTED".
  void RefuseKind(std::string_view name, const Json& found, std::string_view wanted);
  bool refused() const { return refusal_->has_value(); }
  std::optional<Error>& refusal() { return *refusal_; }
  // "tools[2].function" for an empty name, else with ".NAME".
  std::string PathOf(std::string_view name) const;

 private:
  const Json* object_;  // null where it is no object
  std::string path_;
  std::optional<Error>* refusal_;
};

// "LIST[i]"
std::string ItemPath(std::string_view list, std::size_t i);

}  // namespace folio

#endif  // FOLIO_API_FIELDS_H_
