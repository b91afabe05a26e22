#include "text/pre_tokenizers.h"

#include <algorithm>

namespace folio {
namespace {

using Pattern = std::string_view;

// GPT-2's: contractions, then runs of letters, digits or others, each with the space before it.
constexpr Pattern kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr Pattern kDigit = R"(\p{N})";
constexpr Pattern kDigits = R"(\p{N}+)";
constexpr Pattern kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr Pattern kThreeAsciiDigits = "[0-9][0-9][0-9]";

// GPT-4's and what was made from it; they differ in digits and in what counts as a letter.
constexpr Pattern kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kQwen35 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                            R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kMiniCpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr Pattern kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
// GPT-4o's: words are cut where an upper-case letter follows a lower-case one.
constexpr Pattern kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Pattern kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek's first models: letters and punctuation listed one by one, Han and Hangul as runs.
constexpr Pattern kLineBreak = R"([\r\n])";
constexpr Pattern kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"
    R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"
    R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943}]+)";
constexpr Pattern kDeepseekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr Pattern kDeepseekCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr Pattern kTrailingSpaces = R"(\s+$)";
constexpr Pattern kSpacedLetters = R"(\s?\p{L}+)";
constexpr Pattern kSpacedPunctuation = R"(\s?\p{P}+)";
constexpr Pattern kHanAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr Pattern kDeepseekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr Pattern kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr Pattern kDefaultPunctuation = R"([\p{P}\$\+<=>\^~\|]+)";
// BLOOM's: everything up to white space or one of these marks.
constexpr Pattern kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";

constexpr std::array kGpt2Splits = {kGpt2};
constexpr std::array kDigitsGpt2Splits = {kDigit, kGpt2};
constexpr std::array kLlama3Splits = {kLlama3};
constexpr std::array kQwen2Splits = {kQwen2};
constexpr std::array kQwen35Splits = {kQwen35};
constexpr std::array kMiniCpm5Splits = {kUpToThreeDigits, kMiniCpm5};
constexpr std::array kSeedCoderSplits = {kSeedCoder};
constexpr std::array kBailingSplits = {kBailing};
constexpr std::array kExaoneMoeSplits = {kExaoneMoe};
constexpr std::array kGpt4oSplits = {kGpt4o};
constexpr std::array kTekkenSplits = {kTekken};
constexpr std::array kDeepseekLlmSplits = {kLineBreak,      kDeepseekLetters, kDeepseekPunctuation,
                                           kTrailingSpaces, kDeepseekCjk,     kDigits};
constexpr std::array kDeepseekCoderSplits = {kLineBreak, kSpacedLetters, kSpacedPunctuation,
                                             kDeepseekCjk, kDigit};
constexpr std::array kDeepseekV3Splits = {kUpToThreeDigits, kHanAndKana, kDeepseekV3};
constexpr std::array kFalconSplits = {kFalconPunctuation, kGpt2, kThreeAsciiDigits};
constexpr std::array kDefaultSplits = {kDefaultPunctuation, kGpt2, kDigits, kThreeAsciiDigits};
constexpr std::array kBloomSplits = {kBloom};
constexpr std::array kVikingSplits = {kBloom, kDigit};

constexpr PreTokenizer kPreTokenizers[] = {
    {.name = "default", .splits = kDefaultSplits},
    {.name = "gpt-2", .splits = kGpt2Splits},
    {.name = "phi-2", .splits = kGpt2Splits},
    {.name = "mpt", .splits = kGpt2Splits},
    {.name = "olmo", .splits = kGpt2Splits},
    {.name = "jais", .splits = kGpt2Splits},
    {.name = "trillion", .splits = kGpt2Splits},
    {.name = "exaone4", .splits = kGpt2Splits},
    {.name = "gigachat", .splits = kGpt2Splits},
    {.name = "mellum", .splits = kGpt2Splits},
    {.name = "a.x-4.0", .splits = kGpt2Splits},
    {.name = "granite-docling", .splits = kGpt2Splits},
    {.name = "starcoder", .splits = kDigitsGpt2Splits},
    {.name = "refact", .splits = kDigitsGpt2Splits},
    {.name = "command-r", .splits = kDigitsGpt2Splits},
    {.name = "smollm", .splits = kDigitsGpt2Splits},
    {.name = "codeshell", .splits = kDigitsGpt2Splits},
    {.name = "exaone", .splits = kDigitsGpt2Splits},
    {.name = "minerva-7b", .splits = kDigitsGpt2Splits},
    {.name = "mellum2", .splits = kDigitsGpt2Splits},
    {.name = "llama3", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "llama-bpe", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "falcon-h1", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "pixtral", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "midm-2.0", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "lfm2", .splits = kLlama3Splits, .ignore_merges = true, .add_bos = true},
    {.name = "dbrx", .splits = kLlama3Splits},
    {.name = "smaug-bpe", .splits = kLlama3Splits},
    {.name = "chatglm-bpe", .splits = kLlama3Splits},
    {.name = "glm4", .splits = kLlama3Splits, .ignore_merges = true},
    {.name = "glm5", .splits = kLlama3Splits, .ignore_merges = true},
    {.name = "qwen2", .splits = kQwen2Splits, .compose = true},
    {.name = "qwen35", .splits = kQwen35Splits},
    {.name = "deepseek-r1-qwen", .splits = kQwen2Splits},
    {.name = "stablelm2", .splits = kQwen2Splits},
    {.name = "megrez", .splits = kQwen2Splits},
    {.name = "hunyuan", .splits = kQwen2Splits},
    {.name = "grok-2", .splits = kQwen2Splits},
    {.name = "solar-open", .splits = kQwen2Splits},
    {.name = "minicpm5", .splits = kMiniCpm5Splits, .ignore_merges = true},
    {.name = "seed-coder", .splits = kSeedCoderSplits},
    {.name = "bailingmoe", .splits = kBailingSplits},
    {.name = "bailingmoe2", .splits = kBailingSplits},
    {.name = "llada-moe", .splits = kBailingSplits},
    {.name = "exaone-moe", .splits = kExaoneMoeSplits},
    {.name = "gpt-4o", .splits = kGpt4oSplits},
    {.name = "llama4", .splits = kGpt4oSplits},
    {.name = "kanana2", .splits = kGpt4oSplits},
    {.name = "minimax-m2", .splits = kGpt4oSplits},
    {.name = "tekken", .splits = kTekkenSplits, .ignore_merges = true, .add_bos = true},
    {.name = "deepseek-llm", .splits = kDeepseekLlmSplits},
    {.name = "deepseek-coder", .splits = kDeepseekCoderSplits},
    {.name = "deepseek-v3", .splits = kDeepseekV3Splits},
    {.name = "hunyuan-dense", .splits = kDeepseekV3Splits},
    {.name = "joyai-llm", .splits = kDeepseekV3Splits},
    {.name = "falcon", .splits = kFalconSplits},
    {.name = "poro-chat", .splits = kBloomSplits},
    {.name = "bloom", .splits = kBloomSplits},
    {.name = "gpt3-finnish", .splits = kBloomSplits},
    {.name = "viking", .splits = kVikingSplits},
};

}  // namespace

const PreTokenizer* FindPreTokenizer(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kPreTokenizers), std::end(kPreTokenizers),
                   [&](const PreTokenizer& pre_tokenizer) { return pre_tokenizer.name == name; });
  return found == std::end(kPreTokenizers) ? nullptr : found;
}

}  // namespace folio
