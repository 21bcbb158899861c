/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders and text encoders: dense ones, then those with routed experts and with DeepSeek's latent
 * attention. The class defaults are transformers' (5.17); a key that is not listed has no default.
 * A row starts from Llama's names and overrides some of them. */
#include "model/family/family.h"

#include <string.h>

#include "model/family/fields.h"

/* A row repeats a member of LIKE_LLAMA to override it, which this warning is about. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define LIKE_LLAMA                                                                                 \
    .root = "model", .embed = "embed_tokens", .layers = "layers", .final_norm = "norm",            \
    .head = "lm_head", .attn = "self_attn", .q = "q_proj", .k = "k_proj", .v = "v_proj",           \
    .o = "o_proj", .q_norm = "q_norm", .k_norm = "k_norm",                                         \
    .norms = "input_layernorm post_attention_layernorm", .mlp = "mlp", .gate = "gate_proj",        \
    .up = "up_proj", .down = "down_proj"

static const struct lpo_moe_names plain_moe = { .router = "gate", .experts = "experts" };

static const struct lpo_moe_names shared_moe = {
    .router = "gate",
    .experts = "experts",
    .shared = "shared_experts",
};

static const struct lpo_moe_names qwen2_moe = {
    .router = "gate",
    .experts = "experts",
    .shared = "shared_expert",
    .shared_gate = "shared_expert_gate",
};

static const struct lpo_moe_names ernie_moe = {
    .router = "gate",
    .experts = "experts",
    .shared = "shared_experts",
    .correction = "moe_statics.e_score_correction_bias",
};

static const struct lpo_moe_names oss_moe = {
    .router = "router",
    .experts = "experts",
    .router_bias = true,
    .in_first = true,
    .expert_bias = true,
};

static const struct lpo_moe_names llama4_moe = {
    .router = "router",
    .experts = "experts",
    .shared = "shared_expert",
    .in_first = true,
};

static const struct lpo_moe_names gemma4_moe = { .module = "",
                                                 .router = "router.proj",
                                                 .experts = "experts" };

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
    { .model_type = "mixtral",
      .name = "Mixtral",
      .defaults = "vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
                  "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
                  "num_experts_per_tok=2 num_local_experts=8",
      LIKE_LLAMA,
      .moe = &plain_moe },
    { .model_type = "qwen2_moe",
      .name = "Qwen2 MoE",
      .defaults = "vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=24 "
                  "num_attention_heads=16 num_key_value_heads=16 max_position_embeddings=32768 "
                  "sliding_window=4096 use_sliding_window=false max_window_layers=28 qkv_bias=true "
                  "moe_intermediate_size=1408 shared_expert_intermediate_size=5632 "
                  "num_experts_per_tok=4 num_experts=60 decoder_sparse_step=1",
      LIKE_LLAMA,
      .qkv_bias = "qkv_bias",
      .window = LPO_WINDOW_ABOVE,
      .moe = &qwen2_moe },
    { .model_type = "qwen3_moe|qwen3_vl_moe_text",
      .name = "Qwen3 MoE",
      .defaults = "vocab_size=151936 hidden_size=2048 intermediate_size=6144 num_hidden_layers=24 "
                  "num_attention_heads=32 num_key_value_heads=4 max_position_embeddings=32768 "
                  "sliding_window=4096 use_sliding_window=false moe_intermediate_size=768 "
                  "num_experts_per_tok=8 num_experts=128 decoder_sparse_step=1",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .moe = &plain_moe },
    { .model_type = "olmoe",
      .name = "OLMoE",
      .defaults = "vocab_size=50304 hidden_size=2048 intermediate_size=2048 num_hidden_layers=16 "
                  "num_attention_heads=16 max_position_embeddings=4096 num_experts_per_tok=8 "
                  "num_experts=64",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .qk_norm_form = LPO_QK_NORM_WIDE,
      .window = LPO_WINDOW_NONE,
      .moe = &plain_moe },
    { .model_type = "glm4_moe",
      .name = "GLM-4 MoE",
      .defaults = "vocab_size=151552 hidden_size=4096 intermediate_size=10944 num_hidden_layers=46 "
                  "num_attention_heads=96 num_key_value_heads=8 max_position_embeddings=131072 "
                  "partial_rotary_factor=0.5 moe_intermediate_size=1408 num_experts_per_tok=8 "
                  "n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .qk_norm = "use_qk_norm",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "ernie4_5_moe",
      .name = "Ernie 4.5 MoE",
      .defaults = "vocab_size=103424 hidden_size=2560 intermediate_size=12288 num_hidden_layers=28 "
                  "num_attention_heads=20 num_key_value_heads=4 max_position_embeddings=131072 "
                  "tie_word_embeddings=true moe_intermediate_size=1536 moe_k=6 moe_num_experts=64 "
                  "moe_num_shared_experts=2 moe_layer_start_index=1 moe_layer_end_index=-1 "
                  "moe_layer_interval=1",
      LIKE_LLAMA,
      .head_bias = "use_bias",
      .qkv_bias = "use_bias",
      .o_bias = "use_bias",
      .mlp_bias = "use_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &ernie_moe },
    /* DeepSeek-OCR's decoder: V2's experts over plain attention. */
    { .model_type = "deepseek_v2",
      .name = "DeepSeek V2 without MLA",
      .when = "use_mla=false",
      .defaults = "use_mla=true vocab_size=102400 hidden_size=4096 intermediate_size=11008 "
                  "num_hidden_layers=30 num_attention_heads=32 max_position_embeddings=2048 "
                  "moe_intermediate_size=1407 n_shared_experts=null first_k_dense_replace=0",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "deepseek_v2",
      .name = "DeepSeek V2",
      .defaults = "use_mla=true vocab_size=32000 hidden_size=4096 intermediate_size=11008 "
                  "num_hidden_layers=32 num_attention_heads=32 max_position_embeddings=2048 "
                  "first_k_dense_replace=0 kv_lora_rank=512 q_lora_rank=1536 n_routed_experts=64 "
                  "n_shared_experts=2 qk_nope_head_dim=128 qk_rope_head_dim=64 v_head_dim=128 "
                  "moe_intermediate_size=1407",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "deepseek_v3|deepseek_v32|kimi_k2",
      .name = "DeepSeek V3",
      .defaults = "vocab_size=129280 hidden_size=7168 intermediate_size=18432 num_hidden_layers=61 "
                  "num_attention_heads=128 max_position_embeddings=4096 first_k_dense_replace=3 "
                  "kv_lora_rank=512 q_lora_rank=1536 n_routed_experts=256 n_shared_experts=1 "
                  "qk_nope_head_dim=128 qk_rope_head_dim=64 v_head_dim=128 num_experts_per_tok=8 "
                  "moe_intermediate_size=2048",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "gpt_oss",
      .name = "gpt-oss",
      .defaults = "vocab_size=201088 hidden_size=2880 intermediate_size=2880 num_hidden_layers=36 "
                  "num_attention_heads=64 num_key_value_heads=8 head_dim=64 sliding_window=128 "
                  "max_position_embeddings=131072 num_local_experts=128 num_experts_per_tok=4 "
                  "attention_bias=true",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .sinks = "sinks",
      .window = LPO_WINDOW_PATTERN,
      .window_every = 2,
      .moe = &oss_moe },
    /* GLM-5: DeepSeek V3 with the sparse attention of V3.2. */
    { .model_type = "glm_moe_dsa",
      .name = "GLM MoE with sparse attention",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "deepseek_v4|deepseek_ref",
      .name = "DeepSeek V4",
      LIKE_LLAMA,
      .attn = "attn",
      .mlp = "ffn",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    /* Gated DeltaNet in three layers of four. */
    { .model_type = "qwen3_next|qwen3_5_moe_text",
      .name = "Qwen3.5 MoE",
      .defaults = "attn_output_gate=true full_attention_interval=4 linear_conv_kernel_dim=4 "
                  "linear_num_value_heads=32 linear_num_key_heads=16 linear_key_head_dim=128 "
                  "linear_value_head_dim=128 decoder_sparse_step=1",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .window = LPO_WINDOW_NONE,
      .moe = &qwen2_moe },
    { .model_type = "kimi_linear",
      .name = "Kimi Linear",
      LIKE_LLAMA,
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    /* Every fourth layer sees everything, the others their chunk. */
    { .model_type = "llama4_text",
      .name = "Llama 4",
      .defaults = "interleave_moe_layer_step=1 n_shared_experts=1 attention_chunk_size=8192",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp = "feed_forward",
      .window = LPO_WINDOW_PATTERN,
      .window_every = 4,
      .moe = &llama4_moe },
    { .model_type = "gemma4_text",
      .name = "Gemma 4",
      .defaults = "tie_word_embeddings=true sliding_window=1024",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .qk_norm = "yes",
      .norms = "input_layernorm post_attention_layernorm pre_feedforward_layernorm "
               "post_feedforward_layernorm",
      .rotary_per_type = true,
      .window = LPO_WINDOW_PATTERN,
      .window_every = 6,
      .moe = &gemma4_moe },
    { .model_type = "minimax_m2",
      .name = "MiniMax M2",
      LIKE_LLAMA,
      .qk_norm = "use_qk_norm",
      .qk_norm_form = LPO_QK_NORM_WIDE,
      .mlp = "block_sparse_moe",
      .window = LPO_WINDOW_NONE,
      .moe = &plain_moe },
    { .model_type = "minimax_m3|minimax_m3_vl",
      .name = "MiniMax M3",
      LIKE_LLAMA,
      .qk_norm = "use_qk_norm",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "step3p5|step3p7",
      .name = "Step 3.7",
      LIKE_LLAMA,
      .qk_norm = "yes",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    /* One block a layer: state space, attention, MLP or experts. */
    { .model_type = "nemotron_h",
      .name = "Nemotron-H",
      LIKE_LLAMA,
      .root = "backbone",
      .embed = "embeddings",
      .final_norm = "norm_f",
      .attn = "mixer",
      .mlp = "mixer",
      .norms = "norm",
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp_bias = "mlp_bias",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
    { .model_type = "granitemoehybrid",
      .name = "Granite hybrid",
      LIKE_LLAMA,
      .qkv_bias = "attention_bias",
      .o_bias = "attention_bias",
      .mlp = "block_sparse_moe",
      .window = LPO_WINDOW_NONE,
      .moe = &shared_moe },
};

static const struct lpo_moe_names generic_moe = {
    .router = "gate",
    .experts = "experts",
    .shared = "shared_experts",
};

static const struct lpo_decoder_family generic = {
    .model_type = "generic",
    .name = "generic decoder",
    LIKE_LLAMA,
    .qkv_bias = "attention_bias|qkv_bias|use_bias|bias",
    .o_bias = "attention_bias|use_bias|bias",
    .mlp_bias = "mlp_bias|use_bias|bias",
    .moe = &generic_moe,
};

bool lpo_model_family_is(const char *types, const char *model_type)
{
    size_t len = strlen(model_type);

    for (const char *p = types; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == len && strncmp(p, model_type, len) == 0)
            return true;
    return false;
}

const struct lpo_decoder_family *lpo_model_decoder_family_at(size_t i)
{
    return i < sizeof families / sizeof *families ? &families[i] : NULL;
}

const struct lpo_decoder_family *lpo_model_decoder_family_find(const char *model_type,
                                                               const struct lpo_fields *fields)
{
    const struct lpo_decoder_family *f;

    for (size_t i = 0; (f = lpo_model_decoder_family_at(i)); i++) {
        struct lpo_fields with = { fields->config, f->defaults };

        if (lpo_model_family_is(f->model_type, model_type) && lpo_model_field_match(&with, f->when))
            return f;
    }
    return NULL;
}

const struct lpo_decoder_family *lpo_model_decoder_family_generic(void)
{
    return &generic;
}

bool lpo_model_family_says(const struct lpo_fields *fields, const char *key_or_yes)
{
    if (!key_or_yes)
        return false;
    return strcmp(key_or_yes, "yes") == 0 || lpo_model_field_bool(fields, key_or_yes, false);
}
