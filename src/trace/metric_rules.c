/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/metric_rules.h"

#include "rules/rules.h"

struct search {
    const char *name;
    enum lpo_combine found;
    bool done;
};

static int compare_rule(void *ctx, const char *value, const char *part, size_t len,
                        struct lpo_err *err)
{
    struct search *s = ctx;
    const size_t n = strlen(s->name);
    bool at_end = part[len - 1] == '$';

    (void)err;
    len -= at_end;
    if (s->done || (at_end ? n < len || memcmp(s->name + n - len, part, len) != 0
                           : !memmem(s->name, n, part, len)))
        return 0;
    s->done = true;
    while (strcmp(lpo_trace_combine_name(s->found), value) != 0)
        s->found++; /* a test asks for each of them */
    return 0;
}

enum lpo_combine lpo_trace_metric_combine(const char *name)
{
    struct search s = { name, LPO_SUM, false };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("metrics"), "combine", compare_rule, &s, &err);
    return s.done ? s.found : LPO_TIME_WEIGHTED;
}

LPO_NAMES(lpo_trace_combine_name, enum lpo_combine, "sum", "time-weighted mean", "maximum",
          "minimum", "first");

/* --- labels of ncu's sections ------------------------------------------------------------------
 */

struct labels {
    struct lpo_arena *arena;
    struct lpo_metric_label *at; /* NULL: rows are only counted */
    size_t len;
    const char *section, *title, *label; /* what is looked for */
    const char *found;
};

static int compare_title(void *ctx, const char *section, const char *title, size_t len,
                         struct lpo_err *err)
{
    struct labels *l = ctx;

    (void)err;
    if (l->section ? strcmp(l->section, section) == 0
                   : strlen(l->title) == len && memcmp(l->title, title, len) == 0) {
        l->section = section;
        l->title = title; /* all of the row */
    }
    return 0;
}

static int add_label(void *ctx, const char *value, const char *label, size_t len,
                     struct lpo_err *err)
{
    struct labels *l = ctx;
    size_t section = strcspn(value, " ");

    (void)err;
    if (l->at) {
        struct labels title = { .section = lpo_arena_strndup(l->arena, value, section) };

        lpo_rules_each_row(lpo_rules("metrics"), "sections", compare_title, &title, err);
        l->at[l->len] =
            (struct lpo_metric_label){ title.section, title.title, value + section + 1, label };
    } else if (l->section && strlen(l->section) == section &&
               memcmp(l->section, value, section) == 0 && strlen(l->label) == len &&
               memcmp(l->label, label, len) == 0) {
        l->found = value + section + 1;
    }
    l->len++;
    return 0;
}

struct lpo_metric_label *lpo_trace_metric_labels(struct lpo_arena *a, size_t *count)
{
    struct labels l = { .arena = a };
    struct lpo_err err = { 0 };

    lpo_rules_each_row(lpo_rules("metrics"), "labels", add_label, &l, &err);
    l.at = lpo_arena_array(a, l.len, sizeof *l.at);
    l.len = 0;
    lpo_rules_each_row(lpo_rules("metrics"), "labels", add_label, &l, &err);
    *count = l.len;
    return l.at;
}

const char *lpo_trace_metric_of_label(const char *title, const char *label)
{
    struct labels l = { .title = title, .label = label };
    struct lpo_err err = { 0 };

    lpo_rules_each_row(lpo_rules("metrics"), "sections", compare_title, &l, &err);
    if (l.section)
        lpo_rules_each_row(lpo_rules("metrics"), "labels", add_label, &l, &err);
    return l.found;
}
