#include "http/content_encoding.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

namespace folio {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20;

// `window_bits`: zlib's, which also tells the format.
std::string Deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
std::string Gzipped(std::string_view text) { return Deflated(text, 15 + 16); }
std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(DecodeContentTest, EveryKnownEncodingIsUndone) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i);
  EXPECT_EQ(*DecodeContent(text, "", kMost), text);
  EXPECT_EQ(*DecodeContent(text, "Identity", kMost), text);
  EXPECT_EQ(*DecodeContent(Gzipped(text), "GZip", kMost), text);
  EXPECT_EQ(*DecodeContent(Deflated(text, 15), "deflate", kMost), text);
  EXPECT_EQ(*DecodeContent(Zstd(text), "zstd", kMost), text);
  EXPECT_EQ(*DecodeContent(Gzipped(""), "gzip", kMost), "");
  EXPECT_EQ(*DecodeContent(Gzipped("one ") + Gzipped("two"), "gzip", kMost), "one two");
  EXPECT_EQ(*DecodeContent(Zstd("one ") + Zstd("two"), "zstd", kMost), "one two");
}

TEST(DecodeContentTest, ABombEndsAtTheLimit) {
  const std::string bomb(200 << 20, 'a');
  for (const auto& [packed, encoding] :
       {std::pair{Gzipped(bomb), "gzip"}, std::pair{Zstd(bomb), "zstd"}}) {
    ASSERT_LT(packed.size(), kMost);
    const auto body = DecodeContent(packed, encoding, kMost);
    ASSERT_FALSE(body.has_value());
    EXPECT_EQ(body.error().Message(), "body: has more than 1048576 bytes unpacked");
  }
}

TEST(DecodeContentTest, WhatIsNotWholeIsRefusedAtEveryCut) {
  for (const auto& [packed, encoding] :
       {std::pair{Gzipped("some text"), "gzip"}, std::pair{Zstd("some text"), "zstd"}}) {
    for (std::size_t size = 0; size < packed.size(); ++size) {
      EXPECT_FALSE(DecodeContent(packed.substr(0, size), encoding, kMost).has_value()) << size;
    }
    EXPECT_FALSE(DecodeContent(packed + "x", encoding, kMost).has_value());
  }
  EXPECT_FALSE(DecodeContent("plain", "gzip", kMost).has_value());
  EXPECT_FALSE(DecodeContent("plain", "br", kMost).has_value());
  EXPECT_FALSE(IsKnownEncoding("gzip, gzip"));
}

}  // namespace
}  // namespace folio
