#include "plan/json_duplicates.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "formats/json.h"

namespace folio {
namespace {

// Walks a document without building it, and writes each value as a text to compare. Every event
// returns false to end the walk.
class Walk {
 public:
  const std::optional<std::string>& found() const { return found_; }

  bool null() { return Add("null"); }
  bool boolean(bool value) { return Add(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return Add(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return Add(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return Add(text); }
  bool string(std::string& value) { return Add(DumpJson(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open("{"); }
  bool start_array(std::size_t) { return Open("["); }
  bool end_object() { return Close("}"); }
  bool end_array() { return Close("]"); }
  bool key(std::string& name) {
    open_.back().member = name;
    return true;
  }
  template <typename Exception>
  bool parse_error(std::size_t, const std::string&, const Exception&) {
    return false;
  }

 private:
  struct Container {
    std::string text;
    std::string member;  // of an object: the one whose value comes next
    std::map<std::string, std::string> members;
  };

  bool Open(const char* bracket) {
    open_.emplace_back().text = bracket;
    return true;
  }
  bool Close(const char* bracket) {
    const std::string text = open_.back().text + bracket;
    open_.pop_back();
    return Add(text);
  }
  bool Add(const std::string& value) {
    if (open_.empty()) return true;
    Container& container = open_.back();
    if (container.text.front() == '[') {
      container.text += value + ",";
      return true;
    }
    const auto [member, is_new] = container.members.emplace(container.member, value);
    if (!is_new && member->second != value) {
      found_ = Path();
      return false;
    }
    if (is_new) container.text += DumpJson(container.member) + ":" + value + ",";
    return true;
  }
  std::string Path() const {
    std::string path;
    for (const Container& container : open_) {
      if (!path.empty() && !container.member.empty()) path += ".";
      path += container.member;
    }
    return path;
  }

  std::vector<Container> open_;
  std::optional<std::string> found_;
};

}  // namespace

std::optional<std::string> FindContradiction(std::string_view text) {
  Walk walk;
  Json::sax_parse(text, &walk);
  return walk.found();
}

}  // namespace folio
