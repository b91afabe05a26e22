"""Writes a tiny model (make_tiny_models.py) as the folder that Hugging Face transformers would save: the same weights
under its names and in its order, config.json, tokenizer.json. F32 models of the families in FAMILIES.

`python folder_writer.py DIR NAME ...` writes DIR/NAME; make_greedy_references.py compares them with transformers.
Needs numpy only.
"""

import json
import os
import struct
import sys

import numpy as np

import make_tiny_models
import tiny_families
import tiny_tokenizers

_SPACE = "\u2581"


def _llama(model, name):
    if model.experts:
        return {"model_type": "mixtral", "num_local_experts": model.experts, "num_experts_per_tok": model.experts_used,
                "sliding_window": None}
    return {"model_type": "llama", "attention_bias": False, "mlp_bias": False}


def _qwen2moe(model, name):
    return {"model_type": "qwen2_moe", "num_experts": model.experts, "num_experts_per_tok": model.experts_used,
            "moe_intermediate_size": model.expert_ff, "shared_expert_intermediate_size": model.shared_ff,
            "norm_topk_prob": False, "decoder_sparse_step": 1, "mlp_only_layers": [], "use_sliding_window": False}


def _qwen3moe(model, name):
    return {"model_type": "qwen3_moe", "num_experts": model.experts, "num_experts_per_tok": model.experts_used,
            "moe_intermediate_size": model.expert_ff, "norm_topk_prob": True, "decoder_sparse_step": 1,
            "mlp_only_layers": [], "use_sliding_window": False}


def _olmoe(model, name):
    return {"model_type": "olmoe", "num_experts": model.experts, "num_experts_per_tok": model.experts_used,
            "norm_topk_prob": False, "clip_qkv": None}


def _gemma3(model, name):
    return {"model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": model.window,
            "query_pre_attn_scalar": model.head_dim, "sliding_window_pattern": 6, "rope_local_base_freq": 10000.0,
            "attn_logit_softcapping": None, "final_logit_softcapping": None}


def _gemma2(model, name):
    is_27b = model.layers == 46
    return {"model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": model.window,
            "query_pre_attn_scalar": model.hidden // model.heads if is_27b else model.head_dim,
            "attn_logit_softcapping": model.details.attention, "final_logit_softcapping": model.details.final}


def _granite(model, name):
    scales = model.details
    config = {"model_type": model.arch, "embedding_multiplier": scales.embedding, "logits_scaling": scales.logit,
              "attention_multiplier": scales.attention, "residual_multiplier": scales.residual}
    if model.experts:
        config.update(num_local_experts=model.experts, num_experts_per_tok=model.experts_used)
    return config


def _phi3(model, name):
    config = {"model_type": "phi3", "sliding_window": model.window or None,
              "original_max_position_embeddings": model.long_rope[1] if model.long_rope else model.context}
    if model.rotary:
        config["partial_rotary_factor"] = model.rotary / model.head_dim
    return config


def _deepseek2(model, name):
    latent = model.details
    third = latent.gating == tiny_families.SIGMOID_GATING
    config = {"model_type": "deepseek_v3" if third else "deepseek_v2", "num_key_value_heads": model.heads,
              "kv_lora_rank": latent.rank, "q_lora_rank": latent.query_rank or None, "v_head_dim": latent.value,
              "qk_nope_head_dim": latent.plain, "qk_rope_head_dim": latent.rotary,
              "first_k_dense_replace": latent.dense_layers, "n_routed_experts": model.experts,
              "num_experts_per_tok": model.experts_used, "moe_intermediate_size": model.expert_ff,
              "n_shared_experts": latent.shared_experts, "routed_scaling_factor": latent.weights_scale,
              "norm_topk_prob": third}
    if third:
        config.update(n_group=latent.groups[0], topk_group=latent.groups[1])
    else:
        config.update(topk_method="greedy", n_group=1, topk_group=1)
    return config


