#include "store/hub_listing.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

HubListing ListingOf(const std::vector<std::string>& names) {
  HubListing listing;
  for (const std::string& name : names) listing.gguf_files.push_back({name, {}, {}});
  return listing;
}

std::string Chosen(const std::vector<std::string>& names, const std::string& quant) {
  const auto files = ChooseHubFiles("o/r", ListingOf(names), quant);
  if (!files) return "error: " + files.error().Message();
  std::string joined;
  for (const HubFile& file : *files) joined += (joined.empty() ? "" : " ") + file.name;
  return joined;
}

TEST(HubListingTest, NamesSizesAndChecksumsAreRead) {
  const std::string sha(64, 'a');
  const std::string commit(40, 'b');
  const auto listing =
      ParseHubListing("o/r", R"({"sha":")" + commit + R"(","siblings":[{"rfilename":"README.md"},
      {"rfilename":"m.gguf","size":12,"lfs":{"sha256":")" +
                                 sha + R"(","size":12}},
      {"rfilename":"mmproj-m.gguf"}]})");
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->revision, commit);
  ASSERT_EQ(listing->gguf_files.size(), 1U);
  EXPECT_EQ(listing->gguf_files[0].name, "m.gguf");
  EXPECT_EQ(listing->gguf_files[0].bytes, 12U);
  EXPECT_EQ(listing->gguf_files[0].sha256, sha);
}

TEST(HubListingTest, FieldsOfOtherTypesAreTreatedAsMissing) {
  const auto listing = ParseHubListing(
      "o/r",
      R"({"sha":7,"siblings":[3,{"rfilename":4},{"rfilename":"m.gguf","size":"x","lfs":[]}]})");
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->revision, "main");
  ASSERT_EQ(listing->gguf_files.size(), 1U);
  EXPECT_FALSE(listing->gguf_files[0].bytes.has_value());
}

TEST(HubListingTest, AnAnswerThatIsNoListingIsAnError) {
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("[]"), std::string("{\"siblings\":3}"),
        std::string("{\"siblings\":["), std::string(100000, '[')}) {
    EXPECT_FALSE(ParseHubListing("o/r", text).has_value());
  }
}

TEST(HubListingTest, ANameThatCouldEscapeIsRefused) {
  const auto listing = ParseHubListing("o/r", R"({"siblings":[{"rfilename":"../../x.gguf"}]})");
  ASSERT_FALSE(listing.has_value());
  EXPECT_NE(listing.error().Message().find("../../x.gguf"), std::string::npos);
}

RC_GTEST_PROP(HubListingTest, AnyBytesGiveAListingOrAnError, (const std::string& text)) {
  const auto listing = ParseHubListing("o/r", text);
  RC_ASSERT(listing.has_value() || !listing.error().Message().empty());
}

TEST(ChooseHubFilesTest, AQuantIsAWholeWordInAnyCase) {
  const std::vector<std::string> names = {"m-Q4_K_M.gguf", "m-Q4_K.gguf", "m-q8_0.gguf",
                                          "m.IQ4_K.gguf"};
  EXPECT_EQ(Chosen(names, "q4_k"), "m-Q4_K.gguf");
  EXPECT_EQ(Chosen(names, "Q8_0"), "m-q8_0.gguf");
  EXPECT_EQ(Chosen(names, "m.IQ4_K.gguf"), "m.IQ4_K.gguf");
  EXPECT_EQ(Chosen(names, ""), "m-Q4_K_M.gguf");
}

TEST(ChooseHubFilesTest, AnUnknownOrAmbiguousQuantListsWhatThereIs) {
  const std::vector<std::string> names = {"m-Q4_K_XL.gguf", "m-UD-Q4_K_XL.gguf"};
  EXPECT_NE(Chosen(names, "Q5_0").find("there are: m-Q4_K_XL.gguf"), std::string::npos);
  EXPECT_NE(Chosen(names, "Q4_K_XL").find("could be any of"), std::string::npos);
  EXPECT_NE(Chosen(names, "").find("error"), std::string::npos);
  EXPECT_NE(Chosen({}, "").find("no GGUF"), std::string::npos);
}

TEST(ChooseHubFilesTest, AllPartsOfASplitModelInOrder) {
  const std::vector<std::string> names = {"BF16/m-00002-of-00002.gguf",
                                          "BF16/m-00001-of-00002.gguf", "m-Q2_K.gguf"};
  EXPECT_EQ(Chosen(names, "bf16"), "BF16/m-00001-of-00002.gguf BF16/m-00002-of-00002.gguf");
}

TEST(ChooseHubFilesTest, AMissingPartIsAnError) {
  EXPECT_NE(Chosen({"m-00001-of-00002.gguf"}, "").find("1 of its 2 parts"), std::string::npos);
}

}  // namespace
}  // namespace folio
