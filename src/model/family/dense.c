/* SPDX-License-Identifier: Apache-2.0 */
/* Dense decoders and text encoders. The class defaults are transformers' (5.17); a key that is not
 * listed has no default. */
#include "model/family/like_llama.h"

static const struct lpo_decoder_family families[] = {
    { .model_type = "llama",
      .name = "Llama",
      .defaults = "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
                  "num_attention_heads=32 max_position_embeddings=2048",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp_bias = "mlp_bias",
      .window = LPO_WINDOW_NONE },
    { .model_type = "mistral",
      .name = "Mistral",
      .defaults = "vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
                  "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
                  "sliding_window=4096",
      LIKE_LLAMA },
    { .model_type = "qwen2",
      .name = "Qwen2",
      .defaults = "vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 "
                  "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=32768 "
                  "sliding_window=4096 use_sliding_window=false max_window_layers=28",
      LIKE_LLAMA,
      .qkv_bias = "yes",
      .window = LPO_WINDOW_ABOVE },
    { .model_type = "qwen3|qwen3_vl_text",
      .name = "Qwen3",
      .defaults = "vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 "
                  "num_attention_heads=32 num_key_value_heads=32 head_dim=128 "
                  "max_position_embeddings=32768 sliding_window=4096 use_sliding_window=false "
                  "max_window_layers=28",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .window = LPO_WINDOW_ABOVE },
    { .model_type = "mimo",
      .name = "MiMo",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .window = LPO_WINDOW_ABOVE },
    { .model_type = "qwen3_5_text",
      .name = "Qwen3.5",
      .defaults = "attn_output_gate=true full_attention_interval=4 linear_conv_kernel_dim=4",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .window = LPO_WINDOW_NONE },
    /* Searched architectures: a record per layer. */
    { .model_type = "nemotron-nas",
      .name = "Nemotron, searched",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp_bias = "mlp_bias",
      .window = LPO_WINDOW_NONE },
    { .model_type = "gemma",
      .name = "Gemma",
      .defaults = "vocab_size=256000 hidden_size=3072 intermediate_size=24576 num_hidden_layers=28 "
                  "num_attention_heads=16 num_key_value_heads=16 head_dim=256 "
                  "max_position_embeddings=8192 tie_word_embeddings=true",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .window = LPO_WINDOW_NONE },
    { .model_type = "gemma2",
      .name = "Gemma 2",
      .defaults = "vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
                  "num_attention_heads=8 num_key_value_heads=4 head_dim=256 "
                  "max_position_embeddings=8192 tie_word_embeddings=true sliding_window=4096",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .norms = "input_layernorm post_attention_layernorm pre_feedforward_layernorm "
               "post_feedforward_layernorm",
      .window = LPO_WINDOW_PATTERN,
      .window_every = 2 },
    { .model_type = "gemma3_text",
      .name = "Gemma 3",
      .defaults = "vocab_size=262208 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
                  "num_attention_heads=8 num_key_value_heads=4 head_dim=256 "
                  "max_position_embeddings=131072 tie_word_embeddings=true sliding_window=4096",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .norms = "input_layernorm post_attention_layernorm pre_feedforward_layernorm "
               "post_feedforward_layernorm",
      .rotary_per_type = true,
      .window = LPO_WINDOW_PATTERN,
      .window_every = 6 },
    { .model_type = "phi",
      .name = "Phi",
      .defaults = "vocab_size=51200 hidden_size=2048 intermediate_size=8192 num_hidden_layers=24 "
                  "num_attention_heads=32 max_position_embeddings=2048 partial_rotary_factor=0.5",
      LIKE_LLAMA,
      .final_norm = "final_layernorm",
      .head_bias = "yes",
      .o = "dense",
      .qkv_bias = "yes",
      .o_bias = "yes",
      .qk_norm = "qk_layernorm",
      .qk_norm_form = LPO_QK_NORM_HEAD_LN,
      .q_norm = "q_layernorm",
      .k_norm = "k_layernorm",
      .norms = "input_layernorm",
      .norm_bias = true,
      .mlp_form = LPO_MLP_PLAIN,
      .up = "fc1",
      .down = "fc2",
      .mlp_bias = "yes",
      .window = LPO_WINDOW_NONE },
    { .model_type = "phi3",
      .name = "Phi-3",
      .defaults = "vocab_size=32064 hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 "
                  "num_attention_heads=32 max_position_embeddings=4096",
      LIKE_LLAMA,
      .qkv = "qkv_proj",
      .mlp_form = LPO_MLP_GATED_FUSED,
      .up = "gate_up_proj" },
    { .model_type = "gpt2",
      .name = "GPT-2",
      .defaults = "vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 "
                  "tie_word_embeddings=true",
      .root = "transformer",
      .embed = "wte",
      .positions = "wpe",
      .layers = "h",
      .final_norm = "ln_f",
      .head = "lm_head",
      .attn = "attn",
      .qkv = "c_attn",
      .o = "c_proj",
      .qkv_bias = "yes",
      .o_bias = "yes",
      .in_first = true,
      .norms = "ln_1 ln_2",
      .norm_bias = true,
      .mlp = "mlp",
      .mlp_form = LPO_MLP_PLAIN,
      .up = "c_fc",
      .down = "c_proj",
      .mlp_bias = "yes",
      .no_rotary = true,
      .window = LPO_WINDOW_NONE },
    { .model_type = "gpt_neox",
      .name = "GPT-NeoX",
      .defaults = "vocab_size=50432 hidden_size=6144 intermediate_size=24576 num_hidden_layers=44 "
                  "num_attention_heads=64 max_position_embeddings=2048 attention_bias=true "
                  "partial_rotary_factor=0.25",
      .root = "gpt_neox",
      .embed = "embed_in",
      .layers = "layers",
      .final_norm = "final_layer_norm",
      .head = "lm_head",
      .attn = "attention",
      .qkv = "query_key_value",
      .o = "dense",
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .norms = "input_layernorm post_attention_layernorm",
      .norm_bias = true,
      .mlp = "mlp",
      .mlp_form = LPO_MLP_PLAIN,
      .up = "dense_h_to_4h",
      .down = "dense_4h_to_h",
      .mlp_bias = "yes",
      .window = LPO_WINDOW_NONE },
#define LIKE_FALCON                                                                                \
    .model_type = "falcon", .name = "Falcon",                                                      \
    .defaults = "vocab_size=65024 hidden_size=4544 num_hidden_layers=32 num_attention_heads=71 "   \
                "max_position_embeddings=2048 multi_query=true parallel_attn=true bias=false "     \
                "tie_word_embeddings=true",                                                        \
    .root = "transformer", .embed = "word_embeddings", .layers = "h", .final_norm = "ln_f",        \
    .head = "lm_head", .attn = "self_attention", .qkv = "query_key_value", .o = "dense",           \
    .qkv_bias = "bias", .o_bias = "bias", .bias_after = true, .norm_bias = true, .mlp = "mlp",     \
    .mlp_form = LPO_MLP_PLAIN, .up = "dense_h_to_4h", .down = "dense_4h_to_h", .mlp_bias = "bias", \
    .window = LPO_WINDOW_NONE
    { LIKE_FALCON, .when = "parallel_attn=false",
      .norms = "input_layernorm post_attention_layernorm" },
    { LIKE_FALCON, .when = "num_ln_in_parallel_attn=1", .norms = "input_layernorm" },
    { LIKE_FALCON, .when = "num_ln_in_parallel_attn=2", .norms = "ln_attn ln_mlp" },
    { LIKE_FALCON, .when = "new_decoder_architecture=true", .norms = "ln_attn ln_mlp" },
    { LIKE_FALCON, .norms = "input_layernorm" },
    { .model_type = "starcoder2",
      .name = "StarCoder2",
      .defaults = "vocab_size=49152 hidden_size=3072 intermediate_size=12288 num_hidden_layers=30 "
                  "num_attention_heads=24 num_key_value_heads=2 max_position_embeddings=4096 "
                  "use_bias=true tie_word_embeddings=true",
      LIKE_LLAMA,
      .qkv_bias = "use_bias",
      .o_bias = "use_bias",
      .norm_bias = true,
      .mlp_form = LPO_MLP_PLAIN,
      .up = "c_fc",
      .down = "c_proj",
      .mlp_bias = "use_bias" },
    { .model_type = "olmo2",
      .name = "OLMo 2",
      .defaults = "vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
                  "num_attention_heads=32 max_position_embeddings=2048",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .qk_norm_form = LPO_QK_NORM_WIDE,
      .norms = "post_attention_layernorm post_feedforward_layernorm",
      .window = LPO_WINDOW_NONE },
    { .model_type = "granite",
      .name = "Granite",
      .defaults = "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
                  "num_attention_heads=32 max_position_embeddings=2048",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp_bias = "mlp_bias",
      .window = LPO_WINDOW_NONE },
    { .model_type = "cohere",
      .name = "Cohere",
      .defaults = "vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
                  "num_attention_heads=64 max_position_embeddings=8192 tie_word_embeddings=true",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "use_qk_norm",
      .qk_norm_form = LPO_QK_NORM_MATRIX,
      .norms = "input_layernorm",
      .window = LPO_WINDOW_NONE },
    { .model_type = "cohere2",
      .name = "Cohere 2",
      .defaults = "vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
                  "num_attention_heads=64 max_position_embeddings=8192 tie_word_embeddings=true "
                  "sliding_window=4096",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .norms = "input_layernorm",
      .window = LPO_WINDOW_PATTERN,
      .window_every = 4 },
#define LIKE_STABLELM                                                                              \
    .model_type = "stablelm", .name = "StableLM",                                                  \
    .defaults = "vocab_size=50304 hidden_size=2560 intermediate_size=6912 num_hidden_layers=32 "   \
                "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=4096 "      \
                "partial_rotary_factor=0.25",                                                      \
    LIKE_LLAMA, .qkv_bias = "use_qkv_bias", .qk_norm = "qk_layernorm",                             \
    .qk_norm_form = LPO_QK_NORM_PER_HEAD, .q_norm = "q_layernorm", .k_norm = "k_layernorm",        \
    .norm_bias = true, .window = LPO_WINDOW_NONE
    { LIKE_STABLELM, .when = "use_parallel_residual=true", .norms = "input_layernorm" },
    { LIKE_STABLELM },
#define LIKE_GLM                                                                                   \
    .defaults = "vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 " \
                "num_attention_heads=32 num_key_value_heads=2 head_dim=128 "                       \
                "max_position_embeddings=131072 attention_bias=true partial_rotary_factor=0.5",    \
    LIKE_LLAMA, .qkv_bias = "attention_bias", .mlp_form = LPO_MLP_GATED_FUSED,                     \
    .up = "gate_up_proj", .window = LPO_WINDOW_NONE
    { .model_type = "glm", .name = "GLM", LIKE_GLM },
    { .model_type = "glm4",
      .name = "GLM-4",
      LIKE_GLM,
      .norms = "input_layernorm post_attention_layernorm post_self_attn_layernorm "
               "post_mlp_layernorm" },
    { .model_type = "smollm3",
      .name = "SmolLM3",
      .defaults = "vocab_size=128256 hidden_size=2048 intermediate_size=11008 num_hidden_layers=36 "
                  "num_attention_heads=16 num_key_value_heads=4 max_position_embeddings=32768 "
                  "tie_word_embeddings=true use_sliding_window=false",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp_bias = "mlp_bias" },
    { .model_type = "ernie4_5",
      .name = "Ernie 4.5",
      .defaults = "vocab_size=103424 hidden_size=1024 intermediate_size=3072 num_hidden_layers=18 "
                  "num_attention_heads=16 num_key_value_heads=2 head_dim=128 "
                  "max_position_embeddings=131072 tie_word_embeddings=true",
      LIKE_LLAMA,
      .qkv_bias = "use_bias",
      .o_bias = "use_bias",
      .mlp_bias = "use_bias",
      .window = LPO_WINDOW_NONE },
#define LIKE_CLIP_TEXT                                                                             \
    .root = "", .embed = "embeddings.token_embedding",                                             \
    .positions = "embeddings.position_embedding", .layers = "encoder.layers",                      \
    .final_norm = "final_layer_norm", .attn = "self_attn", .q = "q_proj", .k = "k_proj",           \
    .v = "v_proj", .o = "out_proj", .qkv_bias = "yes", .o_bias = "yes",                            \
    .norms = "layer_norm1 layer_norm2", .norm_bias = true, .mlp = "mlp",                           \
    .mlp_form = LPO_MLP_PLAIN, .up = "fc1", .down = "fc2", .mlp_bias = "yes", .no_rotary = true,   \
    .window = LPO_WINDOW_NONE, .no_cache = true
    { .model_type = "clip_text_model",
      .name = "CLIP text",
      .defaults = "vocab_size=49408 hidden_size=512 intermediate_size=2048 num_hidden_layers=12 "
                  "num_attention_heads=8 max_position_embeddings=77",
      LIKE_CLIP_TEXT },
    { .model_type = "siglip_text_model",
      .name = "SigLIP text",
      .defaults = "vocab_size=32000 hidden_size=768 intermediate_size=3072 num_hidden_layers=12 "
                  "num_attention_heads=12 max_position_embeddings=64",
      LIKE_CLIP_TEXT,
      .pooled = "head",
      .bidirectional = true },
};

const struct lpo_decoder_rows lpo_model_dense_families = { families,
                                                           sizeof families / sizeof *families };
