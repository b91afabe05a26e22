"""The parts of transformers_model.py for models whose tensors have other names there: GPT-2, gpt-oss, DeepSeek.

Each family is a function (model, common configuration values) that gives a configuration, the class of
the model, and its weights by transformers' names.
"""

import numpy as np
import transformers

import float64_families

_OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
          "output.weight": "lm_head.weight"}


def _blocks(model):
    """(layer or None, name inside the layer, values) of each tensor that transformers does not derive itself."""
    for name in model.tensor_names():
        if name.startswith("blk."):
            _, layer, inner = name.split(".", 2)
            yield int(layer), inner, model.weight32(name)
        elif not name.startswith("rope_"):
            yield None, name, model.weight32(name)


def gpt2(model, common):
    outer = {"token_embd.weight": "wte.weight", "position_embd.weight": "wpe.weight",
             "output_norm.weight": "ln_f.weight", "output_norm.bias": "ln_f.bias"}
    inner = {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2",
             "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
    state = {}
    for layer, name, value in _blocks(model):
        if layer is None:
            state["transformer." + outer[name]] = value
            continue
        part, kind = name.split(".")
        # transformers keeps these matrices with the inputs first.
        state[f"transformer.h.{layer}.{inner[part]}.{kind}"] = value.T if value.ndim == 2 else value
    state["lm_head.weight"] = state["transformer.wte.weight"]
    config = transformers.GPT2Config(
        vocab_size=common["vocab_size"], n_positions=common["max_position_embeddings"], n_embd=model.hidden,
        n_layer=model.layers, n_head=model.heads, n_inner=common["intermediate_size"], layer_norm_epsilon=model.eps,
        activation_function="gelu_new", attn_implementation="eager", bos_token_id=None, eos_token_id=None)
    return config, transformers.GPT2LMHeadModel, state


_GPT_OSS_NAMES = {"attn_norm.weight": "input_layernorm.weight",
                  "post_attention_norm.weight": "post_attention_layernorm.weight",
                  "attn_sinks.weight": "self_attn.sinks", "ffn_gate_inp.weight": "mlp.router.weight",
                  "ffn_gate_inp.bias": "mlp.router.bias", "ffn_down_exps.weight": "mlp.experts.down_proj",
                  "ffn_down_exps.bias": "mlp.experts.down_proj_bias",
                  **{f"attn_{part[0] if part[0] != 'o' else 'output'}.{kind}": f"self_attn.{part}.{kind}"
                     for part in ("q_proj", "k_proj", "v_proj", "o_proj") for kind in ("weight", "bias")}}


def gpt_oss(model, common):
    state = {}
    for layer, name, value in _blocks(model):
        if layer is None:
            state[_OUTER[name]] = value
            continue
        target = f"model.layers.{layer}."
        if name.startswith("ffn_gate_exps."):
            continue  # comes with the up matrices
        if name.startswith("ffn_up_exps."):  # transformers has gate and up in turn
            kind = name.split(".")[1]
            gate = model.weight32(f"blk.{layer}.ffn_gate_exps.{kind}")
            both = np.stack([gate, value], axis=2).reshape(len(gate), -1, *gate.shape[2:])
            target += "mlp.experts.gate_up_proj" + ("" if kind == "weight" else "_bias")
            state[target] = both.swapaxes(1, 2) if kind == "weight" else both
        else:
            target += _GPT_OSS_NAMES[name]
            state[target] = value.swapaxes(1, 2) if name == "ffn_down_exps.weight" else value
    common["rope_parameters"]["truncate"] = False
    common["intermediate_size"] = model.fields["gpt-oss.expert_feed_forward_length"]
    config = transformers.GptOssConfig(
        **common, num_local_experts=model.experts, num_experts_per_tok=model.experts_used,
        sliding_window=model.fields["gpt-oss.attention.sliding_window"], attention_bias=True,
        swiglu_alpha=float64_families.GPT_OSS_ALPHA, swiglu_limit=float64_families.GPT_OSS_LIMIT,
        experts_implementation="eager")
    return config, transformers.GptOssForCausalLM, state


_DEEPSEEK_NAMES = {"attn_norm.weight": "input_layernorm.weight", "ffn_norm.weight": "post_attention_layernorm.weight",
                   "attn_q.weight": "self_attn.q_proj.weight", "attn_q_a.weight": "self_attn.q_a_proj.weight",
                   "attn_q_a_norm.weight": "self_attn.q_a_layernorm.weight",
                   "attn_q_b.weight": "self_attn.q_b_proj.weight",
                   "attn_kv_a_mqa.weight": "self_attn.kv_a_proj_with_mqa.weight",
                   "attn_kv_a_norm.weight": "self_attn.kv_a_layernorm.weight",
                   "attn_kv_b.weight": "self_attn.kv_b_proj.weight", "attn_output.weight": "self_attn.o_proj.weight",
                   "ffn_gate_inp.weight": "mlp.gate.weight", "exp_probs_b.bias": "mlp.gate.e_score_correction_bias",
                   "ffn_down_exps.weight": "mlp.experts.down_proj",
                   **{f"ffn_{part}.weight": f"mlp.{part}_proj.weight" for part in ("gate", "up", "down")},
                   **{f"ffn_{part}_shexp.weight": f"mlp.shared_experts.{part}_proj.weight"
                      for part in ("gate", "up", "down")}}


def _deepseek_state(model):
    state = {}
    for layer, name, value in _blocks(model):
        if layer is None:
            state[_OUTER[name]] = value
            continue
        target = f"model.layers.{layer}."
        if name in ("ffn_gate_exps.weight", "attn_k_b.weight"):
            continue  # come with their other halves
        if name == "ffn_up_exps.weight":
            gate = model.weight32(f"blk.{layer}.ffn_gate_exps.weight")
            state[target + "mlp.experts.gate_up_proj"] = np.concatenate([gate, value], axis=1)
        elif name == "attn_v_b.weight":
            key = model.weight32(f"blk.{layer}.attn_k_b.weight").swapaxes(1, 2)
            both = np.concatenate([key, value], axis=1)
            state[target + "self_attn.kv_b_proj.weight"] = both.reshape(-1, both.shape[-1])
        else:
            state[target + _DEEPSEEK_NAMES[name]] = value
    return state


def deepseek2(model, common):
    def get(key, default=None):
        return model.fields.get(f"deepseek2.{key}", default)

    mscale = 10 * get("rope.scaling.yarn_log_multiplier", 0.0)
    common["rope_parameters"].update(mscale=mscale, mscale_all_dim=mscale)
    del common["head_dim"]
    common.update(
        num_key_value_heads=model.heads, first_k_dense_replace=get("leading_dense_block_count"),
        kv_lora_rank=model.latent, q_lora_rank=get("attention.q_lora_rank"), v_head_dim=model.value_dim,
        qk_rope_head_dim=model.rope_dim, qk_nope_head_dim=model.head_dim - model.rope_dim,
        n_routed_experts=model.experts, num_experts_per_tok=model.experts_used,
        n_shared_experts=get("expert_shared_count"), moe_intermediate_size=get("expert_feed_forward_length"),
        routed_scaling_factor=get("expert_weights_scale"), norm_topk_prob=bool(get("expert_weights_norm", False)),
        n_group=get("expert_group_count", 1), topk_group=get("expert_group_used_count", 1),
        experts_implementation="eager")
    if get("expert_gating_func") == float64_families.SIGMOID_GATING:
        return transformers.DeepseekV3Config(**common), transformers.DeepseekV3ForCausalLM, _deepseek_state(model)
    config = transformers.DeepseekV2Config(**common, topk_method="greedy")
    return config, transformers.DeepseekV2ForCausalLM, _deepseek_state(model)


FAMILIES = {"gpt2": gpt2, "gpt-oss": gpt_oss, "deepseek2": deepseek2}
