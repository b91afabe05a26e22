// Random schemas of a bounded kind: every reply that a grammar lets through is a JSON document that
// fits, as judged by a checker of its own.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/json.h"
#include "text/grammar.h"
#include "text/grammar_testing.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using Random = std::mt19937_64;

int Below(Random& random, int bound) {
  return static_cast<int>(random() % static_cast<unsigned>(bound));
}

Json RandomSchema(Random& random, int depth);

Json RandomObject(Random& random, int depth) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["properties"] = Json::object();
  schema["required"] = Json::array();
  const int members = Below(random, 4);
  for (int i = 0; i < members; ++i) {
    const std::string name = "k" + std::to_string(i);
    schema["properties"][name] = RandomSchema(random, depth - 1);
    if (Below(random, 2) == 0) schema["required"].push_back(name);
  }
  return schema;
}

Json RandomLeaf(Random& random) {
  switch (Below(random, 6)) {
    case 0: {
      const int least = Below(random, 200) - 100;
      return {{"type", "integer"}, {"minimum", least}, {"maximum", least + Below(random, 1000)}};
    }
    case 1: {
      const int least = Below(random, 4);
      return {{"type", "string"}, {"minLength", least}, {"maxLength", least + Below(random, 6)}};
    }
    case 2:
      return {{"enum", {"red", 7, nullptr, "a \"b\""}}};
    case 3:
      return {{"type", "boolean"}};
    case 4:
      return {{"const", {{"x", Json::array({1, "y"})}}}};
    default:
      return {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1.5}};
  }
}

Json RandomSchema(Random& random, int depth) {
  if (depth == 0) return RandomLeaf(random);
  switch (Below(random, 4)) {
    case 0:
      return RandomObject(random, depth);
    case 1: {
      const int least = Below(random, 3);
      return {{"type", "array"},
              {"items", RandomSchema(random, depth - 1)},
              {"minItems", least},
              {"maxItems", least + Below(random, 3)}};
    }
    case 2:
      return {{"anyOf", {RandomSchema(random, depth - 1), RandomSchema(random, depth - 1)}}};
    default:
      return RandomLeaf(random);
  }
}

bool Fits(const Json& schema, const Json& value);

bool FitsObject(const Json& schema, const Json& value) {
  if (!value.is_object()) return false;
  for (const Json& name : schema["required"]) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  return std::ranges::all_of(value.items(), [&](const auto& member) {
    return schema["properties"].contains(member.key()) &&
           Fits(schema["properties"][member.key()], member.value());
  });
}

bool FitsNumber(const Json& schema, const Json& value) {
  if (!value.is_number()) return false;
  const auto number = value.get<double>();
  if (schema.contains("minimum") && number < schema["minimum"].get<double>()) return false;
  if (schema.contains("exclusiveMinimum") && number <= schema["exclusiveMinimum"].get<double>())
    return false;
  return !schema.contains("maximum") || number <= schema["maximum"].get<double>();
}

bool Fits(const Json& schema, const Json& value) {
  if (schema.contains("anyOf")) {
    return std::ranges::any_of(schema["anyOf"], [&](const Json& s) { return Fits(s, value); });
  }
  if (schema.contains("enum"))
    return std::ranges::find(schema["enum"], value) != schema["enum"].end();
  if (schema.contains("const")) return value == schema["const"];
  const auto type = schema["type"].get<std::string>();
  if (type == "object") return FitsObject(schema, value);
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer() && FitsNumber(schema, value);
  if (type == "number") return FitsNumber(schema, value);
  const std::size_t size =
      type == "string" ? value.is_string() ? value.get<std::string>().size() : 99 : value.size();
  if (type == "string") {  // ASCII: a character a byte
    return size >= schema["minLength"].get<std::size_t>() &&
           size <= schema["maxLength"].get<std::size_t>();
  }
  return value.is_array() && size >= schema["minItems"].get<std::size_t>() &&
         size <= schema["maxItems"].get<std::size_t>() &&
         std::ranges::all_of(value, [&](const Json& v) { return Fits(schema["items"], v); });
}

RC_GTEST_PROP(GrammarSchemaTest, WhateverIsDrawnFitsTheSchema, (std::uint64_t seed)) {
  static const Result<Tokenizer> tokenizer = testing::ByteLevelVocabulary().Load();
  static const GrammarCompiler grammars(*tokenizer);
  Random random(seed);
  const Json schema = RandomSchema(random, 3);
  auto matcher =
      grammars.Compile({.kind = ReplyGrammar::Kind::kJsonSchema, .text = DumpJson(schema)});
  RC_ASSERT(matcher.has_value());
  testing::GrammarWalk walk(*tokenizer, seed);
  const auto text = walk.Run(*matcher, 3000);
  RC_ASSERT(text.has_value());
  const Json value = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  RC_LOG() << DumpJson(schema) << "\n" << *text << "\n";
  RC_ASSERT(!value.is_discarded());
  RC_ASSERT(Fits(schema, value));
}

}  // namespace
}  // namespace folio
