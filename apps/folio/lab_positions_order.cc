// Q1: two sentences of the same words in another order, with positions and without.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu/isa.h"
#include "cpu/machine.h"
#include "folio/lab_positions.h"
#include "folio/lab_positions_layer.h"
#include "folio/text_table.h"
#include "model/positions.h"
#include "model/positions/alibi.h"
#include "text/tokenizer.h"

namespace folio {
namespace {

struct Sentences {
  std::vector<TokenId> first;
  std::vector<TokenId> second;
  std::string last;  // the last token's piece
};

// Each word is encoded by itself, so that both have the very same tokens whatever the vocabulary.
Result<Sentences> Encode(const Tokenizer& tokenizer) {
  std::vector<std::vector<TokenId>> words;
  for (const char* word : {" Alice", " hits", " Bob", ".", " Who's", " hurt", "?"}) {
    auto ids = tokenizer.Encode(word, SpecialTokens::kAsText);
    if (!ids) return std::unexpected(ids.error());
    words.push_back(*std::move(ids));
  }
  const auto joined = [&] {
    std::vector<TokenId> tokens;
    if (tokenizer.add_bos() && tokenizer.bos() >= 0) tokens.push_back(tokenizer.bos());
    for (const auto& word : words) tokens.insert(tokens.end(), word.begin(), word.end());
    return tokens;
  };
  Sentences sentences{.first = joined()};
  std::swap(words[0], words[2]);
  sentences.second = joined();
  if (!sentences.first.empty()) sentences.last = tokenizer.TokenPiece(sentences.first.back());
  return sentences;
}

// How far the results of both sentences are apart.
struct Apart {
  double largest = 0;   // difference of an element
  double relative = 0;  // the same over the largest element
  bool same_best = false;
};

Apart Compare(const std::vector<float>& a, const std::vector<float>& b) {
  Apart apart;
  double largest_element = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart.largest = std::max(apart.largest, std::abs(double{a[i]} - double{b[i]}));
    largest_element = std::max(largest_element, std::abs(double{a[i]}));
  }
  apart.relative = largest_element > 0 ? apart.largest / largest_element : 0;
  apart.same_best =
      std::ranges::max_element(a) - a.begin() == std::ranges::max_element(b) - b.begin();
  return apart;
}

OutputJson AsJson(const Apart& apart) {
  return {{"largest_difference", apart.largest}, {"relative", apart.relative}};
}

// One layer's attention, each encoding in turn.
Status AddEncodings(const LabModel& model, const Sentences& sentences, LabStep& step) {
  const ModelConfig& config = model.config;
  const RopeConfig& rope = config.ropes[static_cast<std::size_t>(config.layers[0].rope)];
  const std::vector<PositionEncoding> encodings = {
      NoPositions{}, SinusoidalPositions{},
      RotaryPositions{.rope = MakeRope(rope, config.context_length), .pairs = config.rope_pairs},
      AlibiPositions{.slopes = AlibiSlopes(config.query_heads)}};
  TextTable table("lrr");
  table.Add({"encoding", "largest difference", "of the largest output"});
  step.facts["encodings"] = OutputJson::array();
  for (const PositionEncoding& encoding : encodings) {
    const auto first = AttentionOutput(model, sentences.first, encoding);
    if (!first) return std::unexpected(first.error());
    const auto second = AttentionOutput(model, sentences.second, encoding);
    if (!second) return std::unexpected(second.error());
    const Apart apart = Compare(*first, *second);
    const bool own = std::holds_alternative<RotaryPositions>(encoding);
    table.Add({std::string(EncodingName(encoding)) + (own ? ", the model's own" : ""),
               Significant(apart.largest, 2), Significant(apart.relative, 2)});
    OutputJson json = {{"encoding", EncodingName(encoding)}};
    json.update(AsJson(apart));
    step.facts["encodings"].push_back(std::move(json));
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  return {};
}

// The configuration without its positions: heads of which no element turns.
ModelConfig WithoutPositions(ModelConfig config) {
  for (RopeConfig& rope : config.ropes) rope = {.rotary_dim = 0};
  return config;
}

// The engine's forward pass over the first `layers` layers, without positions and with them.
Status AddForward(const PositionsModel& model, std::size_t layers, const Sentences& sentences,
                  Isa isa, ThreadPool& pool, TextTable& table, OutputJson& facts) {
  ModelConfig config = model.config;
  config.layers.resize(layers);
  const Result<std::unique_ptr<ModelWeights>> weights = LoadWeights(model.file, config, pool);
  if (!weights) return std::unexpected(weights.error());
  for (const bool positions : {false, true}) {
    const ModelConfig used = positions ? config : WithoutPositions(config);
    const LabModel lab{.config = used, .weights = **weights, .isa = isa, .pool = pool};
    const auto first = LastLogits(lab, sentences.first);
    if (!first) return std::unexpected(first.error());
    const auto second = LastLogits(lab, sentences.second);
    if (!second) return std::unexpected(second.error());
    const Apart apart = Compare(*first, *second);
    table.Add({std::to_string(layers), positions ? "the model's" : "none",
               Significant(apart.largest, 2), Significant(apart.relative, 2),
               apart.same_best ? "the same" : "another"});
    OutputJson json = {
        {"layers", layers}, {"positions", positions}, {"same_next", apart.same_best}};
    json.update(AsJson(apart));
    facts.push_back(std::move(json));
  }
  return {};
}

}  // namespace

Result<LabStep> WordOrder(const PositionsModel& model, std::int64_t threads) {
  const Result<Isa> isa = ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  ThreadPool pool(threads > 0 ? static_cast<int>(threads) : NumCores());
  const Result<Tokenizer> tokenizer = Tokenizer::FromModel(model.file);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  const Result<Sentences> sentences = Encode(*tokenizer);
  if (!sentences) return std::unexpected(sentences.error());
  ModelConfig one_layer = model.config;
  one_layer.layers.resize(1);
  const Result<std::unique_ptr<ModelWeights>> weights = LoadWeights(model.file, one_layer, pool);
  if (!weights) return std::unexpected(weights.error());

  LabStep step{.id = "Q1", .title = "who hits whom, without positions and with them"};
  step.facts = {{"model", model.file.path()},
                {"tokens", {sentences->first, sentences->second}},
                {"last_token", sentences->last}};
  step.lines = {"\"Alice hits Bob. Who's hurt?\" and \"Bob hits Alice. Who's hurt?\", in " +
                    model.config.name + ":",
                "the first layer's attention, its output for the last token, how far both "
                "sentences are apart"};
  const LabModel lab{.config = one_layer, .weights = **weights, .isa = *isa, .pool = pool};
  if (const Status added = AddEncodings(lab, *sentences, step); !added)
    return std::unexpected(added.error());
  step.lines.emplace_back("the engine's own forward pass over so many layers, its logits");
  TextTable table("rlrrl");
  table.Add({"layers", "positions", "largest difference", "of the largest", "next token"});
  step.facts["forward"] = OutputJson::array();
  for (const std::size_t layers : {std::size_t{1}, model.config.layers.size()}) {
    const Status added =
        AddForward(model, layers, *sentences, *isa, pool, table, step.facts["forward"]);
    if (!added) return std::unexpected(added.error());
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  step.lines.emplace_back(
      "Without positions one layer sums the same terms in another order: what differs is rounding. "
      "Further layers see order even so, since the causal mask has let each token see only those "
      "before it; but no distance.");
  return step;
}

}  // namespace folio
