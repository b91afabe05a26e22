// How a family's tensors are called in a folder and in GGUF. Names are those inside a layer (or
// outside of all); "{}" stands for an expert's number.
#ifndef FOLIO_FORMATS_HUGGINGFACE_TENSOR_RULES_H_
#define FOLIO_FORMATS_HUGGINGFACE_TENSOR_RULES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/huggingface/checkpoint.h"
#include "formats/huggingface/model_builder.h"

namespace folio {

enum class TensorForm {
  kSame,             // the same values in the same order
  kOneMore,          // a norm's vector that is stored without the one it is added to (Gemma)
  kTwo,              // rows [0, n/2) are `ours`, the others `second`
  kTwoOfEachExpert,  // [experts, n, k]: the same for every expert
};

struct TensorRule {
  std::string_view theirs;
  std::string_view ours;
  TensorForm form = TensorForm::kSame;
  std::string_view second;
};

// Rules for the tensors of layers, in groups that families share.
using TensorRules = std::span<const std::span<const TensorRule>>;

struct TensorMapping {
  TensorRules layer;
  std::uint64_t layers = 0;
  std::uint64_t experts = 0;  // of a layer; 0: the model has none
  bool one_more = false;      // of the norm behind the last layer too
  bool tied = false;          // lm_head.weight is the embedding; one that is there is left out
};

// Gives the model every tensor of the checkpoint under GGUF's name, without copying matrices. A
// tensor that no rule knows, and one whose type no product takes, are errors that name it.
Status MapTensors(const Checkpoint& checkpoint, const TensorMapping& mapping, ModelBuilder& model);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_TENSOR_RULES_H_
