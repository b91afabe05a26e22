"""Builds the Hugging Face transformers model with a GGUF file's dequantised weights.

Needs torch and transformers; only the scripts that make golden values import it.
"""

import numpy as np
import torch
import transformers

import float64_model
import transformers_families

# GGUF tensor name (inside blk.N.) -> transformers' name inside model.layers.N.
_LAYER_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_qkv.weight": "self_attn.qkv_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "ffn_gate_inp.weight": "mlp.gate.weight",
    "ffn_up_exps.weight": "mlp.experts.gate_up_proj",
    "ffn_down_exps.weight": "mlp.experts.down_proj",
    "ffn_gate_inp_shexp.weight": "mlp.shared_expert_gate.weight",
    "ffn_gate_shexp.weight": "mlp.shared_expert.gate_proj.weight",
    "ffn_up_shexp.weight": "mlp.shared_expert.up_proj.weight",
    "ffn_down_shexp.weight": "mlp.shared_expert.down_proj.weight",
}
# transformers (5) holds the experts' gate and up matrices as one tensor [experts, both, hidden], gates first.
_GATE_EXPERTS, _UP_EXPERTS = "ffn_gate_exps.weight", "ffn_up_exps.weight"
# Names that a family has instead.
_OWN_NAMES = {
    "phi3": {"ffn_up.weight": "mlp.gate_up_proj.weight"},
    "granitemoe": {"ffn_gate_inp.weight": "block_sparse_moe.router.weight",
                   "ffn_up_exps.weight": "block_sparse_moe.experts.gate_up_proj",
                   "ffn_down_exps.weight": "block_sparse_moe.experts.down_proj"},
}
# Where one norm comes before the feed-forward network, and where two surround it.
_NORM_NAMES = {"ffn_norm.weight": "post_attention_layernorm.weight"}
_GEMMA_NORM_NAMES = {
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "ffn_norm.weight": "pre_feedforward_layernorm.weight",
    "post_ffw_norm.weight": "post_feedforward_layernorm.weight",
}
_CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    "gemma3": (transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM),
    "qwen2moe": (transformers.Qwen2MoeConfig, transformers.Qwen2MoeForCausalLM),
    "qwen3moe": (transformers.Qwen3MoeConfig, transformers.Qwen3MoeForCausalLM),
    "olmoe": (transformers.OlmoeConfig, transformers.OlmoeForCausalLM),
    "gemma2": (transformers.Gemma2Config, transformers.Gemma2ForCausalLM),
    "granite": (transformers.GraniteConfig, transformers.GraniteForCausalLM),
    "granitemoe": (transformers.GraniteMoeConfig, transformers.GraniteMoeForCausalLM),
    "phi3": (transformers.Phi3Config, transformers.Phi3ForCausalLM),
}
_MIXTRAL = (transformers.MixtralConfig, transformers.MixtralForCausalLM)


def _classes(model):
    return _MIXTRAL if model.arch == "llama" and model.experts else _CLASSES[model.arch]


def _rotate_half_order(weight, heads):
    """Rows of q or k from GGUF's llama order (rotated pairs adjacent) to transformers' (halves apart)."""
    rows = weight.reshape(heads, -1, 2, *weight.shape[1:])
    return rows.swapaxes(1, 2).reshape(weight.shape)


def _own_scaling(model):
    """What the file says of its scaling, in transformers' words; what only its tensors say, from them."""
    def get(key):
        return model.fields.get(f"{model.arch}.rope.scaling.{key}")

    scaling = get("type")
    if model.arch == "phi3" and "rope_factors_long.weight" in model.tensor_names():
        scaling = "longrope"
    if scaling is None:
        return {}
    if scaling == "linear":
        return {"rope_type": "linear", "factor": float(get("factor"))}
    if scaling == "longrope":
        context, original = model.fields[f"{model.arch}.context_length"], get("original_context_length")
        return {"rope_type": "longrope", "factor": float(context) / original,
                "original_max_position_embeddings": original, "attention_factor": float(get("attn_factor")),
                "short_factor": model.weight("rope_factors_short.weight").tolist(),
                "long_factor": model.weight("rope_factors_long.weight").tolist()}
    return {"rope_type": "yarn", "factor": float(get("factor")),
            "original_max_position_embeddings": get("original_context_length"),
            "beta_fast": get("yarn_beta_fast"), "beta_slow": get("yarn_beta_slow")}


def _rope_parameters(model, llama3_rope):
    base = float(model.fields.get(f"{model.arch}.rope.freq_base", 10000.0))
    scaling = {"rope_type": "default", "rope_theta": base}
    if llama3_rope:
        factor, low, high, original = llama3_rope
        scaling.update(rope_type="llama3", factor=factor, low_freq_factor=low, high_freq_factor=high,
                       original_max_position_embeddings=original)
    scaling.update(_own_scaling(model))
    if model.arch == "phi3":
        scaling["partial_rotary_factor"] = model.rope_dim / model.head_dim
    if model.arch != "gemma3":
        return scaling
    local = {"rope_type": "default", "rope_theta": float64_model.GEMMA_LOCAL_ROPE_BASE}
    return {"full_attention": scaling, "sliding_attention": local}


