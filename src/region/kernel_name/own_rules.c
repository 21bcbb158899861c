/* SPDX-License-Identifier: Apache-2.0 */
/* Classes by rules of the user: report.classes. */
#include <stdlib.h>
#include <string.h>

#include "region/classes.h"
#include "region/kernel_name/class.h"
#include "rules/rules.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/xmalloc.h"

enum { NONE = LPO_CLASSES };

/* One rule: a pattern over the whole name, or a file in the grammar of conf/rules/kernels.yaml. */
struct own {
    enum lpo_region_kernel_class class;
    struct lpo_pattern *pattern;
    struct lpo_arena *arena; /* of the file; NULL: it is a pattern */
    struct lpo_class_rules rules;
};

struct lpo_region_own_rules {
    LPO_VEC(struct own) rules;
};

static void own_destroy(struct own *o)
{
    lpo_pattern_destroy(o->pattern);
    if (o->arena)
        lpo_region_class_rules_free(&o->rules);
    lpo_arena_destroy(o->arena);
}

static int read_file(const char *path, struct own *out, struct lpo_err *err)
{
    const struct lpo_node *file;

    out->arena = lpo_arena_create();
    if (lpo_rules_read(out->arena, path, &file, err) < 0)
        return err->code;
    return lpo_region_class_rules_read(out->arena, file, &out->rules, err);
}

static int read_rule(const char *rule, struct own *out, struct lpo_err *err)
{
    static const char file[] = "file:";
    const char *sign = strchr(rule, '=');
    LPO_STR word = { 0 }, all = { 0 };

    if (lpo_str_starts(rule, file))
        return read_file(rule + sizeof file - 1, out, err);
    lpo_str_addn(&word, rule, sign ? (size_t)(sign - rule) : 0);
    if (!sign || !lpo_region_class_from_name(lpo_str_text(&word), &out->class)) {
        for (int i = 0; i < LPO_CLASSES; i++)
            lpo_str_addf(&all, "%s%s", i ? ", " : "",
                         lpo_region_class_name((enum lpo_region_kernel_class)i));
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not CLASS=PATTERN, as in 'GEMM=my_product*', or file:PATH; the "
                        "classes are %s",
                        rule, all.at);
    }
    return lpo_pattern_create(sign + 1, &out->pattern, err);
}

static enum lpo_region_kernel_class own_class(const struct own *o, const char *name, size_t len)
{
    struct lpo_class_decision d;

    if (o->pattern)
        return lpo_pattern_matches(o->pattern, name, len) ? o->class : NONE;
    d = lpo_region_class_decide(&o->rules, name, len);
    return d.rule ? d.class : NONE;
}

int lpo_region_own_rules_read(const char *const *rules, size_t count,
                              struct lpo_region_own_rules **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_region_own_rules) all = NULL;

    *out = NULL;
    if (!count)
        return 0;
    all = lpo_xcalloc(1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        lpo_vec_push(&all->rules, (struct own){ 0 });
        if (read_rule(rules[i], &all->rules.at[i], err) < 0)
            return err->code;
    }
    *out = all;
    all = NULL;
    return 0;
}

void lpo_region_own_rules_destroy(struct lpo_region_own_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->rules.len; i++)
        own_destroy(&r->rules.at[i]);
    lpo_vec_free(&r->rules);
    free(r);
}

enum lpo_region_kernel_class lpo_region_class_by(const struct lpo_region_own_rules *r,
                                                 const char *name)
{
    for (size_t i = 0; r && i < r->rules.len; i++) {
        enum lpo_region_kernel_class class = own_class(&r->rules.at[i], name, strlen(name));

        if ((int)class != NONE)
            return class;
    }
    return lpo_region_kernel_class(name);
}
