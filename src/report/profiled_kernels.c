/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profiled_kernels.h"

#include "analysis/counters/rules.h"
#include "analysis/tables/tables.h"
#include "region/kernel_name/short.h"
#include "report/doc/doc.h"

#define KERNELS_SCHEMA "lpo.kernels/1"

LPO_NAMES(lpo_report_kernel_state_name, enum lpo_kernel_state, "not tried", "done", "no match",
          "failed");

/* A launch of the kernel that was asked for with this number. */
typedef struct {
    size_t number;
    const struct lpo_kernel_profile *p;
} launch_row;

static struct lpo_cell class_cell(const struct lpo_rows *rows, const struct lpo_kernel_profile *p)
{
    if (p->bound != LPO_BOUND_MEMORY || !p->level)
        return lpo_cell_text(lpo_counters_bound_name(p->bound));
    lpo_str_addf(lpo_table_scratch(rows), "memory (%s)", p->level);
    return lpo_cell_scratch(rows);
}

static struct lpo_cell dims_cell(const struct lpo_rows *rows, const struct lpo_kernel_profile *p,
                                 const uint32_t *d, const char *format)
{
    if (!p->shaped)
        return lpo_cell_unknown();
    lpo_str_addf(lpo_table_scratch(rows), format, d[0], d[1], d[2]);
    return lpo_cell_scratch(rows);
}

/* Two kernels may have one short name: the number says which was asked for, and machines get the
 * whole name. */
static struct lpo_cell kernel_cell(const struct lpo_rows *rows, const char *name)
{
    struct lpo_cell c = lpo_cell_text(name);

    if (!name || !*name)
        return c;
    lpo_region_short_name((struct lpo_kernel_span){ name, strlen(name) }, lpo_table_scratch(rows));
    c.shown = lpo_str_text(rows->scratch);
    return c;
}

static struct lpo_cell share_cell(struct lpo_measure m)
{
    m.value /= 100;
    return lpo_cell_measure(m);
}

