#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models of several families, each a config.json alone: weights are random, nothing is downloaded.

    hf_models.py FOLDER     writes FOLDER/<name>/config.json for every model of SMALL
"""
from __future__ import annotations

import json
import sys
from pathlib import Path

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000, "hidden_size": 1024,
         "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2816,
         "max_position_embeddings": 4096, "rms_norm_eps": 1e-5}
QWEN3 = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 32000, "hidden_size": 512,
         "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64,
         "intermediate_size": 1536, "max_position_embeddings": 4096, "tie_word_embeddings": True}
DEEPSEEK = {"architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "vocab_size": 1000,
            "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
            "intermediate_size": 688, "moe_intermediate_size": 128, "n_routed_experts": 16, "n_shared_experts": 2,
            "num_experts_per_tok": 4, "first_k_dense_replace": 1, "kv_lora_rank": 64, "q_lora_rank": None,
            "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "head_dim": 16, "topk_method": "greedy",
            "n_group": 1, "topk_group": 1, "max_position_embeddings": 2048}
VISION = {"model_type": "clip_vision_model", "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4,
          "num_attention_heads": 4, "image_size": 224, "patch_size": 14, "projection_dim": 256}
LLAVA = {"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava", "image_token_index": 31999,
         "projector_hidden_act": "gelu", "vision_feature_layer": -2, "vision_feature_select_strategy": "default",
         "text_config": dict(LLAMA, num_hidden_layers=2), "vision_config": VISION}
CLIP = dict(VISION, architectures=["CLIPVisionModel"])

# Few layers, where every kernel is looked at. Experts few enough that each is met.
SMALL = {
    "llama": dict(LLAMA, num_hidden_layers=2),
    "qwen3": dict(QWEN3, num_hidden_layers=2),
    "deepseek_v2": dict(DEEPSEEK, num_hidden_layers=2, n_routed_experts=8, num_experts_per_tok=2),
    "llava": dict(LLAVA, vision_config=dict(VISION, num_hidden_layers=2)),
    "clip": dict(CLIP, num_hidden_layers=2),
}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for name, config in SMALL.items():
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
