// Packed weights into registers, for any vector width: the integer values of a block as 16-bit
// words, and its scales. V is the vector class of one ISA (product_avx2.cc, product_avx512.cc); it
// lives in that file's unnamed namespace, and so does everything instantiated with it.
//
// A new type needs its line in packed_layout.h and its case, where it has one of its own, here.
#ifndef FOLIO_KERNELS_PRODUCT_WEIGHTS_H_
#define FOLIO_KERNELS_PRODUCT_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/packed_layout.h"

namespace folio {

// The 4-bit codes of a chunk (8 k): pair p of 16-bit words is nibble p of each word.
template <class V>
[[gnu::always_inline]] inline void UnsignedNibbles(typename V::Int z, typename V::Int* words) {
  const typename V::Int mask = V::Set16(15);
  words[0] = V::And(z, mask);
  words[1] = V::And(V::template ShiftRight16<4>(z), mask);
  words[2] = V::And(V::template ShiftRight16<8>(z), mask);
  words[3] = V::template ShiftRight16<12>(z);
}

// The same for two's complement codes: each is brought to the top of its word and back.
template <class V>
[[gnu::always_inline]] inline void SignedNibbles(typename V::Int z, typename V::Int* words) {
  words[0] = V::template ShiftRightSigned16<12>(V::template ShiftLeft16<12>(z));
  words[1] = V::template ShiftRightSigned16<12>(V::template ShiftLeft16<8>(z));
  words[2] = V::template ShiftRightSigned16<12>(V::template ShiftLeft16<4>(z));
  words[3] = V::template ShiftRightSigned16<12>(z);
}

// The same for codes that stand for the bytes of a table of 16: looked up as bytes, which then hold
// pairs 0 and 2 (low nibbles), and 1 and 3 (high ones).
template <class V>
[[gnu::always_inline]] inline void TableNibbles(typename V::Int z, const std::int8_t* table,
                                                typename V::Int* words) {
  const typename V::Int mask = V::Set8(15);
  const typename V::Int low = V::LookUp(table, V::And(z, mask));
  const typename V::Int high = V::LookUp(table, V::And(V::template ShiftRight16<4>(z), mask));
  words[0] = V::template ShiftRightSigned16<8>(V::template ShiftLeft16<8>(low));
  words[1] = V::template ShiftRightSigned16<8>(V::template ShiftLeft16<8>(high));
  words[2] = V::template ShiftRightSigned16<8>(low);
  words[3] = V::template ShiftRightSigned16<8>(high);
}

// Moves bit `kFrom` of each word to place `kTo`.
template <class V, int kFrom, int kTo>
[[gnu::always_inline]] inline typename V::Int MoveBits(typename V::Int words) {
  if constexpr (kFrom > kTo) {
    return V::template ShiftRight16<kFrom - kTo>(words);
  } else if constexpr (kFrom < kTo) {
    return V::template ShiftLeft16<kTo - kFrom>(words);
  } else {
    return words;
  }
}

static constexpr bool IsTableType(GgmlType type) {
  return type == GgmlType::kIQ4_NL || type == GgmlType::kIQ4_XS || type == GgmlType::kMXFP4;
}

// One word pair of the planes above the nibbles. `word` holds the lower bits.
template <class V, GgmlType kType, int kChunk, int kPair>
[[gnu::always_inline]] inline typename V::Int AddHighPlanes(typename V::Int word,
                                                            typename V::Int pairs,
                                                            typename V::Int bits) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  constexpr int kPairsFrom = 2 * (kChunk % 2 * 4 + kPair);
  constexpr int kBitFrom = kChunk * 4 + kPair;
  if constexpr (kFormat.nibbles && kFormat.pairs) {
    word = V::OrMasked(word, MoveBits<V, kPairsFrom, 4>(pairs), V::Set16(3 << 4));
  } else if constexpr (kFormat.pairs) {
    word = V::And(MoveBits<V, kPairsFrom, 0>(pairs), V::Set16(3));
  }
  if constexpr (kFormat.bits) {
    constexpr int kTo = kFormat.nibbles ? 4 : 2;
    const typename V::Int bit = MoveBits<V, kBitFrom, kTo>(bits);
    if constexpr (kType == GgmlType::kQ5_0 || kType == GgmlType::kQ3_K) {  // a sign
      word = V::Sub16(word, V::And(bit, V::Set16(1 << kTo)));
    } else {
      word = V::OrMasked(word, bit, V::Set16(1 << kTo));
    }
  }
  if constexpr (kType == GgmlType::kQ6_K) word = V::Sub16(word, V::Set16(32));
  return word;
}

