#include "folio/expert_report.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "folio/text_table.h"
#include "formats/utf8.h"

namespace folio {
namespace {

constexpr std::size_t kLabelColumns = 14;

std::string Padded(std::string text, std::size_t columns, bool left) {
  const auto is_continuation = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
  };
  const auto characters =
      text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
  const std::size_t blanks = columns - std::min(columns, characters);
  return left ? text + std::string(blanks, ' ') : std::string(blanks, ' ') + text;
}

// A token as a label of at most kLabelColumns characters; what is no text by itself as bytes.
std::string Label(const Tokenizer& tokenizer, TokenId token) {
  const std::string text = ForTerminal(tokenizer.Decode({token}));
  if (IsValidUtf8(text)) return OneLine(text, kLabelColumns);
  std::string bytes;
  for (const char byte : text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    bytes += "\\x";
    bytes += kDigits[value >> 4U];
    bytes += kDigits[value & 15U];
  }
  return OneLine(bytes, kLabelColumns);
}

// A colour of the 6 x 6 x 6 cube for each expert: neighbours far apart, and the text on it
// readable.
std::string Coloured(int expert, const std::string& cell) {
  constexpr int kCube = 216;
  constexpr int kStride = 67;  // has no common factor with the cube
  constexpr int kFirst = 16;
  const int colour = expert * kStride % kCube;
  const int brightness = colour / 36 * 3 + colour / 6 % 6 * 6 + colour % 6;
  const char* const ink = brightness > 24 ? "30" : "97";
  return "\033[" + std::string(ink) + ";48;5;" + std::to_string(kFirst + colour) + "m" + cell +
         "\033[0m";
}

struct Shape {
  std::size_t tokens;
  std::size_t layers;
  std::size_t top_k;

  explicit Shape(const RoutedExperts& routed)
      : tokens(0),
        layers(static_cast<std::size_t>(routed.layers)),
        top_k(static_cast<std::size_t>(routed.top_k)) {
    if (layers * top_k > 0) tokens = routed.experts.size() / (layers * top_k);
  }
};

std::size_t WidestExpert(const RoutedExperts& routed) {
  std::int16_t most = 0;
  for (const std::int16_t expert : routed.experts) most = std::max(most, expert);
  return std::to_string(most).size();
}

}  // namespace

std::string ExpertMap(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                      const RoutedExperts& routed, bool colours) {
  const Shape shape(routed);
  const std::size_t width = WidestExpert(routed) + 1;
  std::string text = "experts: a row for each token, a column for each of " +
                     std::to_string(shape.layers) + " layers, in each cell the best of the " +
                     std::to_string(shape.top_k) + " experts chosen\n";
  for (std::size_t token = 0; token < std::min(shape.tokens, tokens.size()); ++token) {
    text += Padded(Label(tokenizer, tokens[token]), kLabelColumns, /*left=*/true);
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
      const int expert = routed.experts[(token * shape.layers + layer) * shape.top_k];
      if (expert < 0) {
        text += Padded("-", width, /*left=*/false);
        continue;
      }
      const std::string cell = Padded(std::to_string(expert), width, /*left=*/false);
      text += colours ? Coloured(expert, cell) : cell;
    }
    text += "\n";
  }
  return text;
}

std::string ExpertLoadTable(std::span<const ExpertLoadSnapshot> loads) {
  TextTable table("rrrrrrr");
  table.Add({"layer", "tokens", "busiest", "its share", "unused", "E sum fP", "entropy"});
  for (const ExpertLoadSnapshot& load : loads) {
    const auto busiest = std::ranges::max_element(load.chosen);
    std::int64_t choices = 0;
    for (const std::int64_t count : load.chosen) choices += count;
    const double share =
        choices == 0 ? 0 : 100.0 * static_cast<double>(*busiest) / static_cast<double>(choices);
    table.Add({std::to_string(load.layer), Grouped(load.tokens),
               std::to_string(busiest - load.chosen.begin()), Decimal(share, 1) + " %",
               std::to_string(std::ranges::count(load.chosen, 0)), Decimal(load.balance_loss, 3),
               Decimal(load.entropy, 3)});
  }
  std::string text =
      "load: how each router spread its tokens since the start; none are ever dropped\n";
  for (const std::string& line : table.Lines()) text += line + "\n";
  return text;
}

OutputJson RoutedExpertsJson(const RoutedExperts& routed) {
  const Shape shape(routed);
  OutputJson tokens = OutputJson::array();
  std::size_t at = 0;
  for (std::size_t token = 0; token < shape.tokens; ++token) {
    if (routed.experts[at] < 0) {
      tokens.push_back(nullptr);
      at += shape.layers * shape.top_k;
      continue;
    }
    OutputJson layers = OutputJson::array();
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
      OutputJson chosen = OutputJson::array();
      for (std::size_t i = 0; i < shape.top_k; ++i) chosen.push_back(routed.experts[at++]);
      layers.push_back(std::move(chosen));
    }
    tokens.push_back(std::move(layers));
  }
  return tokens;
}

OutputJson ExpertLoadsJson(std::span<const ExpertLoadSnapshot> loads) {
  OutputJson json = OutputJson::array();
  for (const ExpertLoadSnapshot& load : loads) {
    json.push_back({{"layer", load.layer},
                    {"tokens", load.tokens},
                    {"chosen", load.chosen},
                    {"mean_scores", load.mean_scores},
                    {"balance_loss", load.balance_loss},
                    {"entropy", load.entropy},
                    {"dropped_tokens", 0}});
  }
  return json;
}

std::string ExpertCacheLine(const ExpertCacheSnapshot& cache) {
  const std::uint64_t lookups = cache.hits + cache.misses;
  const double share =
      lookups == 0 ? 0 : 100.0 * static_cast<double>(cache.hits) / static_cast<double>(lookups);
  return "expert cache: " + Grouped(cache.resident) + " of " + Grouped(cache.experts) +
         " in memory (" + Grouped(cache.slots) + " fit); " + Decimal(share, 1) + " % of " +
         Grouped(lookups) + " were there when they were needed; " + HumanBytes(cache.bytes_read) +
         " read, " + Decimal(cache.wait_seconds, 2) + " s waited for\n";
}

OutputJson ExpertCacheJson(const ExpertCacheSnapshot& cache) {
  return {{"experts", cache.experts},
          {"slots", cache.slots},
          {"resident", cache.resident},
          {"hits", cache.hits},
          {"misses", cache.misses},
          {"bytes_read", cache.bytes_read},
          {"wait_seconds", cache.wait_seconds}};
}

}  // namespace folio
