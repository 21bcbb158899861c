/* SPDX-License-Identifier: Apache-2.0 */
/* Vision encoders, as transformers 5.17 names them, and the two of DeepSeek-OCR's own code. */
#include "model/family/family.h"

#include <string.h>

#include "model/family/fields.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define LIKE_QWEN                                                                                  \
    .part = "vision", .root = "model.visual", .patch = "patch_embed.proj", .patch_bias = true,     \
    .positions = "pos_embed", .positions_embedding = true, .layers = "blocks", .attn = "attn",     \
    .qkv = "qkv", .o = "proj", .qkv_bias = "yes", .norm1 = "norm1", .norm2 = "norm2",              \
    .mlp = "mlp", .up = "linear_fc1", .down = "linear_fc2", .swiglu_up = "gate_up_proj",           \
    .swiglu_down = "down_proj", .merger = "merger"

static const struct lpo_vision_family generic = { .model_type = "generic_vision",
                                                  .name = "generic vision transformer",
                                                  LIKE_QWEN };

#define LIKE_CLIP                                                                                  \
    .patch = "embeddings.patch_embedding", .positions = "embeddings.position_embedding",           \
    .positions_embedding = true, .layers = "encoder.layers", .attn = "self_attn", .q = "q_proj",   \
    .k = "k_proj", .v = "v_proj", .o = "out_proj", .qkv_bias = "yes", .norm1 = "layer_norm1",      \
    .norm2 = "layer_norm2", .mlp = "mlp", .up = "fc1", .down = "fc2"

