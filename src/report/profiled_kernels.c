/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profiled_kernels.h"

#include <stdio.h>
#include <string.h>

#include "analysis/counters/rules.h"
#include "region/kernel_name/short.h"
#include "report/doc/doc.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

#define KERNELS_SCHEMA "lpo.kernels/1"

const char *lpo_report_kernel_state_name(enum lpo_kernel_state state)
{
    static const char *const names[] = { "not tried", "done", "no match", "failed" };

    return names[state];
}

static const struct lpo_column columns[] = {
    { "number", "#", LPO_CELL_COUNT, NULL },
    { "class", "Class", LPO_CELL_TEXT, NULL },
    { "duration_ns", "Time", LPO_CELL_NS, NULL },
    { "compute_share", "SM", LPO_CELL_PERCENT, NULL, 0 },
    { "memory_share", "Memory", LPO_CELL_PERCENT, NULL, 0 },
    { "tensor_share", "Tensor", LPO_CELL_PERCENT, NULL, 2 },
    { "l1_share", "L1", LPO_CELL_PERCENT, NULL, 2 },
    { "l2_share", "L2", LPO_CELL_PERCENT, NULL, 2 },
    { "dram_share", "DRAM", LPO_CELL_PERCENT, NULL, 2 },
    { "dram_bytes_per_second", "DRAM rate", LPO_CELL_MEASURE, "B/s", 3 },
    { "occupancy_share", "Occupancy", LPO_CELL_PERCENT, NULL, 1 },
    { "registers", "Regs", LPO_CELL_MEASURE, NULL, 3 },
    { "waves", "Waves", LPO_CELL_MEASURE, NULL, 3 },
    { "grid", "Grid", LPO_CELL_TEXT, NULL, 0, 12 },
    { "block", "Block", LPO_CELL_TEXT, NULL, 0, 12 },
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL }, /* last: names are long */
};

static void row_dims(struct lpo_table *t, bool known, const uint32_t *d)
{
    if (known)
        lpo_doc_row_textf(t, "%ux%ux%u", d[0], d[1], d[2]);
    else
        lpo_doc_row_unknown(t);
}

/* Two kernels may have one short name: the number says which was asked for, and machines get the
 * whole name. */
static void row_kernel(struct lpo_table *t, const char *name)
{
    LPO_STR text = { 0 };

    if (!name || !*name) {
        lpo_doc_row_text(t, name);
        return;
    }
    lpo_region_short_name((struct lpo_kernel_span){ name, strlen(name) }, &text);
    lpo_doc_row_path(t, lpo_arena_name(t->arena, lpo_str_text(&text), text.len), name, 0);
}

static void add_row(struct lpo_table *t, size_t number, const struct lpo_kernel_profile *p)
{
    lpo_doc_row_count(t, number);
    if (p->bound == LPO_BOUND_MEMORY && p->level)
        lpo_doc_row_textf(t, "memory (%s)", p->level);
    else
        lpo_doc_row_text(t, lpo_counters_bound_name(p->bound));
    lpo_doc_row_measure(t, p->duration_ns);
    lpo_doc_row_measure(t, p->compute_percent);
    lpo_doc_row_measure(t, p->memory_percent);
    lpo_doc_row_measure(t, p->tensor_percent);
    lpo_doc_row_measure(t, p->l1_percent);
    lpo_doc_row_measure(t, p->l2_percent);
    lpo_doc_row_measure(t, p->dram_percent);
    lpo_doc_row_measure(t, p->dram_bytes_per_second);
    lpo_doc_row_measure(t, p->occupancy_percent);
    lpo_doc_row_measure(t, p->registers);
    lpo_doc_row_measure(t, p->waves);
    row_dims(t, p->shaped, p->grid);
    row_dims(t, p->shaped, p->block);
    row_kernel(t, p->kernel);
}

/* What ncu advises about the first launch, where its sections were collected: those of one kernel
 * say nearly the same. */
static void add_advice(struct lpo_doc *doc, size_t number, const struct lpo_kernel_outcome *o)
{
    const struct lpo_kernel_profile *p = o->profiles.len ? &o->profiles.at[0] : NULL;

    for (size_t i = 0; p && i < p->nrules; i++) {
        const struct lpo_kernel_rule *r = &p->rules[i];
        char saves[48] = "";

        if (r->kind != LPO_RULE_ADVICE)
            continue;
        if (r->speedup == LPO_SPEEDUP_GLOBAL && lpo_measure_known(r->percent))
            snprintf(saves, sizeof saves, " (could save ~%.1f %%)", r->percent.value);
        lpo_doc_note(doc, LPO_NOTE_INFO, "%zu %s%s: %s", number,
                     r->title  ? r->title
                     : r->rule ? r->rule
                               : "ncu",
                     saves, r->text);
    }
}

