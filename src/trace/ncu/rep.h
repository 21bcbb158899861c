/* SPDX-License-Identifier: Apache-2.0 */
/* trace/ncu/rep.h - private to the reader of .ncu-rep files.
 *
 * Two halves: decoding bytes to results, which touches nothing but the file and may run ahead on a
 * thread of its own, and putting results into the trace. */
#pragma once

#include "trace/ncu/private.h"
#include "util/proto.h"

struct lpo_err;
struct lpo_map;
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

/* One ProfileResult. Texts lie in the file. */
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
};

struct lpo_ncu_batch {
    LPO_VEC(struct lpo_ncu_decoded) results;
    LPO_VEC(struct lpo_ncu_value) values;
};

/* How far decoding has come in the file. */
struct lpo_ncu_walk {
    const unsigned char *bytes;
    size_t len, at;
    size_t room; /* bytes of memory behind `bytes`; len may be less */
    size_t block_end;
    uint64_t results_left; /* in this block */
    bool block_cut;        /* the block ends behind the file */
    bool cut;              /* the file ends in the middle of something */
    bool other_version;    /* the format is one we do not know */
    uint64_t range_results;
};

/* rep_file.c: the whole file into memory, up to the budget; unload it after use. */
int lpo_ncu_load(const struct lpo_unpack_file *file, struct lpo_ncu_walk *w, struct lpo_err *err);
void lpo_ncu_unload(struct lpo_ncu_walk *w);
/* How many results the blocks from here on say they hold; counts range results in the walk. */
uint64_t lpo_ncu_count_results(struct lpo_ncu_walk *w);
/* Fills the batch with what comes next; false when it is the last. */
bool lpo_ncu_decode(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b);
/* A message behind its size at w->at, not beyond `end`; false when it does not fit. */
bool lpo_ncu_sized(struct lpo_ncu_walk *w, size_t end, struct lpo_proto *m);

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
    size_t bytes; /* of the file */
    LPO_VEC(struct lpo_ncu_string) strings;
    struct lpo_map *stacks;            /* thread and NVTX state to stack */
    struct lpo_proto_field last_state; /* and what came of it: the next kernel's is often equal */
    uint64_t last_thread;
    uint32_t last_stack;
    struct lpo_ncu_known known[LPO_NCU_KNOWN][2]; /* by kernel id: its name, its linker name */
    uint32_t process;                             /* of the block; LPO_NONE: it names none */
    uint64_t bad_results, bare_results, other_strings;
};

/* The stack of an NvtxState message, as the launching thread saw it. */
uint32_t lpo_ncu_rep_stack(struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                           uint64_t thread);
