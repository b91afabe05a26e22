#include "http/content_encoding.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <memory>

namespace folio {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;
// zstd's own default for decoders: a frame may ask for a window of so much.
constexpr int kMostWindowLog = 23;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::unexpected<Error> Broken(std::string_view encoding) {
  return UsageError("body", "Content-Encoding", "is no whole " + std::string(encoding));
}

std::unexpected<Error> TooLong(std::size_t most) {
  return UsageError("body", "", "has more than " + std::to_string(most) + " bytes unpacked");
}

struct InflateEnd {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

// `window_bits`: zlib's, which also tells the format.
Result<std::string> Inflate(std::string_view body, int window_bits, std::string_view encoding,
                            std::size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return RuntimeError("zlib", "", "has no memory");
  const std::unique_ptr<z_stream, InflateEnd> end(&stream);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  std::string out;
  std::array<char, kPiece> piece;
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return Broken(encoding);
    out.append(piece.data(), piece.size() - stream.avail_out);
    if (out.size() > most) return TooLong(most);
    if (result == Z_STREAM_END && stream.avail_in == 0) return out;
    // A file of gzip is a series of members (RFC 1952, 2.2).
    if (result == Z_STREAM_END && inflateReset(&stream) != Z_OK) return Broken(encoding);
    if (stream.avail_in == 0 && stream.avail_out > 0) return Broken(encoding);
  }
}

struct ZstdFree {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

Result<std::string> Unzstd(std::string_view body, std::size_t most) {
  const std::unique_ptr<ZSTD_DCtx, ZstdFree> context(ZSTD_createDCtx());
  if (context == nullptr) return RuntimeError("zstd", "", "has no memory");
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  std::string out;
  std::array<char, kPiece> piece;
  // A series of frames (RFC 8878, 3.1): at the end of each, nothing is left to flush.
  for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
    ZSTD_outBuffer made{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context.get(), &made, &in);
    if (ZSTD_isError(left) != 0) return Broken("zstd");
    out.append(piece.data(), made.pos);
    if (out.size() > most) return TooLong(most);
    if (left != 0 && in.pos == in.size && made.pos < made.size) return Broken("zstd");
  }
  return out;
}

}  // namespace

bool IsKnownEncoding(std::string_view encoding) {
  constexpr std::array<std::string_view, 6> kKnown = {"",       "identity", "gzip",
                                                      "x-gzip", "deflate",  "zstd"};
  return std::ranges::find(kKnown, Lower(encoding)) != kKnown.end();
}

Result<std::string> DecodeContent(std::string body, std::string_view encoding, std::size_t most) {
  const std::string name = Lower(encoding);
  if (body.size() > std::min<std::size_t>(most, std::numeric_limits<uInt>::max())) {
    return TooLong(most);
  }
  if (name.empty() || name == "identity") return body;
  if (name == "gzip" || name == "x-gzip") return Inflate(body, 15 + 16, "gzip", most);
  if (name == "deflate") return Inflate(body, 15, "deflate", most);
  if (name == "zstd") return Unzstd(body, most);
  return UsageError("body", "Content-Encoding", "is '" + name + "', none of gzip, deflate, zstd");
}

}  // namespace folio
