#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_shards.py DIR SHARDS: a Llama of that many safetensors shards, headers only (the data is a hole).

The config.json and the index are those of a 70B model; every shard holds an equal part of the tensors."""
import json
import os
import struct
import sys

HIDDEN, LAYERS, HEADS, KV, FFN, VOCAB = 8192, 80, 64, 8, 28672, 128256


def tensors():
    yield "model.embed_tokens.weight", [VOCAB, HIDDEN]
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        for name, shape in (("self_attn.q_proj", [HIDDEN, HIDDEN]), ("self_attn.k_proj", [KV * 128, HIDDEN]),
                            ("self_attn.v_proj", [KV * 128, HIDDEN]), ("self_attn.o_proj", [HIDDEN, HIDDEN]),
                            ("mlp.gate_proj", [FFN, HIDDEN]), ("mlp.up_proj", [FFN, HIDDEN]),
                            ("mlp.down_proj", [HIDDEN, FFN]), ("input_layernorm", [HIDDEN]),
                            ("post_attention_layernorm", [HIDDEN])):
            yield at + name + ".weight", shape
    yield "model.norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCAB, HIDDEN]


def main(folder, shards):
    os.makedirs(folder, exist_ok=True)
    parts = [[] for _ in range(shards)]
    for i, t in enumerate(tensors()):
        parts[i % shards].append(t)
    index = {}
    for i, part in enumerate(parts):
        name, header, at = f"model-{i + 1:05d}-of-{shards:05d}.safetensors", {}, 0
        for tensor, shape in part:
            size = 2
            for d in shape:
                size *= d
            header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            index[tensor] = name
            at += size
        text = json.dumps(header).encode()
        with open(os.path.join(folder, name), "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            f.truncate(8 + len(text) + at)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
        json.dump({"weight_map": index}, f)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
                   "num_attention_heads": HEADS, "num_key_value_heads": KV, "intermediate_size": FFN,
                   "vocab_size": VOCAB, "torch_dtype": "bfloat16", "max_position_embeddings": 131072}, f)


main(sys.argv[1], int(sys.argv[2]))
