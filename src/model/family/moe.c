/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders with routed experts, and DeepSeek's latent attention. */
#include "model/family/like_llama.h"

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

const struct lpo_decoder_rows lpo_model_moe_families = { families,
                                                         sizeof families / sizeof *families };
