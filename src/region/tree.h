/* SPDX-License-Identifier: Apache-2.0 */
/* region/tree.h - ranges as a tree of named regions, and the place of every launch in it.
 *
 * A region is one place in the program ("decode/layer.3/attn"), however often it ran. The tree
 * holds the regions and who visited them; region/scope.h lays the kernels over it. Build it once
 * from a trace; after that it is read-only. It borrows the trace, which must outlive it.
 *
 * The rules, the same for every source:
 * - A launch lies in a push/pop range when the whole call lies in it (borders included), on the
 *   same process and thread. The path of a launch is every such range, the one that began first
 *   outermost; of two that began together the one that ends later, then the one first in the file.
 *   Where ranges nest this is the stack at launch time; where they overlap without nesting
 *   (A 0…10, B 5…15) a launch at 7 has the path A/B and one at 12 the path B.
 * - A visit is counted at the path that was open when the range was entered.
 * - A launch also lies in every start/end range of its process that holds the whole call. Those are
 *   no part of a path: each name is a region of its own, and counts a launch once.
 * - A source that gives the ranges itself (ncu) is taken at its word.
 * - A node of a CUDA graph lies, beside the place of its graph's launch, in the push/pop ranges of
 *   the moment and thread of its capture.
 * - A range never closed ends with its process.
 * - What else is known of a launch (links.h) never changes its place.
 * - Nesting beyond LPO_REGION_DEPTH counts with the region at that depth, and is noted. So does a
 *   range whose path does not fit the budget of path text: with the region around it. */
#pragma once

#include "region/classes.h"
#include "trace/trace.h"

struct lpo_region_modules;
struct lpo_slice;

#define LPO_REGION_DEPTH     LPO_PATH_DEPTH /* levels of push/pop nesting */
#define LPO_REGION_OPEN_SETS 1024           /* start/end regions open at one time in one process */

struct lpo_region {
    uint32_t parent; /* LPO_NONE at the top; always a smaller number than the node's own */
    uint32_t name;
    uint32_t visits; /* first of this node's rows in `visits`; LPO_NONE: never seen entered */
    uint16_t domain;
    uint16_t depth;      /* 0 at the top */
    uint32_t path_bytes; /* length of its path as text */
    uint32_t last_child; /* the one asked for last, its number + 1; 0: none yet */
    uint8_t kind;        /* enum lpo_range_kind */
};

/* What one process did in one region. */
struct lpo_visits {
    uint64_t count;
    int64_t host_ns;  /* recorded time inside, children included */
    int64_t child_ns; /* part of it inside children */
    /* The first visit, whose time is part of the sums: it may load or tune what later ones use.
     * LPO_NO_TIME: not known, as where the reader summed the visits. */
    int64_t first_start_ns, first_end_ns;
    int64_t first_host_ns; /* of it, the part that was recorded */
    int64_t first_gpu_ns;  /* of kernels that were launched in it */
    uint32_t first_thread; /* of the trace */
    uint32_t open;         /* visits never closed */
    uint32_t next;         /* another process's row for the same node, or LPO_NONE */
    uint16_t process;
};

/* Where a launch lies: a path of push/pop ranges and a set of start/end ranges. */
struct lpo_place {
    uint32_t leaf; /* node; LPO_NONE: in no push/pop range */
    uint32_t set;  /* into sets; 0 is the empty set */
};

struct lpo_region_set {
    uint32_t first, count; /* into set_nodes */
};

/* Other places of a launch (links.h): nodes, LPO_NONE where there is none. */
struct lpo_region_links {
    uint32_t adopted; /* the range of another thread that a launch in no range belongs to */
    uint32_t forward; /* the range around the forward of the backward operator that launched it */
    bool recomputed;  /* it did forward work again */
};

