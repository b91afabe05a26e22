// The text of a custom tool's call, taken out of the JSON in which the model writes it
// ({"input": "..."}, see api/tool.h) while that is being written.
#ifndef FOLIO_API_CUSTOM_TOOL_INPUT_H_
#define FOLIO_API_CUSTOM_TOOL_INPUT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace folio {

class CustomToolInput {
 public:
  // More of the JSON; what is known of the text now. What an escape stands for is told once it is
  // whole; a surrogate without its other half becomes U+FFFD.
  std::string Add(std::string_view json);
  // There is no more. The text that was not told yet: all of it where the JSON has another form (a
  // string alone, "input" behind other members, no JSON at all: then the text as it is).
  std::string End();

 private:
  enum class State : std::uint8_t { kBefore, kInside, kAfter, kOther };

  void Advance(std::string& text);
  // Moves past the opening quote of the text; false: not yet, or never (kOther).
  bool FindText();
  // One character or escape at `next_`, if it is whole.
  bool TakeOne(std::string& text);
  bool TakeEscape(std::string& text);
  void TakeUnit(std::uint32_t unit, std::string& text);
  void FlushSurrogate(std::string& text);

  State state_ = State::kBefore;
  std::string json_;        // all of it
  std::size_t next_ = 0;    // the first byte not read yet, from kInside on
  std::uint32_t high_ = 0;  // a high surrogate that waits for its other half
};

}  // namespace folio

#endif  // FOLIO_API_CUSTOM_TOOL_INPUT_H_