// The weights of 8 k (chunk kChunk of a record's four) for the V::kWidth lanes from `lane`: word
// pair p holds k = 8 kChunk + 2p and the next.
template <class V, GgmlType kType, int kChunk>
[[gnu::always_inline]] inline void LoadWords(const std::byte* record, int lane,
                                             typename V::Int* words) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  if constexpr (kFormat.bytes) {
    for (int p = 0; p < 4; ++p)
      words[p] = V::LoadBytesAsWords(record + (kChunk * 4 + p) * 2 * kLanes + lane * 2);
    return;
  }
  const std::byte* at = record + lane * 4;
  constexpr int kPairsAt = kFormat.bits ? kBitsBytes : 0;
  constexpr int kNibblesAt = kPairsAt + (kFormat.pairs ? kPairsBytes : 0);
  typename V::Int bits = V::Zero();
  typename V::Int pairs = V::Zero();
  if constexpr (kFormat.bits) bits = V::Load(at);
  if constexpr (kFormat.pairs) pairs = V::Load(at + kPairsAt + kChunk / 2 * 64);
  if constexpr (kFormat.nibbles) {
    const typename V::Int z = V::Load(at + kNibblesAt + kChunk * 64);
    if constexpr (kType == GgmlType::kQ4_0) {
      SignedNibbles<V>(z, words);
    } else if constexpr (IsTableType(kType)) {
      TableNibbles<V>(z, kType == GgmlType::kMXFP4 ? kMxfp4Values : kIq4Values, words);
    } else {
      UnsignedNibbles<V>(z, words);
    }
  }
  words[0] = AddHighPlanes<V, kType, kChunk, 0>(words[0], pairs, bits);
  words[1] = AddHighPlanes<V, kType, kChunk, 1>(words[1], pairs, bits);
  words[2] = AddHighPlanes<V, kType, kChunk, 2>(words[2], pairs, bits);
  words[3] = AddHighPlanes<V, kType, kChunk, 3>(words[3], pairs, bits);
}

// Bits [kFrom, kFrom + log2(mask + 1)) of each dword.
template <class V, int kFrom>
[[gnu::always_inline]] inline typename V::Int Field(typename V::Int dwords, int mask) {
  if constexpr (kFrom == 0) {
    return V::And(dwords, V::Set32(mask));
  } else {
    return V::And(V::template ShiftRight32<kFrom>(dwords), V::Set32(mask));
  }
}

// The 6-bit scale (kSecond false) or minimum (true) of block kBlock of a Q4_K or Q5_K unit.
template <class V, int kBlock, bool kSecond>
[[gnu::always_inline]] inline typename V::Int SixBits(const std::byte* scales) {
  const std::byte* own = scales + (kSecond ? 64 : 0);
  if constexpr (kBlock < 4) {
    return Field<V, 8 * kBlock>(V::Load(own), 63);
  } else {
    constexpr int kByte = 8 * (kBlock - 4);
    const typename V::Int low = Field<V, kByte + (kSecond ? 4 : 0)>(V::Load(scales + 128), 15);
    const typename V::Int high = Field<V, kByte + 6>(V::Load(own), 3);
    return V::Or(low, V::template ShiftLeft32<4>(high));
  }
}

template <class V, int kGroup>
[[gnu::always_inline]] inline typename V::Int Q3KScale(const std::byte* scales) {
  constexpr int kLowByte = kGroup % 8;
  const typename V::Int low =
      Field<V, 8 * (kLowByte % 4) + (kGroup < 8 ? 0 : 4)>(V::Load(scales + kLowByte / 4 * 64), 15);
  const typename V::Int high =
      Field<V, 8 * (kGroup % 4) + 2 * (kGroup / 4)>(V::Load(scales + 128), 3);
  return V::Sub32(V::Or(low, V::template ShiftLeft32<4>(high)), V::Set32(32));
}

template <class V, int kBlock>
[[gnu::always_inline]] inline typename V::Int Iq4XsScale(const std::byte* high_bits,
                                                         const std::byte* low_bits) {
  const typename V::Int low = Field<V, 4 * kBlock>(V::Load(low_bits), 15);
  const typename V::Int high = Field<V, 2 * kBlock>(V::LoadUnsigned16(high_bits), 3);
  return V::Sub32(V::Or(low, V::template ShiftLeft32<4>(high)), V::Set32(32));
}