/* A kernel that was not found is no failure of the tool: the note says which, the others count. */
static void add_sections(struct lpo_doc *doc, const struct lpo_kernel_summary *s)
{
    struct lpo_table *t;

    lpo_doc_section(doc, "kernels", "", 1);
    lpo_doc_fact_text(doc, "program", "Program", s->program);
    lpo_doc_fact_text(doc, "ncu", "ncu", s->ncu);
    lpo_doc_fact_text(doc, "gpu", "GPU", s->gpu);
    t = lpo_doc_table(doc, "launches", "", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->len; i++)
        for (size_t k = 0; k < s->at[i].profiles.len; k++)
            add_row(t, i + 1, &s->at[i].profiles.at[k]);
    for (size_t i = 0; i < s->len; i++)
        add_advice(doc, i + 1, &s->at[i]);
    for (size_t i = 0; i < s->len; i++) {
        const struct lpo_kernel_outcome *o = &s->at[i];

        if (o->state != LPO_KERNEL_DONE || o->message)
            lpo_doc_note(doc, o->state == LPO_KERNEL_FAILED ? LPO_NOTE_WARNING : LPO_NOTE_INFO,
                         "%zu %s: %s%s%s", i + 1, o->name, lpo_report_kernel_state_name(o->state),
                         o->message ? ": " : "", o->message ? o->message : "");
    }
}

static void put_dims(struct lpo_record *to, const char *key, bool known, const uint32_t *d)
{
    struct lpo_record *list;

    if (!known) {
        lpo_doc_put_null(to, key);
        return;
    }
    list = lpo_doc_put_list(to, key);
    for (int i = 0; i < 3; i++)
        lpo_doc_put_uint(list, NULL, d[i]);
}

static void put_launch(struct lpo_record *r, const struct lpo_kernel_profile *p)
{
    struct lpo_record *rules;

    lpo_doc_put_text(r, "kernel", p->kernel);
    lpo_doc_put_text(r, "class", lpo_counters_bound_name(p->bound));
    put_dims(r, "grid", p->shaped, p->grid);
    put_dims(r, "block", p->shaped, p->block);
    lpo_doc_put_whole(r, "duration_ns", p->duration_ns);
    lpo_doc_put_measure(r, "compute_percent", p->compute_percent);
    lpo_doc_put_measure(r, "memory_percent", p->memory_percent);
    lpo_doc_put_text(r, "memory_level", p->level);
    lpo_doc_put_measure(r, "tensor_percent", p->tensor_percent);
    lpo_doc_put_measure(r, "l1_percent", p->l1_percent);
    lpo_doc_put_measure(r, "l2_percent", p->l2_percent);
    lpo_doc_put_measure(r, "registers", p->registers);
    lpo_doc_put_measure(r, "waves", p->waves);
    lpo_doc_put_measure(r, "dram_percent", p->dram_percent);
    lpo_doc_put_measure(r, "dram_bytes_per_second", p->dram_bytes_per_second);
    lpo_doc_put_measure(r, "occupancy_percent", p->occupancy_percent);
    rules = lpo_doc_put_list(r, "rules");
    for (size_t i = 0; i < p->nrules; i++) {
        struct lpo_record *one = lpo_doc_put_record(rules, NULL);

        lpo_doc_put_text(one, "section", p->rules[i].section);
        lpo_doc_put_text(one, "rule", p->rules[i].rule);
        lpo_doc_put_text(one, "title", p->rules[i].title);
        lpo_doc_put_text(one, "kind", lpo_counters_rule_kind(p->rules[i].kind));
        lpo_doc_put_text(one, "text", p->rules[i].text);
        lpo_doc_put_text(one, "speedup", lpo_counters_rule_speedup(p->rules[i].speedup));
        lpo_doc_put_measure(one, "speedup_percent", p->rules[i].percent);
    }
}

static void put_summary(struct lpo_record *data, const struct lpo_kernel_summary *s)
{
    struct lpo_record *kernels;

    lpo_doc_put_text(data, "folder", s->folder);
    lpo_doc_put_text(data, "program", s->program);
    lpo_doc_put_text(data, "ncu", s->ncu);
    lpo_doc_put_text(data, "gpu", s->gpu);
    kernels = lpo_doc_put_list(data, "kernels");
    for (size_t i = 0; i < s->len; i++) {
        const struct lpo_kernel_outcome *o = &s->at[i];
        struct lpo_record *r = lpo_doc_put_record(kernels, NULL), *launches;

        lpo_doc_put_text(r, "name", o->name);
        lpo_doc_put_text(r, "regex", o->regex);
        lpo_doc_put_text(r, "folder", o->folder);
        lpo_doc_put_text(r, "state", lpo_report_kernel_state_name(o->state));
        lpo_doc_put_text(r, "message", o->message);
        launches = lpo_doc_put_list(r, "launches");
        for (size_t k = 0; k < o->profiles.len; k++)
            put_launch(lpo_doc_put_record(launches, NULL), &o->profiles.at[k]);
    }
}

struct lpo_doc *lpo_report_kernel_summary_doc(const struct lpo_kernel_summary *s)
{
    struct lpo_doc *doc = lpo_doc_create_data(KERNELS_SCHEMA, "kernels", "Kernels");

    add_sections(doc, s);
    put_summary(doc->data, s);
    return doc;
}