# GGUF's architecture -> a function that gives what only the family's config.json has.
FAMILIES = {"llama": _llama, "qwen2": lambda model, name: {"model_type": "qwen2", "use_sliding_window": False},
            "qwen3": lambda model, name: {"model_type": "qwen3", "use_sliding_window": False}, "gemma2": _gemma2,
            "gemma3": _gemma3,
            "qwen2moe": _qwen2moe, "qwen3moe": _qwen3moe, "olmoe": _olmoe, "granite": _granite, "granitemoe": _granite,
            "phi3": _phi3, "deepseek2": _deepseek2}


def names():
    """The tiny models that can be written as folders."""
    return [name for name, model in make_tiny_models.MODELS.items()
            if model.arch in FAMILIES and model.types == ("F32",) and model.embedding_type == "F32"]


def _rope_scaling(model):
    if model.llama3_rope:
        factor, low, high, original = model.llama3_rope
        return {"rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
                "original_max_position_embeddings": original}
    if model.linear_rope:
        return {"rope_type": "linear", "factor": model.linear_rope}
    if model.long_rope:
        short, long = make_tiny_models.long_rope_factors(model)
        scaling = {"rope_type": "longrope", "short_factor": [float(x) for x in short],
                   "long_factor": [float(x) for x in long]}
        if model.arch == "phi3":
            return scaling
        return {**scaling, "factor": model.long_rope[0], "original_max_position_embeddings": model.long_rope[1],
                "attention_factor": make_tiny_models.long_rope_attention_factor(model)}
    if model.yarn_rope:
        factor, original, fast, slow = model.yarn_rope
        betas = {"beta_fast": fast, "beta_slow": slow} if fast else {}
        if model.arch == "deepseek2":
            mscale = 10 * model.details.yarn_log_multiplier
            betas.update(mscale=mscale, mscale_all_dim=mscale)
        return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, **betas}
    return None


def _class_name(model_type):
    parts = {"gemma3_text": "Gemma3", "granitemoe": "GraniteMoe", "deepseek_v2": "DeepseekV2",
             "deepseek_v3": "DeepseekV3"}.get(model_type)
    return (parts or "".join(part.capitalize() for part in model_type.split("_"))) + "ForCausalLM"


def config(name):
    """config.json, with rope_theta and rope_scaling as writers of 2024 have them."""
    model = make_tiny_models.MODELS[name]
    family = FAMILIES[model.arch](model, name)
    values = {"architectures": [_class_name(family["model_type"])], "vocab_size": model.vocab,
              "hidden_size": model.hidden, "num_hidden_layers": model.layers, "intermediate_size": model.ff,
              "num_attention_heads": model.heads, "num_key_value_heads": model.kv_heads,
              "max_position_embeddings": model.context, "rms_norm_eps": model.eps, "rope_theta": model.rope_base,
              "rope_scaling": _rope_scaling(model), "tie_word_embeddings": model.tied, "torch_dtype": "float32",
              "hidden_act": "silu", **family}
    ids = tiny_tokenizers.tables(model.tokenizer, model.vocab).ids
    values.update(bos_token_id=ids["bos"], eos_token_id=ids["eos"], pad_token_id=None)
    if model.explicit_head_dim:
        values["head_dim"] = model.head_dim
    return values


# GGUF's name inside a layer -> transformers'.
_INNER = {
    "attn_norm.weight": "input_layernorm.weight", "ffn_norm.weight": "post_attention_layernorm.weight",
    **{f"attn_{part}.{kind}": f"self_attn.{part}_proj.{kind}" for part in "qkv" for kind in ("weight", "bias")},
    "attn_q_norm.weight": "self_attn.q_norm.weight", "attn_k_norm.weight": "self_attn.k_norm.weight",
    "attn_output.weight": "self_attn.o_proj.weight", "attn_qkv.weight": "self_attn.qkv_proj.weight",
    **{f"ffn_{part}.weight": f"mlp.{part}_proj.weight" for part in ("gate", "up", "down")},
    "ffn_gate_inp.weight": "mlp.gate.weight",
    **{f"ffn_{part}_exps.weight": f"mlp.experts.{{}}.{part}_proj.weight" for part in ("gate", "up", "down")},
    "ffn_gate_inp_shexp.weight": "mlp.shared_expert_gate.weight",
    **{f"ffn_{part}_shexp.weight": f"mlp.shared_expert.{part}_proj.weight" for part in ("gate", "up", "down")},
}
_GEMMA_INNER = {"post_attention_norm.weight": "post_attention_layernorm.weight",
                "ffn_norm.weight": "pre_feedforward_layernorm.weight",
                "post_ffw_norm.weight": "post_feedforward_layernorm.weight"}