def _common_config(model, vocab, tied, llama3_rope):
    return dict(vocab_size=vocab, hidden_size=model.hidden, num_hidden_layers=model.layers,
                intermediate_size=model.fields[f"{model.arch}.feed_forward_length"],
                num_attention_heads=model.heads, num_key_value_heads=model.kv_heads, head_dim=model.head_dim,
                rms_norm_eps=model.eps, tie_word_embeddings=tied,
                max_position_embeddings=model.fields[f"{model.arch}.context_length"],
                rope_parameters=_rope_parameters(model, llama3_rope), attn_implementation="eager",
                bos_token_id=None, eos_token_id=None, pad_token_id=None)


def _family_config(model):
    """What only this family's configuration has."""
    def get(key):
        return model.fields.get(f"{model.arch}.{key}")

    if model.arch == "gemma3":
        return {"sliding_window": get("attention.sliding_window"), "query_pre_attn_scalar": model.head_dim}
    if model.arch == "gemma2":
        is_27b = model.layers == float64_model.GEMMA2_27B_LAYERS
        return {"sliding_window": get("attention.sliding_window"),
                "query_pre_attn_scalar": model.hidden // model.heads if is_27b else model.head_dim,
                "attn_logit_softcapping": get("attn_logit_softcapping"),
                "final_logit_softcapping": get("final_logit_softcapping")}
    if model.arch in ("granite", "granitemoe"):
        return {"embedding_multiplier": get("embedding_scale"), "attention_multiplier": get("attention.scale"),
                "residual_multiplier": get("residual_scale"), "logits_scaling": get("logit_scale")}
    if model.arch == "phi3":
        return {"sliding_window": get("attention.sliding_window") or None,
                "original_max_position_embeddings": get("rope.scaling.original_context_length")}
    return {}


def _config(model, vocab, tied, llama3_rope):
    values = _common_config(model, vocab, tied, llama3_rope)
    if model.arch in ("qwen2", "qwen2moe", "olmoe", "phi3", "granite", "granitemoe"):
        del values["head_dim"]
    values.update(_family_config(model))
    if model.experts:
        values.update(_expert_config(model))
    return _classes(model)[0](**values)


def _expert_config(model):
    values = {"num_experts": model.experts, "num_experts_per_tok": model.experts_used,
              "experts_implementation": "eager"}
    if model.arch in ("llama", "granitemoe"):
        values["num_local_experts"] = values.pop("num_experts")
    else:  # Mixtral and Granite have no such setting: their weights always sum to one
        values["norm_topk_prob"] = model.arch == "qwen3moe"
    lengths = {"expert_feed_forward_length": "moe_intermediate_size",
               "expert_shared_feed_forward_length": "shared_expert_intermediate_size"}
    for key, name in lengths.items():
        if f"{model.arch}.{key}" in model.fields:
            values[name] = model.fields[f"{model.arch}.{key}"]
    return values


def _both_expert_matrices(model, layer):
    gate, up = (model.weight32(f"blk.{layer}.{name}") for name in (_GATE_EXPERTS, _UP_EXPERTS))
    return np.concatenate([gate, up], axis=1)


def _state(model):
    names = dict(_LAYER_NAMES, **(_GEMMA_NORM_NAMES if model.gemma else _NORM_NAMES))
    names.update(_OWN_NAMES.get(model.arch, {}))
    outer = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
             "output.weight": "lm_head.weight"}
    state = {}
    for name in model.tensor_names():
        if name.startswith("rope_"):
            continue  # transformers has it, or derives it, from its configuration
        value = model.weight32(name)
        if name.startswith("blk."):
            _, layer, inner = name.split(".", 2)
            if inner == _GATE_EXPERTS:
                continue  # comes with the up matrices
            if inner == _UP_EXPERTS:
                value = _both_expert_matrices(model, layer)
            target = f"model.layers.{layer}.{names[inner]}"
        else:
            target = outer[name]
        if model.arch in ("llama", "granite", "granitemoe") and name.endswith(("attn_q.weight", "attn_k.weight")):
            value = _rotate_half_order(value, model.heads if "attn_q" in name else model.kv_heads)
        if name.endswith("ffn_gate_inp_shexp.weight"):
            value = value.reshape(1, -1)
        if model.gemma and "norm" in name:
            value = value - np.float32(1)  # transformers adds the one that the file already holds
        state[target] = torch.from_numpy(np.array(value, dtype=np.float32))
    state.setdefault("lm_head.weight", state["model.embed_tokens.weight"])
    return state


def _family(model, tied, llama3_rope):
    """(configuration, class, weights) of the file's model."""
    if model.arch in transformers_families.FAMILIES:
        vocab = model.weight32("token_embd.weight").shape[0]
        common = _common_config(model, vocab, tied, llama3_rope)
        config, cls, values = transformers_families.FAMILIES[model.arch](model, common)
        return config, cls, {name: torch.from_numpy(np.array(value)) for name, value in values.items()}
    state = _state(model)
    vocab = state["model.embed_tokens.weight"].shape[0]
    return _config(model, vocab, tied, llama3_rope), _classes(model)[1], state


def build(model, llama3_rope=None, dtype=torch.float32):
    """The transformers model of a Float64Model's file; Llama 3.1's scaling must be given (files hold its result)."""
    tied = "output.weight" not in model.tensor_names()
    config, cls, state = _family(model, tied, llama3_rope)
    built = cls(config)
    built.load_state_dict(state, strict=True)
    return built.to(dtype).eval()


def log_probs(built, tokens):
    """Natural log-probabilities [tokens, vocab], float64."""
    with torch.no_grad():
        logits = built(torch.tensor(np.asarray(tokens, dtype=np.int64))[None]).logits[0]
    return torch.log_softmax(logits.double(), dim=-1).numpy()
