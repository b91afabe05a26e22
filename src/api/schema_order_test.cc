#include "api/schema_order.h"

#include <gtest/gtest.h>

#include <string>

namespace folio {
namespace {

std::string Ordered(const std::string& schema) {
  const auto parsed = ParseJson(schema);
  EXPECT_TRUE(parsed.has_value()) << schema;
  return parsed ? DumpJson(OrderedSchema(*parsed)) : "";
}

TEST(OrderedSchemaTest, MembersAreInTheOrderOfTheirNames) {
  EXPECT_EQ(Ordered(R"({"type":"object","description":"d","additionalProperties":false})"),
            R"({"additionalProperties":false,"description":"d","type":"object"})");
  EXPECT_EQ(Ordered(R"({"$defs":{"B":{"type":"string","title":"t"},"A":true}})"),
            R"({"$defs":{"A":true,"B":{"title":"t","type":"string"}}})");
}

TEST(OrderedSchemaTest, PropertiesFollowRequiredAndThenTheirNames) {
  const std::string expected =
      R"({"properties":{"reason":{},"answer":{},"a":{},"b":{}},"required":["reason","answer"]})";
  EXPECT_EQ(Ordered(R"({"properties":{"b":{},"answer":{},"a":{},"reason":{}},
      "required":["reason","answer"]})"),
            expected);
  EXPECT_EQ(Ordered(R"({"required":["reason","answer"],
      "properties":{"reason":{},"a":{},"answer":{},"b":{}}})"),
            expected);
  EXPECT_EQ(Ordered(R"({"properties":{"b":{},"a":{}},"required":"b"})"),
            R"({"properties":{"a":{},"b":{}},"required":"b"})");
  EXPECT_EQ(Ordered(R"({"properties":{"b":{},"a":{}},"required":[1,"c","b","b"]})"),
            R"({"properties":{"b":{},"a":{}},"required":[1,"c","b","b"]})");
}

TEST(OrderedSchemaTest, APropertyMayHaveAKeywordsName) {
  EXPECT_EQ(Ordered(R"({"properties":{"required":{"type":"array","minItems":1},
      "properties":{"type":"object","properties":{"z":{},"y":{}},"required":["z"]}}})"),
            R"({"properties":{"properties":{"properties":{"z":{},"y":{}},"required":["z"],)"
            R"("type":"object"},"required":{"minItems":1,"type":"array"}}})");
}

TEST(OrderedSchemaTest, ListsKeepTheirOrder) {
  EXPECT_EQ(Ordered(R"({"enum":["b","a",{"d":1,"c":2}],"anyOf":[{"type":"x","const":1},{}]})"),
            R"({"anyOf":[{"const":1,"type":"x"},{}],"enum":["b","a",{"c":2,"d":1}]})");
  EXPECT_EQ(Ordered(R"({"properties":[3,{"b":1,"a":2}]})"), R"({"properties":[3,{"a":2,"b":1}]})");
  EXPECT_EQ(Ordered("null"), "null");
}

TEST(OrderedSchemaTest, OrderedOnceIsOrderedForGood) {
  const auto schema = ParseJson(
      R"({"type":"object","required":["q"],"properties":{"p":{"items":{"b":1,"a":1}},"q":{}}})");
  ASSERT_TRUE(schema.has_value());
  const Json once = OrderedSchema(*schema);
  EXPECT_NE(once, *schema);  // members' order counts
  EXPECT_EQ(OrderedSchema(once), once);
}

TEST(OrderedSchemaTest, ManyMembersTakeTheTimeOfASort) {
  std::string text = R"({"properties":{)";
  for (int i = 14'000; i-- > 0;) text += "\"" + std::to_string(i) + "\":{},";
  const auto schema = ParseJson(text + R"("x":{}}})");
  ASSERT_TRUE(schema.has_value());
  EXPECT_EQ(OrderedSchema(*schema)["properties"].begin().key(), "0");
}

}  // namespace
}  // namespace folio
