/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/args.h - what an operator was called with, read from the texts of a trace:
 * dims "[[8,128],[],[[2],[3]]]", types ["float","Scalar","TensorList"], values ["","True",""]. */
#pragma once

#include "util/dtype.h"

struct lpo_op;
struct lpo_trace;

enum { LPO_OP_ARGS = 32, LPO_OP_RANK = 8 };

struct lpo_op_tensor {
    unsigned rank;             /* of the first tensor, when it is a list */
    int64_t dims[LPO_OP_RANK]; /* none is negative */
    int64_t last;              /* the last dimension of all tensors; -1: they differ in it */
    double elements;           /* of all tensors, when it is a list */
    unsigned count;            /* tensors: 1, or as many as the list has; 0: no tensor */
    enum lpo_dtype type;       /* LPO_DTYPE_NONE: unknown, as in lists */
    double element_bytes;      /* 0: unknown */
    const char *value;         /* text of a scalar or a list of numbers; not terminated */
    size_t value_len;
};

struct lpo_op_call {
    size_t count; /* arguments; those beyond LPO_OP_ARGS are left out */
    struct lpo_op_tensor at[LPO_OP_ARGS];
};

/* False when the trace has no shapes of it, or they cannot be read. */
bool lpo_operators_read_args(const struct lpo_trace *t, const struct lpo_op *op,
                             struct lpo_op_call *out);

/* The argument, or one without tensors when there are fewer. */
const struct lpo_op_tensor *lpo_operators_arg(const struct lpo_op_call *call, int i);
/* Of all its elements; 0 when it is no tensor, NaN when its type is unknown. */
double lpo_operators_bytes(const struct lpo_op_tensor *arg);
/* Of one element of a tensor, or of the type whose number in torch.dtype a scalar argument is; NaN:
 * unknown. */
double lpo_operators_type_bytes(const struct lpo_op_tensor *arg);
/* Of every tensor once. */
double lpo_operators_all_bytes(const struct lpo_op_call *call);
/* "True" or "1"; *known is false when the trace does not say. */
bool lpo_operators_flag(const struct lpo_op_tensor *arg, bool *known);
/* "[1, -2]" or "3": the numbers, at most `most`; how many there were. */
size_t lpo_operators_numbers(const struct lpo_op_tensor *arg, int64_t *out, size_t most);