/* In percent for machines, as a share for people. */
#define USE(X, key, title, meaning, ...)                                                           \
    X(launch, key##_percent, title, MEASURE("%"), FACT, meaning, r->p->key##_percent)              \
    X(launch, key##_share, title, PERCENT, FACT, meaning, share_cell(r->p->key##_percent),         \
      __VA_ARGS__)

#define LAUNCH(X)                                                                                  \
    X(launch, number, "#", COUNT, KEY, "of the kernel that was asked for", r->number)              \
    X(launch, class, "Class", TEXT, FACT, "what it is bound by",                                   \
      lpo_counters_bound_name(r->p->bound))                                                        \
    X(launch, class_shown, "Class", TEXT, FACT, "and by which memory", class_cell(rows, r->p))     \
    X(launch, duration_ns, "Time", NS, ADDS, "of the launch", r->p->duration_ns)                   \
    USE(X, compute, "SM", "of the peak")                                                           \
    USE(X, memory, "Memory", "of the peak")                                                        \
    X(launch, memory_level, "Level", TEXT, FACT, "the busiest memory", r->p->level)                \
    USE(X, tensor, "Tensor", "of the peak", .minor = 2)                                            \
    USE(X, l1, "L1", "of the peak", .minor = 2)                                                    \
    USE(X, l2, "L2", "of the peak", .minor = 2)                                                    \
    USE(X, dram, "DRAM", "of the peak", .minor = 2)                                                \
    X(launch, dram_bytes_per_second, "DRAM rate", MEASURE("B/s"), FACT, "of the launch",           \
      r->p->dram_bytes_per_second, .minor = 3)                                                     \
    USE(X, occupancy, "Occupancy", "achieved", .minor = 1)                                         \
    X(launch, registers, "Regs", MEASURE(NULL), FACT, "of a thread", r->p->registers, .minor = 3)  \
    X(launch, waves, "Waves", MEASURE(NULL), FACT, "of blocks on each SM", r->p->waves,            \
      .minor = 3)                                                                                  \
    X(launch, grid, "Grid", LIST, KEY, "blocks", dims_cell(rows, r->p, r->p->grid, "[%u,%u,%u]"))  \
    X(launch, block, "Block", LIST, KEY, "threads of a block",                                     \
      dims_cell(rows, r->p, r->p->block, "[%u,%u,%u]"))                                            \
    X(launch, grid_shown, "Grid", TEXT, KEY, "blocks",                                             \
      dims_cell(rows, r->p, r->p->grid, "%ux%ux%u"), .width = 12)                                  \
    X(launch, block_shown, "Block", TEXT, KEY, "threads of a block",                               \
      dims_cell(rows, r->p, r->p->block, "%ux%ux%u"), .width = 12)                                 \
    X(launch, kernel, "Kernel", TEXT, KEY, "demangled", kernel_cell(rows, r->p->kernel))

LPO_TABLE(launch, LAUNCH)

static const struct lpo_table_kind launches_kind =
    LPO_TABLE_KIND(launch, "launches", "Launches that ncu measured");

static struct lpo_rows launch_rows(struct lpo_arena *arena, const struct lpo_kernel_outcome *o,
                                   size_t first, size_t count)
{
    const struct lpo_tables_of *of = lpo_tables_of(arena, NULL, NULL);
    LPO_FREED LPO_VEC(launch_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = first; i < first + count; i++)
        for (size_t k = 0; k < o[i].profiles.len; k++)
            lpo_vec_push(&all, (launch_row){ i + 1, &o[i].profiles.at[k] });
    rows = lpo_tables_kept(of, &launches_kind, all.at, all.len, sizeof *all.at);
    return rows;
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
    struct lpo_rows rows;

    lpo_doc_section(doc, "kernels", "", 1);
    lpo_doc_fact(doc, "program", "Program", TEXT, s->program);
    lpo_doc_fact(doc, "ncu", "ncu", TEXT, s->ncu);
    lpo_doc_fact(doc, "gpu", "GPU", TEXT, s->gpu);
    rows = launch_rows(doc->arena, s->at, 0, s->len);
    lpo_doc_table_of(doc, "launches", "", &rows,
                     "number class=class_shown duration_ns compute_share memory_share tensor_share "
                     "l1_share l2_share dram_share dram_bytes_per_second occupancy_share registers "
                     "waves grid=grid_shown block=block_shown kernel",
                     0);
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

static void put_rules(const struct lpo_rows *rows, size_t launch, struct lpo_record *r)
{
    const struct lpo_kernel_profile *p = launch_of(rows, launch)->p;
    struct lpo_record *rules;

    rules = lpo_doc_put_list(r, "rules");
    for (size_t i = 0; i < p->nrules; i++)
        lpo_doc_put(lpo_doc_put_record(rules, NULL), LPO_KV("section", p->rules[i].section),
                    LPO_KV("rule", p->rules[i].rule), LPO_KV("title", p->rules[i].title),
                    LPO_KV("kind", lpo_counters_rule_kind(p->rules[i].kind)),
                    LPO_KV("text", p->rules[i].text),
                    LPO_KV("speedup", lpo_counters_rule_speedup(p->rules[i].speedup)),
                    LPO_KV("speedup_percent", p->rules[i].percent));
}

static void put_summary(struct lpo_record *data, const struct lpo_kernel_summary *s)
{
    struct lpo_record *kernels;

    lpo_doc_put(data, LPO_KV("folder", s->folder), LPO_KV("program", s->program),
                LPO_KV("ncu", s->ncu), LPO_KV("gpu", s->gpu));
    kernels = lpo_doc_put_list(data, "kernels");
    for (size_t i = 0; i < s->len; i++) {
        const struct lpo_kernel_outcome *o = &s->at[i];
        struct lpo_record *r = lpo_doc_put_record(kernels, NULL);
        struct lpo_rows launches;

        lpo_doc_put(
            r, LPO_KV("name", o->name), LPO_KV("regex", o->regex), LPO_KV("folder", o->folder),
            LPO_KV("state", lpo_report_kernel_state_name(o->state)), LPO_KV("message", o->message));
        launches = launch_rows(data->arena, s->at, i, 1);
        lpo_doc_put_rows_and(r, "launches", &launches,
                             "kernel class grid block duration_ns compute_percent memory_percent "
                             "memory_level tensor_percent l1_percent l2_percent registers waves "
                             "dram_percent dram_bytes_per_second occupancy_percent",
                             put_rules);
    }
}

struct lpo_doc *lpo_report_kernel_summary_doc(const struct lpo_kernel_summary *s)
{
    struct lpo_doc *doc = lpo_doc_create_data(KERNELS_SCHEMA, "kernels", "Kernels");

    add_sections(doc, s);
    put_summary(doc->data, s);
    return doc;
}