static const struct lpo_vision_family families[] = {
    { .model_type = "clip_vision_model",
      .name = "CLIP vision",
      .part = "clip",
      .defaults = "hidden_size=768 intermediate_size=3072 num_hidden_layers=12 "
                  "num_attention_heads=12 image_size=224 patch_size=32",
      .root = "",
      LIKE_CLIP,
      .cls = "embeddings.class_embedding",
      .cls_flat = true,
      .pre_norm = "pre_layrnorm",
      .post_norm = "post_layernorm",
      .post_norm_pooled = true,
      .classifier_root = "vision_model" },
    { .model_type = "siglip_vision_model",
      .name = "SigLIP vision",
      .part = "siglip",
      .defaults = "hidden_size=768 intermediate_size=3072 num_hidden_layers=12 "
                  "num_attention_heads=12 image_size=224 patch_size=16 vision_use_head=true",
      .root = "",
      LIKE_CLIP,
      .patch_bias = true,
      .post_norm = "post_layernorm",
      .pool_head = "head",
      .pool_when = "vision_use_head",
      .classifier_root = "vision_model" },
    { .model_type = "vit",
      .name = "ViT",
      .part = "vit",
      .defaults = "hidden_size=768 intermediate_size=3072 num_hidden_layers=12 "
                  "num_attention_heads=12 image_size=224 patch_size=16 qkv_bias=true",
      .root = "",
      .patch = "embeddings.patch_embeddings.projection",
      .patch_bias = true,
      .cls = "embeddings.cls_token",
      .positions = "embeddings.position_embeddings",
      .post_norm = "layernorm",
      .layers = "layers",
      .attn = "attention",
      .q = "q_proj",
      .k = "k_proj",
      .v = "v_proj",
      .o = "o_proj",
      .qkv_bias = "qkv_bias",
      .norm1 = "layernorm_before",
      .norm2 = "layernorm_after",
      .mlp = "mlp",
      .up = "fc1",
      .down = "fc2",
      .pooler = "pooler.dense",
      .classifier_root = "vit" },
    { .model_type = "dinov2",
      .name = "DINOv2",
      .part = "dinov2",
      .defaults = "hidden_size=768 num_hidden_layers=12 num_attention_heads=12 mlp_ratio=4 "
                  "image_size=224 patch_size=14 qkv_bias=true use_mask_token=true",
      .root = "",
      .patch = "embeddings.patch_embeddings.projection",
      .patch_bias = true,
      .cls = "embeddings.cls_token",
      .mask = "embeddings.mask_token",
      .mask_when = "use_mask_token",
      .mask_flat = true,
      .positions = "embeddings.position_embeddings",
      .post_norm = "layernorm",
      .layers = "encoder.layer",
      .attn = "attention",
      .q = "attention.query",
      .k = "attention.key",
      .v = "attention.value",
      .o = "output.dense",
      .qkv_bias = "qkv_bias",
      .norm1 = "norm1",
      .norm2 = "norm2",
      .scale1 = "layer_scale1.lambda1",
      .scale2 = "layer_scale2.lambda1",
      .mlp = "mlp",
      .up = "fc1",
      .down = "fc2",
      .swiglu_when = "use_swiglu_ffn",
      .swiglu_up = "weights_in",
      .swiglu_down = "weights_out",
      .classifier_root = "dinov2",
      .classifier_doubled = true },
    { .model_type = "sam_vision_model",
      .name = "SAM vision",
      .part = "sam",
      .defaults = "hidden_size=768 num_hidden_layers=12 num_attention_heads=12 mlp_ratio=4 "
                  "image_size=1024 patch_size=16 qkv_bias=true use_abs_pos=true use_rel_pos=true "
                  "window_size=14 output_channels=256",
      .root = "vision_encoder",
      .patch = "patch_embed.projection",
      .patch_bias = true,
      .layers = "layers",
      .attn = "attn",
      .qkv = "qkv",
      .o = "proj",
      .qkv_bias = "qkv_bias",
      .norm1 = "layer_norm1",
      .norm2 = "layer_norm2",
      .mlp = "mlp",
      .up = "lin1",
      .down = "lin2",
      .windowed = true },
    { .model_type = "qwen3_vl|qwen3_vl_moe|qwen3_5|qwen3_5_moe",
      .name = "Qwen vision",
      .defaults = "temporal_patch_size=2 spatial_merge_size=2",
      LIKE_QWEN },
    { .model_type = "gemma4_vision",
      .name = "Gemma 4 vision",
      .swiglu_when = "yes",
      LIKE_QWEN,
      .merger = NULL },
    /* DeepSeek-OCR: SAM with two more convolutions, and CLIP fed by them instead of by pixels. */
    { .model_type = "deepseek_ocr_sam",
      .name = "SAM-B of DeepSeek-OCR",
      .part = "sam",
      .defaults = "hidden_size=768 num_hidden_layers=12 num_attention_heads=12 mlp_ratio=4 "
                  "image_size=1024 patch_size=16 qkv_bias=true use_abs_pos=true use_rel_pos=true "
                  "window_size=14 output_channels=256",
      .root = "model.sam_model",
      .patch = "patch_embed.proj",
      .patch_bias = true,
      .layers = "blocks",
      .attn = "attn",
      .qkv = "qkv",
      .o = "proj",
      .qkv_bias = "qkv_bias",
      .norm1 = "norm1",
      .norm2 = "norm2",
      .mlp = "mlp",
      .up = "lin1",
      .down = "lin2",
      .windowed = true },
    { .model_type = "deepseek_ocr_clip",
      .name = "CLIP-L of DeepSeek-OCR",
      .part = "clip",
      .defaults = "hidden_size=1024 mlp_ratio=4 num_hidden_layers=24 num_attention_heads=16 "
                  "image_size=224 patch_size=14",
      .root = "model.vision_model",
      .patch = "embeddings.patch_embedding",
      .cls = "embeddings.class_embedding",
      .cls_flat = true,
      .positions = "embeddings.position_embedding",
      .positions_embedding = true,
      .pre_norm = "pre_layrnorm",
      .layers = "transformer.layers",
      .attn = "self_attn",
      .qkv = "qkv_proj",
      .o = "out_proj",
      .qkv_bias = "yes",
      .norm1 = "layer_norm1",
      .norm2 = "layer_norm2",
      .mlp = "mlp",
      .up = "fc1",
      .down = "fc2" },
};

const struct lpo_vision_family *lpo_model_vision_family_generic(void)
{
    return &generic;
}

enum { COUNT = sizeof families / sizeof *families };

const struct lpo_vision_family *lpo_model_vision_family_find(const char *model_type,
                                                             const struct lpo_fields *fields)
{
    for (int i = 0; i < COUNT; i++) {
        struct lpo_fields with = { fields->config, families[i].defaults };

        if (lpo_model_family_is(families[i].model_type, model_type) &&
            lpo_model_field_match(&with, families[i].when))
            return &families[i];
    }
    return NULL;
}

const struct lpo_vision_family *lpo_model_vision_family_at(size_t i)
{
    return i < COUNT ? &families[i] : NULL;
}
