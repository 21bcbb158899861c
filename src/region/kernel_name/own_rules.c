/* SPDX-License-Identifier: Apache-2.0 */
/* Classes by rules of the user: report.classes. */
#include <stdlib.h>
#include <string.h>

#include "region/classes.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum { NONE = LPO_CLASSES };

static int read_rule(const char *rule, enum lpo_region_kernel_class *class,
                     struct lpo_pattern **pattern, struct lpo_err *err)
{
    const char *sign = strchr(rule, '=');
    LPO_STR word = { 0 }, all = { 0 };

    lpo_str_addn(&word, rule, sign ? (size_t)(sign - rule) : 0);
    if (!sign || !lpo_region_class_from_name(lpo_str_text(&word), class)) {
        for (int i = 0; i < LPO_CLASSES; i++)
            lpo_str_addf(&all, "%s%s", i ? ", " : "",
                         lpo_region_class_name((enum lpo_region_kernel_class)i));
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not CLASS=PATTERN, as in 'GEMM=my_product*'; the classes are %s",
                        rule, all.at);
    }
    return lpo_pattern_create(sign + 1, pattern, err);
}

int lpo_region_classes_set(struct lpo_trace *t, const char *const *rules, size_t count,
                           struct lpo_err *err)
{
    size_t names = lpo_trace_name_count(t);

    if (!count)
        return 0;
    free(t->own_classes);
    t->own_classes = lpo_xmalloc(names + 1);
    t->own_classes_len = names;
    memset(t->own_classes, NONE, names + 1);
    for (size_t i = 0; i < count; i++) {
        LPO_AUTO(lpo_pattern) pattern = NULL;
        enum lpo_region_kernel_class class = LPO_CLASS_OTHER;

        if (read_rule(rules[i], &class, &pattern, err) < 0)
            return err->code;
        for (uint32_t n = 0; n < names; n++)
            if (t->own_classes[n] == NONE &&
                lpo_pattern_matches(pattern, lpo_trace_text(t, n), lpo_trace_text_len(t, n)))
                t->own_classes[n] = (unsigned char)class;
    }
    return 0;
}

bool lpo_region_class_own(const struct lpo_trace *t, uint32_t name,
                          enum lpo_region_kernel_class *out)
{
    if (!t->own_classes || name >= t->own_classes_len || t->own_classes[name] == NONE)
        return false;
    *out = t->own_classes[name];
    return true;
}

enum lpo_region_kernel_class lpo_region_class_of(const struct lpo_trace *t, uint32_t name)
{
    enum lpo_region_kernel_class own;

    return lpo_region_class_own(t, name, &own) ? own
                                               : lpo_region_kernel_class(lpo_trace_text(t, name));
}
