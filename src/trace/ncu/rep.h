/* SPDX-License-Identifier: Apache-2.0 */
/* trace/ncu/rep.h - private to the reader of .ncu-rep files.
 *
 * Two halves: decoding bytes to results, which touches nothing but the file and may run ahead on a
 * thread of its own, and putting results into the trace. */
#pragma once

#include "trace/ncu/private.h"
#include "util/proto.h"

struct lpo_unpack_file;

/* --- decoding: rep_decode.c --------------------------------------------------------------- */

/* A metric of a result: its name as an id of the string table, and a number or a text. */
struct lpo_ncu_value {
    uint32_t id;
    uint32_t text_len; /* 0: a number */
    union {
        double number;
        const unsigned char *text;
    };
};

/* One ProfileResult. Texts lie in the batch's bytes. */
struct lpo_ncu_decoded {
    struct lpo_proto header; /* of the block that begins here; at == NULL: none does */
    bool has_result;         /* else it is only a header */
    bool bad;                /* damaged: what was readable is here */
    struct lpo_proto_field name, mangled, nvtx; /* bytes == NULL: absent */
    uint64_t thread, kernel_id;
    uint32_t stream;
    uint32_t grid[3], block[3];
    uint8_t sizes; /* 1: grid seen, 2: block seen */
    uint32_t first_value, value_count;
    uint32_t first_rule, rule_count;
};

/* Some bytes of the file, and what they hold. */
struct lpo_ncu_batch {
    unsigned char *bytes;
    size_t room;
    LPO_VEC(struct lpo_ncu_decoded) results;
    LPO_VEC(struct lpo_ncu_value) values;
    LPO_VEC(struct lpo_proto_field) rules; /* RuleResult messages */
};

/* How far decoding has come in the file. Places are offsets in the file. */
struct lpo_ncu_walk {
    int fd; /* borrowed */
    uint64_t len, at;
    const unsigned char *window; /* the bytes at hand: those of the batch that is being filled */
    uint64_t window_at;
    size_t window_len;
    size_t wanted; /* bytes of the largest message that did not fit into a window */
    uint64_t block_end;
    uint64_t sources_left, results_left; /* in this block */
    bool block_cut;                      /* the block ends behind the file */
    bool cut;                            /* the file ends in the middle of something */
    int io_error;                        /* errno of a read that failed; 0 */
    uint64_t range_results;
};

/* rep_file.c. The file must not be larger than the budget. */
int lpo_ncu_open(const struct lpo_unpack_file *file, struct lpo_ncu_walk *w, struct lpo_err *err);
/* Reads the bytes from w->at on into the batch: at least w->wanted where the file has them. */
void lpo_ncu_window(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b);

/* What stands at w->at. */
enum lpo_ncu_found {
    LPO_NCU_WHOLE,
    LPO_NCU_TORN,        /* it ends behind its block or the file */
    LPO_NCU_NEXT_WINDOW, /* it fits, but not all of it is at hand */
};

/* A message behind its size at w->at, not beyond `end`. */
enum lpo_ncu_found lpo_ncu_sized(struct lpo_ncu_walk *w, uint64_t end, struct lpo_proto *m);
/* Fills the batch with what comes next; false when it is the last. */
bool lpo_ncu_decode(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b);
void lpo_ncu_batch_release(struct lpo_ncu_batch *b);

/* Field numbers of BlockHeader. */
enum {
    LPO_NCU_B_SOURCES = 1,
    LPO_NCU_B_RESULTS = 2,
    LPO_NCU_B_STRINGS = 4,
    LPO_NCU_B_PAYLOAD = 5,
    LPO_NCU_B_PROCESS = 6,
    LPO_NCU_B_RANGES = 7,
};

/* --- into the trace: rep.c, rep_nvtx.c ----------------------------------------- */

/* A string of the report's table, and what it means as the name of a metric. */
struct lpo_ncu_string {
    const char *at;
    uint32_t len;
    uint32_t metric; /* LPO_NONE until it is used */
    int8_t fact;     /* -1 until it is used */
};

enum { LPO_NCU_KNOWN = 256 };

struct lpo_ncu_rep {
    struct lpo_trace *t;
    size_t bytes;            /* of the file */
    struct lpo_arena *texts; /* of the strings */
    LPO_VEC(struct lpo_ncu_string) strings;
    struct lpo_map *stacks; /* thread and NVTX state to stack */
    /* The last of these keys, and its stack: the next kernel's is often equal. */
    struct lpo_str last_state;
    uint32_t last_stack;
    /* By kernel id, names of the trace: its name, its linker name; 0 at first. Kernels repeat, and
     * comparing is cheaper than looking up. */
    uint32_t known[LPO_NCU_KNOWN][2];
    uint32_t process; /* of the block; LPO_NONE: it names none */
    uint64_t bad_results, bare_results, other_strings;
};

/* The messages of a RuleResult about the GPU operation `op`. */
void lpo_ncu_rep_rule(struct lpo_trace *t, uint32_t op, const struct lpo_proto_field *result);
/* The stack of an NvtxState message, as the launching thread saw it. */
uint32_t lpo_ncu_rep_stack(struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                           uint64_t thread);
