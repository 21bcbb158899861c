/* trace/ncu_rep.h - private to the reader of .ncu-rep files. */
#pragma once

#include "trace/ncu.h"
#include "util/proto.h"

struct lpo_map;

/* A string of the report's table, and what it is when a metric bears it as its name. */
struct lpo_ncu_string {
    const unsigned char *at;
    uint32_t len;
    uint32_t metric; /* LPO_NONE until it is used */
    int8_t fact;     /* -1 until it is used */
};

struct lpo_ncu_rep {
    struct lpo_trace *t;
    const unsigned char *bytes;
    size_t len;
    LPO_VEC(struct lpo_ncu_string) strings;
    struct lpo_map *stacks; /* thread and NVTX state to stack */
    uint32_t process;       /* of the block; LPO_NONE: it names none */
    uint64_t range_results, bad_results, bare_results, other_strings;
};

/* One ProfileResult message. */
void lpo_ncu_rep_result(struct lpo_ncu_rep *rep, const unsigned char *bytes, size_t len);
/* The stack of an NvtxState message, as the launching thread saw it. */
uint32_t lpo_ncu_rep_stack(struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                           uint64_t thread);
