#include "api/anthropic_models.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace folio {
namespace {

TEST(AnthropicModelsTest, AreOnePage) {
  const std::vector<AnthropicModel> models = {{.id = "m",
                                               .display_name = "M 1",
                                               .created = 1'700'000'000,
                                               .max_input = 32767,
                                               .max_output = 32000},
                                              {.id = "n"}};
  const Json page = AnthropicModelsJson(models);
  EXPECT_EQ(DumpJson(page["data"][0]),
            R"({"type":"model","id":"m","display_name":"M 1",)"
            R"("created_at":"2023-11-14T22:13:20Z","lifecycle":"active",)"
            R"("max_input_tokens":32767,"max_tokens":32000})");
  EXPECT_EQ(page["data"].size(), 2U);
  EXPECT_EQ(page["has_more"], false);
  EXPECT_EQ(page["first_id"], "m");
  EXPECT_EQ(page["last_id"], "n");
  EXPECT_EQ(DumpJson(AnthropicModelsJson({})),
            R"({"data":[],"has_more":false,"first_id":null,"last_id":null})");
}

TEST(Rfc3339Test, IsATimeOfTheGregorianCalendar) {
  EXPECT_EQ(Rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(Rfc3339(951'782'400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(Rfc3339(-5), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59Z");
}

}  // namespace
}  // namespace folio
