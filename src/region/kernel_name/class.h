/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/class.h - the rules by which names of kernels are put into classes.
 *
 * They are data: conf/rules/kernels.yaml says how they are read. In each table the first rule that
 * fits decides. */
#pragma once

#include "region/classes.h"

/* What an operator in the name of a compiled kernel does. */
enum lpo_class_op {
    LPO_OP_NOTHING = 0, /* a word of the compiler, or a product that another kernel computes */
    LPO_OP_MOVES = 1,
    LPO_OP_READS = 2, /* reads or writes by index */
    LPO_OP_COMPUTES = 4,
    LPO_OP_SELECTS = 8, /* PyTorch's takes a slice, XLA's chooses between two values */
};

struct lpo_class_rule {
    const char *text;                 /* as it is written: "moe+align" */
    const char *all[3];               /* patterns that fit all; NULL: no more */
    const char *scope;                /* and this one the scope; NULL: any */
    const struct lpo_class_table *by; /* decides where a rule of it fits; NULL: none */
    uint16_t first_pair;              /* of letters of all[0]: most rules are refused by it */
    uint8_t class;                    /* enum lpo_region_kernel_class */
    uint8_t moves;                    /* compilers: the operators of which a copy consists */
};

struct lpo_class_table {
    const char *name;
    LPO_VEC(struct lpo_class_rule) rules;
};

/* A file of rules, ready to be asked. The tables by name in the order in which they are asked. */
struct lpo_class_rules {
    struct lpo_class_table functions, layer, simple; /* over the function's own name */
    struct lpo_class_table scopes;                   /* where that says nothing */
    struct lpo_class_table leftovers;                /* where nothing else does */
    struct lpo_class_table carriers, compilers;
    LPO_VEC(struct lpo_class_table *) others; /* that rows name: "by TABLE" */
};

/* Ours, read once. */
const struct lpo_class_rules *lpo_region_class_rules(void);

struct lpo_class_decision {
    enum lpo_region_kernel_class class;
    const struct lpo_class_rule *rule; /* that decided; NULL: none did */
};

struct lpo_class_decision lpo_region_class_decide(const struct lpo_class_rules *rules,
                                                  const char *name, size_t len);