struct lpo_region_tree {
    const struct lpo_trace *trace;
    const struct lpo_region_modules *modules; /* borrowed; NULL: ranges alone are regions */
    struct lpo_trace_recorded *recorded;      /* NULL: all of the run was */
    LPO_VEC(struct lpo_region) nodes;
    LPO_VEC(struct lpo_visits) visits;
    LPO_VEC(struct lpo_place) places; /* row 0 is outside everything */
    LPO_VEC(struct lpo_region_set) sets;
    LPO_VEC(uint32_t) set_nodes;
    uint32_t *launch_place;  /* per launch of the trace */
    uint32_t *capture_place; /* per capture of the trace; LPO_NONE: its thread is not known */
    uint32_t *stack_place;   /* per stack of the trace */
    int64_t *last_firsts;    /* per process: when the last first visit of its regions ended */
    uint32_t *launch_links;  /* per launch: row of `links`; NULL: no launch has any */
    LPO_VEC(struct lpo_region_links) links; /* row 0: none */
    uint64_t too_deep;                      /* ranges beyond LPO_REGION_DEPTH */
    uint64_t too_long;   /* ranges left out because all paths together would be too long */
    uint64_t path_bytes; /* text of all paths */
    uint64_t too_many;   /* start/end ranges beyond LPO_REGION_OPEN_SETS */
    uint64_t crooked;    /* push/pop ranges that outlive the range they began in */
    uint64_t open;       /* ranges never closed */
    const struct lpo_region_own_rules *own_rules; /* of the user; borrowed; may be NULL */
    unsigned char *classes;                       /* per name: 1 + its class; 0: nobody asked yet */
    size_t nclasses; /* names that the trace had when the tree was built */
    struct lpo_map_pair node_map, place_map, link_map;
    uint32_t last_top;             /* as last_child, of those without a parent */
    struct lpo_map_u64 *visit_map; /* (node, process) to a row of `visits`: see tree.c */
    struct lpo_map *set_map;
};

struct lpo_region_tree *lpo_region_tree_create(const struct lpo_trace *trace);
/* Calls of modules or Python functions are regions too (modules.h). Borrows both. */
struct lpo_region_tree *lpo_region_tree_create_with(const struct lpo_trace *trace,
                                                    const struct lpo_region_modules *modules);
void lpo_region_tree_destroy(struct lpo_region_tree *tree); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_tree);

/* The place of a GPU operation: row of `places`. */
uint32_t lpo_region_place(const struct lpo_region_tree *tree, const struct lpo_gpu_op *gpu_op);

/* Its other places: row of `links`, 0 where it has none. */
uint32_t lpo_region_links_of(const struct lpo_region_tree *tree, const struct lpo_gpu_op *gpu_op);

/* The class of a kernel (region/classes.h), found once for each name: the rules are many, and a
 * trace may have a million names. */
enum lpo_region_kernel_class lpo_region_tree_class(const struct lpo_region_tree *tree,
                                                   uint32_t name);
/* Of all GPU operations, now: what is looked up is kept, which two threads must not do at once. */
void lpo_region_tree_look_up_classes(const struct lpo_region_tree *tree);
/* From now on by rules of the user too; borrowed. */
void lpo_region_tree_use(struct lpo_region_tree *tree, const struct lpo_region_own_rules *rules);

/* Appends "decode/LLM@layer 3/a\/b". */
void lpo_region_add_path(const struct lpo_region_tree *tree, uint32_t node, struct lpo_str *out);
/* Appends the last part of the path alone. */
void lpo_region_add_name(const struct lpo_region_tree *tree, uint32_t node, struct lpo_str *out);

/* Building: the node under `parent`, made when new. LPO_NONE when the paths of all regions would
 * take more text than the budget allows (util/budget.h): a file of 33 KB can nest long names until
 * its paths take gigabytes. A region at the top is always made. */
uint32_t lpo_region_node(struct lpo_region_tree *tree, uint32_t parent, uint32_t name,
                         uint16_t domain, uint8_t kind);
/* The same where it exists; LPO_NONE. */
uint32_t lpo_region_node_find(const struct lpo_region_tree *tree, uint32_t parent, uint32_t name,
                              uint16_t domain, uint8_t kind);
uint32_t lpo_region_place_of(struct lpo_region_tree *tree, uint32_t leaf, uint32_t set);
/* `nodes` sorted, no doubles. */
uint32_t lpo_region_set_of(struct lpo_region_tree *tree, const uint32_t *nodes, size_t count);
/* The row of (node, process). */
uint32_t lpo_region_visits_of(struct lpo_region_tree *tree, uint32_t node, uint16_t process);
/* The same where it exists; NULL: that process never entered it. */
struct lpo_visits *lpo_region_visits_find(const struct lpo_region_tree *tree, uint32_t node,
                                          uint16_t process);
/* A visit of a row: counted, and the first one is kept. */
void lpo_region_count_visit(struct lpo_region_tree *tree, uint32_t row, const struct lpo_slice *s);
/* Does the first of several visits of the region hold this launch? */
bool lpo_region_in_first_visit(const struct lpo_region_tree *tree, uint32_t node,
                               const struct lpo_launch *l);
