/* SPDX-License-Identifier: Apache-2.0 */
#include "model/op.h"

static const char *const kinds[LPO_OP_KINDS] = {
    [LPO_OP_PROJECTION] = "projection",
    [LPO_OP_SCORES] = "attention_scores",
    [LPO_OP_VALUES] = "attention_values",
    [LPO_OP_MLP] = "mlp",
    [LPO_OP_ROUTER] = "router",
    [LPO_OP_EXPERTS] = "experts",
    [LPO_OP_HEAD] = "head",
    [LPO_OP_CONV] = "convolution",
    [LPO_OP_ROTARY] = "rotary",
    [LPO_OP_MOVE] = "other",
};

static const char *const atens[LPO_ATENS] = {
    [LPO_ATEN_MM] = "aten.mm",
    [LPO_ATEN_ADDMM] = "aten.addmm",
    [LPO_ATEN_BMM] = "aten.bmm",
    [LPO_ATEN_CONV] = "aten.convolution",
};

static const char *const blocks[LPO_BLOCKS] = {
    [LPO_BLOCK_EMBED] = "embed",         [LPO_BLOCK_ATTN] = "attn",    [LPO_BLOCK_MLP] = "mlp",
    [LPO_BLOCK_NORM] = "norm",           [LPO_BLOCK_HEAD] = "lm_head", [LPO_BLOCK_NECK] = "neck",
    [LPO_BLOCK_PROJECTOR] = "projector", [LPO_BLOCK_OTHER] = "other",
};

const char *lpo_model_op_kind_name(enum lpo_op_kind k)
{
    return kinds[k];
}

const char *lpo_model_aten_name(enum lpo_aten a)
{
    return atens[a];
}

const char *lpo_model_block_name(enum lpo_model_block b)
{
    return blocks[b];
}