// The scale of group kGroup of block kBlock of a unit, for the lanes from `lane`.
template <class V, GgmlType kType, int kBlock, int kGroup>
[[gnu::always_inline]] inline typename V::Float LoadScale(const std::byte* head,
                                                          const std::byte* body, int lane) {
  if constexpr (kType == GgmlType::kMXFP4) {
    return V::HalvedPowerOfTwo(head + lane);
  } else {
    const typename V::Float d = V::LoadHalves(head + lane * 2);
    constexpr int kBytesAt = (2 * kBlock + kGroup) * kLanes;
    if constexpr (kType == GgmlType::kQ4_K || kType == GgmlType::kQ5_K) {
      return V::Mul(d, V::ToFloat(SixBits<V, kBlock, false>(body + lane * 4)));
    } else if constexpr (kType == GgmlType::kQ6_K) {
      return V::Mul(d, V::ToFloat(V::LoadSigned8(body + kBytesAt + lane)));
    } else if constexpr (kType == GgmlType::kQ2_K) {
      return V::Mul(d, V::ToFloat(Field<V, 0>(V::LoadUnsigned8(body + kBytesAt + lane), 15)));
    } else if constexpr (kType == GgmlType::kQ3_K) {
      return V::Mul(d, V::ToFloat(Q3KScale<V, 2 * kBlock + kGroup>(body + lane * 4)));
    } else if constexpr (kType == GgmlType::kIQ4_XS) {
      const std::byte* high = head + (kLanes + lane) * 2;
      return V::Mul(d, V::ToFloat(Iq4XsScale<V, kBlock>(high, body + lane * 4)));
    } else {
      return d;
    }
  }
}

// The signed offset of the group, for types that have one.
template <class V, GgmlType kType, int kBlock, int kGroup>
[[gnu::always_inline]] inline typename V::Float LoadMinimum(const std::byte* head,
                                                            const std::byte* body, int lane) {
  const typename V::Float m = V::LoadHalves(head + (kLanes + lane) * 2);
  if constexpr (kType == GgmlType::kQ4_K || kType == GgmlType::kQ5_K) {
    return V::Negate(V::Mul(m, V::ToFloat(SixBits<V, kBlock, true>(body + lane * 4))));
  } else if constexpr (kType == GgmlType::kQ2_K) {
    constexpr int kBytesAt = (2 * kBlock + kGroup) * kLanes;
    return V::Negate(
        V::Mul(m, V::ToFloat(Field<V, 4>(V::LoadUnsigned8(body + kBytesAt + lane), 15))));
  } else {
    return m;
  }
}

// Calls body(Index<0>), body(Index<1>), ..., body(Index<kCount - 1>).
template <int kValue>
struct Index {
  static constexpr int value = kValue;
};
template <int kCount, class Body>
[[gnu::always_inline]] inline void Unroll(Body&& body) {
  [&]<int... kI>(std::integer_sequence<int, kI...>) __attribute__((always_inline)) {
    (body(Index<kI>{}), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

// The scales and offsets of a whole unit, [block][group], for the lanes from `lane`.
template <class V, GgmlType kType>
struct UnitScales {
  static constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  typename V::Float scales[kFormat.unit_blocks][kFormat.groups];
  typename V::Float minima[kFormat.has_minimum ? kFormat.unit_blocks : 1][kFormat.groups];

  [[gnu::always_inline]] void Load(const std::byte* head, const std::byte* body, int lane) {
    Unroll<kFormat.unit_blocks>([&](auto block) __attribute__((always_inline)) {
      constexpr int kBlock = decltype(block)::value;
      Unroll<kFormat.groups>([&](auto group) __attribute__((always_inline)) {
        constexpr int kGroup = decltype(group)::value;
        scales[kBlock][kGroup] = LoadScale<V, kType, kBlock, kGroup>(head, body, lane);
        if constexpr (kFormat.has_minimum)
          minima[kBlock][kGroup] = LoadMinimum<V, kType, kBlock, kGroup>(head, body, lane);
      });
    });
  }
};

}  // namespace folio

#endif  // FOLIO_KERNELS_PRODUCT_WEIGHTS_H_
