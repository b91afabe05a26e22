#include "store/model_source.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ModelSourceTest, HubSourcesHaveARepositoryAndPerhapsAQuant) {
  const auto plain = ParseModelSource("hf:org/My.Repo-GGUF");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(std::get<HubSource>(*plain).repo, "org/My.Repo-GGUF");
  EXPECT_EQ(std::get<HubSource>(*plain).quant, "");
  const auto quant = ParseModelSource("hf:org/repo:Q4_K_M");
  ASSERT_TRUE(quant.has_value());
  EXPECT_EQ(std::get<HubSource>(*quant).quant, "Q4_K_M");
}

TEST(ModelSourceTest, MalformedSourcesAreUsageErrors) {
  for (const char* source :
       {"hf:repo", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a/b:", "hf:a b/c", "hf:a/b?x",
        "ftp://host/a.gguf", "model.gguf", "", "https://", "https://host", "https://host/a.bin",
        "https://host/.gguf", "https://host/..%2fa.gguf", "https://host/%2e%2e%2fa.gguf"}) {
    const auto parsed = ParseModelSource(source);
    ASSERT_FALSE(parsed.has_value()) << source;
    EXPECT_NE(parsed.error().kind, ErrorKind::kRuntime) << source;
  }
}

TEST(ModelSourceTest, AUrlsFileNameIsItsLastComponentDecoded) {
  const auto parsed = ParseModelSource("https://host:8443/x/My%20Model.gguf?token=secret#top");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<UrlSource>(*parsed).file_name, "My Model.gguf");
}

TEST(ModelSourceTest, ShownUrlsCarryNoSecrets) {
  EXPECT_EQ(ShownUrl("https://user:pw@host/a/b.gguf?Signature=s#f"), "https://host/a/b.gguf");
  EXPECT_EQ(ShownUrl("https://host?key=s"), "https://host");
}

TEST(ModelSourceTest, OriginIsSchemeHostAndPort) {
  EXPECT_EQ(UrlOrigin("https://Host:443/a"), "https://host");
  EXPECT_EQ(UrlOrigin("http://h:80"), "http://h");
  EXPECT_EQ(UrlOrigin("https://u:p@h:81/a@b"), "https://h:81");
  EXPECT_NE(UrlOrigin("http://h"), UrlOrigin("https://h"));
  EXPECT_NE(UrlOrigin("http://h:1"), UrlOrigin("http://h:2"));
  EXPECT_EQ(UrlOrigin("no url"), "");
}

TEST(ModelSourceTest, PathsAreEncodedForUrls) {
  EXPECT_EQ(EncodePath("a b/c#d?e%.gguf"), "a%20b/c%23d%3Fe%25.gguf");
}

}  // namespace
}  // namespace folio
