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

/* A text of the file and its name in the trace. Kernels repeat, and comparing is cheaper than
 * looking up. */
struct lpo_ncu_known {
    const unsigned char *at;
    uint64_t len;
    uint32_t name;
};

enum { LPO_NCU_KNOWN = 256 };

struct lpo_ncu_rep {
    struct lpo_trace *t;
    const unsigned char *bytes;
    size_t len;
    LPO_VEC(struct lpo_ncu_string) strings;
    struct lpo_map *stacks;            /* thread and NVTX state to stack */
    struct lpo_proto_field last_state; /* and what came of it: the next kernel's is often equal */
    uint64_t last_thread;
    uint32_t last_stack;
    struct lpo_ncu_known known[LPO_NCU_KNOWN][2]; /* by kernel id: its name, its linker name */
    uint32_t process;                             /* of the block; LPO_NONE: it names none */
    uint64_t range_results, bad_results, bare_results, other_strings;
};

/* One ProfileResult message. */
void lpo_ncu_rep_result(struct lpo_ncu_rep *rep, const unsigned char *bytes, size_t len);
/* The stack of an NvtxState message, as the launching thread saw it. */
uint32_t lpo_ncu_rep_stack(struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                           uint64_t thread);