_OWN_INNER = {
    "gemma2": _GEMMA_INNER, "gemma3": _GEMMA_INNER,
    "phi3": {"ffn_up.weight": "mlp.gate_up_proj.weight"},
    "deepseek2": {"attn_q_a.weight": "self_attn.q_a_proj.weight", "attn_q_b.weight": "self_attn.q_b_proj.weight",
                  "attn_q_a_norm.weight": "self_attn.q_a_layernorm.weight",
                  "attn_kv_a_mqa.weight": "self_attn.kv_a_proj_with_mqa.weight",
                  "attn_kv_a_norm.weight": "self_attn.kv_a_layernorm.weight",
                  "attn_kv_b.weight": "self_attn.kv_b_proj.weight", "attn_v_b.weight": "self_attn.kv_b_proj.weight",
                  "exp_probs_b.bias": "mlp.gate.e_score_correction_bias",
                  **{f"ffn_{part}_shexp.weight": f"mlp.shared_experts.{part}_proj.weight"
                     for part in ("gate", "up", "down")}},
    "llama": {"ffn_gate_inp.weight": "block_sparse_moe.gate.weight",
              **{f"ffn_{part}_exps.weight": f"block_sparse_moe.experts.{{}}.{theirs}.weight"
                 for part, theirs in (("gate", "w1"), ("down", "w2"), ("up", "w3"))}},
    "granitemoe": {"ffn_gate_inp.weight": "block_sparse_moe.router.layer.weight",
                   "ffn_up_exps.weight": "block_sparse_moe.input_linear.weight",
                   "ffn_down_exps.weight": "block_sparse_moe.output_linear.weight"},
}
_OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
          "output.weight": "lm_head.weight"}


def _halves(rows, heads):
    """Rows that turn together, side by side in GGUF, as the two halves of a head."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def weights(name):
    """transformers' name -> float32 array."""
    model = make_tiny_models.MODELS[name]
    made = {tensor.name: np.frombuffer(tensor.data, "<f4").reshape(tensor.dims[::-1])
            for tensor in make_tiny_models.tensors(model, make_tiny_models.TensorMaker(model))}
    inner_names = {**_INNER, **_OWN_INNER.get(model.arch, {})}
    result = {}
    for ours, value in made.items():
        if ours.startswith("rope_"):
            continue  # config.json says it
        block, inner = ours.split(".", 2)[1:] if ours.startswith("blk.") else (None, ours)
        if model.arch in ("gemma2", "gemma3") and "norm" in ours:
            value = value - np.float32(1)
        if model.arch in ("llama", "granite", "granitemoe") and inner in ("attn_q.weight", "attn_k.weight"):
            value = _halves(value, model.heads if inner == "attn_q.weight" else model.kv_heads)
        if model.arch == "granitemoe" and inner == "ffn_gate_exps.weight":
            continue  # comes with the up matrices
        if model.arch == "granitemoe" and inner == "ffn_up_exps.weight":
            value = np.concatenate([made[f"blk.{block}.ffn_gate_exps.weight"], value], axis=1)
        if inner == "attn_k_b.weight":
            continue  # comes with the values' matrices
        if inner == "attn_v_b.weight":
            keys = made[f"blk.{block}.attn_k_b.weight"].swapaxes(1, 2)
            value = np.concatenate([keys, value], axis=1).reshape(-1, model.details.rank)
        if inner == "ffn_gate_inp_shexp.weight":
            value = value.reshape(1, -1)
        theirs = f"model.layers.{block}.{inner_names[inner]}" if block else _OUTER[ours]
        if "{}" in theirs:
            result.update({theirs.format(expert): matrix for expert, matrix in enumerate(value)})
        else:
            result[theirs] = value
    return result


