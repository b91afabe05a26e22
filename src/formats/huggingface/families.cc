#include "formats/huggingface/families.h"

#include <array>

namespace folio {
namespace {

constexpr std::array<const ModelFamily*, 16> kFamilies = {
    &kLlamaFamily,
    &kMistralFamily,
    &kMixtralFamily,
    &kQwen2Family,
    &kQwen3Family,
    &kQwen2MoeFamily,
    &kQwen3MoeFamily,
    &kOlmoeFamily,
    &kGemma2Family,
    &kGemma3Family,
    &kGraniteFamily,
    &kGraniteMoeFamily,
    &kGraniteMoeSharedFamily,
    &kPhi3Family,
    &kDeepSeekV2Family,
    &kDeepSeekV3Family,
};

}  // namespace

const ModelFamily* FindModelFamily(std::string_view model_type) {
  for (const ModelFamily* family : kFamilies) {
    if (family->model_type == model_type) return family;
  }
  return nullptr;
}

std::string KnownModelTypes() {
  std::string list;
  for (const ModelFamily* family : kFamilies)
    list += (list.empty() ? "" : ", ") + std::string(family->model_type);
  return list;
}

}  // namespace folio