def _scored_merges(tokenizer):
    """Merges in the order of their pieces' scores: every way to cut a piece in two, the best piece first."""
    known = {piece: index for index, piece in enumerate(tokenizer.tokens)
             if tokenizer.types[index] == tiny_tokenizers.NORMAL}
    cuts = [(-tokenizer.scores[index], -cut, cut - len(piece), index, piece[:cut], piece[cut:])
            for piece, index in known.items() for cut in range(1, len(piece))
            if piece[:cut] in known and piece[cut:] in known]
    return [list(cut[4:]) for cut in sorted(cuts)]


_QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
_LLAMA3 = _QWEN2.replace(r"\p{N}| ?", r"\p{N}{1,3}| ?", 1)


def _byte_level(tokenizer):
    split = {"type": "Split", "pattern": {"Regex": _QWEN2 if tokenizer.pre == "qwen2" else _LLAMA3},
             "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {"normalizer": {"type": "NFC"} if tokenizer.pre == "qwen2" else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}}


def _sentence_piece(tokenizer):
    mark = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    steps = [{"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}, {"type": "ByteFallback"},
             {"type": "Fuse"}]
    if not tokenizer.space_prefix:
        return {"normalizer": mark, "pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": steps}}
    steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _SPACE}, mark]},
            "pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": steps}}


def _bos_processor(tokenizer):
    token, text = tokenizer.tokens[tokenizer.ids["bos"]], {"Sequence": {"id": "A", "type_id": 0}}
    start = {"SpecialToken": {"id": token, "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [start, text],
            "pair": [start, text, start, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {token: {"id": token, "ids": [tokenizer.ids["bos"]], "tokens": [token]}}}


def tokenizer_json(tokenizer):
    """tokenizer.json of one of tiny_tokenizers'."""
    special = (tiny_tokenizers.CONTROL, tiny_tokenizers.UNKNOWN)
    byte_level = tokenizer.merges is not None
    unknown = None if byte_level else tokenizer.tokens[tokenizer.ids["unknown"]]
    merges = [list(pair) for pair in tokenizer.merges] if byte_level else _scored_merges(tokenizer)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": token, "content": tokenizer.tokens[token], "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}
                         for token, kind in enumerate(tokenizer.types) if kind in special],
        **(_byte_level(tokenizer) if byte_level else _sentence_piece(tokenizer)),
        "post_processor": _bos_processor(tokenizer) if tokenizer.add_bos else None,
        "model": {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": not byte_level, "byte_fallback": not byte_level,
                  "ignore_merges": tokenizer.pre == "llama-bpe",
                  "vocab": {piece: token for token, piece in enumerate(tokenizer.tokens)}, "merges": merges},
    }


def write_safetensors(path, arrays):
    """float32 arrays as one safetensors file."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, "<f4").tobytes())


def _write_weights(folder, arrays, parts):
    if parts == 1:
        write_safetensors(os.path.join(folder, "model.safetensors"), arrays)
        return
    listed = list(arrays.items())
    weight_map = {}
    for part in range(parts):
        file_name = f"model-{part + 1:05}-of-{parts:05}.safetensors"
        share = dict(listed[part::parts])
        write_safetensors(os.path.join(folder, file_name), share)
        weight_map.update(dict.fromkeys(share, file_name))
    _write_json(folder, "model.safetensors.index.json", {"metadata": {}, "weight_map": weight_map})


def _write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


def write_tokenizer(tokenizer, folder):
    """Writes tokenizer.json and tokenizer_config.json of one of tiny_tokenizers'."""
    _write_json(folder, "tokenizer.json", tokenizer_json(tokenizer))
    _write_json(folder, "tokenizer_config.json",
                {**{f"{key}_token": tokenizer.tokens[tokenizer.ids[key]] for key in ("bos", "eos")},
                 "chat_template": tokenizer.template, "tokenizer_class": "PreTrainedTokenizerFast"})


def write_folder(name, folder, parts=1):
    """Writes the model `name` as a folder, its weights in this many files."""
    os.makedirs(folder, exist_ok=True)
    model = make_tiny_models.MODELS[name]
    tokenizer = tiny_tokenizers.tables(model.tokenizer, model.vocab)
    _write_json(folder, "config.json", config(name))
    write_tokenizer(tokenizer, folder)
    _write_weights(folder, weights(name), parts)


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        write_folder(wanted, os.path.join(sys.argv[1], wanted))
