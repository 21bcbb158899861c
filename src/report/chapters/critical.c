/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Critical path": what the wall time of each process consists of, and what would be
 * left of it without a part; launches that wait for the GPU. */

#include "analysis/critical/critical.h"
#include "analysis/analysis.h"
#include "analysis/queue/queue.h"
#include "analysis/steps/steps.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { NAMES = 3, REGIONS = 3, ENTRIES_IN_JSON = 50, STEPS_IN_JSON = 2000, LEAST_IN_JSON = 8 };

static const char *const part_titles[LPO_PATH_PARTS] = {
    [LPO_PATH_HOST] = "Host: program and operators",
    [LPO_PATH_CALLS] = "Host: calls of CUDA",
    [LPO_PATH_LAUNCH_DELAY] = "From launch to start",
    [LPO_PATH_COMPUTE] = "Kernels",
    [LPO_PATH_COMMUNICATION] = "Communication",
    [LPO_PATH_COPY] = "Copies and memsets",
    [LPO_PATH_GAP] = "Between GPU operations",
    [LPO_PATH_RETURN] = "Synchronization",
    [LPO_PATH_UNEXPLAINED] = "Waiting, cause not recorded",
    [LPO_PATH_NOT_RECORDED] = "Not recorded",
};

static const struct lpo_column columns[] = {
    { "part", "Part", LPO_CELL_TEXT, NULL },
    { "ns", "On the path", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "saved_removed_ns", "Saving if removed", LPO_CELL_NS, NULL },
    { "saved_halved_ns", "Saving if halved", LPO_CELL_NS, NULL, 1 },
};

/* The name for people: kernels in short, what has no name in words. */
static const char *entry_name(const struct lpo_analysis *a, const struct lpo_critical_entry *e)
{
    if (e->name == LPO_NONE)
        return e->part == LPO_PATH_CALLS ? "(launch calls)" : "(outside operators)";
    return e->part == LPO_PATH_COMPUTE || e->part == LPO_PATH_COMMUNICATION
               ? lpo_region_cells_short_name(a->cells, e->name)
               : lpo_trace_text(a->trace, e->name);
}

static const char *scope_name(struct lpo_arena *arena, const struct lpo_trace *t,
                              const struct lpo_critical_path *p)
{
    const struct lpo_process *process = &t->processes.at[p->process];

    return process->rank >= 0 ? lpo_arena_printf(arena, "rank:%d", process->rank)
                              : lpo_arena_printf(arena, "process:%lld", (long long)process->pid);
}

static const char *region_path(const struct lpo_analysis *a, uint32_t node, struct lpo_str *room)
{
    lpo_str_clear(room);
    if (node == LPO_NODE_OUTSIDE)
        return "(outside)";
    lpo_region_add_path(a->tree, node, room);
    return lpo_str_text(room);
}

static void add_row(struct lpo_table *t, const struct lpo_critical_path *p, const char *name,
                    unsigned indent, int64_t ns, const struct lpo_critical_saving *saving)
{
    lpo_doc_row(
        t, lpo_cell_tree(name, indent), ns,
        lpo_cell_share((double)ns, (double)(p->end_ns - p->start_ns)),
        lpo_cell_whole_if(saving->known, saving->removed_ns),
        lpo_cell_whole_if(saving->known && saving->halved_ns != LPO_NO_TIME, saving->halved_ns));
}

/* A part and the names that are most of it. */
static void add_part(struct lpo_table *t, const struct lpo_analysis *a,
                     const struct lpo_critical_path *p, enum lpo_critical_part part)
{
    size_t names = 0;

    add_row(t, p, part_titles[part], 0, p->parts.ns[part], &p->savings[part]);
    for (size_t i = 0; i < p->entries.len && names < NAMES; i++)
        if (p->entries.at[i].part == part && p->entries.at[i].saving.known) {
            add_row(t, p, entry_name(a, &p->entries.at[i]), 1, p->entries.at[i].ns,
                    &p->entries.at[i].saving);
            names++;
        }
}

/* The part with the most time of those that were not `shown` yet; LPO_PATH_PARTS: none is worth a
 * row. */
static enum lpo_critical_part largest(const struct lpo_critical_path *p, const bool *shown)
{
    int64_t wall_ns = p->end_ns - p->start_ns, most = -1;
    enum lpo_critical_part best = LPO_PATH_PARTS;

    for (int i = 0; i < LPO_PATH_PARTS; i++) {
        bool worth = p->parts.ns[i] > wall_ns / 1000 ||
                     (p->savings[i].known && p->savings[i].removed_ns > wall_ns / 100);

        if (!shown[i] && worth && p->parts.ns[i] > most) {
            best = (enum lpo_critical_part)i;
            most = p->parts.ns[i];
        }
    }
    return best;
}

/* A region that is nearly all of the path says nothing. */
static void add_regions(struct lpo_table *t, const struct lpo_analysis *a,
                        const struct lpo_critical_path *p)
{
    int64_t wall_ns = p->end_ns - p->start_ns;
    LPO_STR room = { 0 };
    size_t shown = 0;

    for (size_t i = 0; i < p->regions.len && shown < REGIONS; i++) {
        const struct lpo_critical_region *r = &p->regions.at[i];

        if (r->ns > wall_ns - wall_ns / 10 || r->node == LPO_NODE_OUTSIDE || !r->saving.known)
            continue;
        add_row(t, p, lpo_arena_printf(t->arena, "Region %s", region_path(a, r->node, &room)), 0,
                r->ns, &r->saving);
        shown++;
    }
}

static const struct lpo_critical_path *longest(const struct lpo_critical *c)
{
    const struct lpo_critical_path *best = &c->paths.at[0];

    for (size_t i = 1; i < c->paths.len; i++)
        if (c->paths.at[i].end_ns - c->paths.at[i].start_ns > best->end_ns - best->start_ns)
            best = &c->paths.at[i];
    return best;
}

void lpo_report_chapter_critical(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_critical *c = lpo_analysis_critical(s->analysis);
    bool shown[LPO_PATH_PARTS] = { 0 };
    const struct lpo_critical_path *p;
    enum lpo_critical_part part;
    struct lpo_table *t;

    if (!c || !c->paths.len)
        return;
    p = longest(c);
    lpo_doc_section(doc, "critical_path", "Critical path", 1);
    lpo_doc_section_is_detail(doc);
    lpo_doc_paragraph(
        doc, "The longest dependency chain of %s. %s",
        c->paths.len > 1 ? scope_name(doc->arena, s->trace, p) : "the program",
        p->fits ? "Savings are of the wall time, from a simulation of the whole trace: another "
                  "chain may become critical. Without synchronization no call waits for the GPU."
                : "A simulation of the unchanged trace does not give the measured wall time within "
                  "one percent, so no savings are given.");
    t = lpo_doc_table(doc, "critical_path", "", columns, COUNT(columns));
    while ((part = largest(p, shown)) != LPO_PATH_PARTS) {
        add_part(t, s->analysis, p, part);
        shown[part] = true;
    }
    add_regions(t, s->analysis, p);
    lpo_report_add_queue(doc, s);
}

static void put_saving(struct lpo_record *r, const struct lpo_critical_saving *s)
{
    lpo_doc_put(r, LPO_KV("saved_removed_ns", lpo_jv_int_if(s->known, s->removed_ns)),
                LPO_KV("saved_halved_ns",
                       lpo_jv_int_if(s->known && s->halved_ns != LPO_NO_TIME, s->halved_ns)));
}

static void put_parts(struct lpo_record *to, const struct lpo_critical_parts *parts)
{
    for (int i = 0; i < LPO_PATH_PARTS; i++)
        lpo_doc_put(to, LPO_KV(lpo_arena_printf(to->arena, "%s_ns", lpo_critical_part_name(i)),
                               parts->ns[i]));
}

/* A thousand processes share what one may have; `lpo sql` has the rest (critical_steps). */
static size_t listed(const struct lpo_analysis *a, size_t most)
{
    size_t each = most / (2 * (lpo_analysis_critical(a)->paths.len + 1));

    return lpo_analysis_critical(a)->paths.len < 2 ? most
           : each > LEAST_IN_JSON                  ? each
                                                   : LEAST_IN_JSON;
}

static void put_entries(struct lpo_record *to, const struct lpo_analysis *a,
                        const struct lpo_critical_path *p)
{
    struct lpo_record *list = lpo_doc_put_list(to, "names");

    for (size_t i = 0; i < p->entries.len && i < listed(a, ENTRIES_IN_JSON); i++) {
        const struct lpo_critical_entry *e = &p->entries.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("name", lpo_report_name(a->trace, e->name)),
                    LPO_KV("part", lpo_critical_part_name(e->part)), LPO_KV("count", e->count),
                    LPO_KV("ns", e->ns));
        put_saving(r, &e->saving);
    }
}

static void put_regions(struct lpo_record *to, const struct lpo_analysis *a,
                        const struct lpo_critical_path *p)
{
    struct lpo_record *list = lpo_doc_put_list(to, "regions");
    LPO_STR room = { 0 };

    for (size_t i = 0; i < p->regions.len && i < listed(a, ENTRIES_IN_JSON); i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("path", region_path(a, p->regions.at[i].node, &room)),
                    LPO_KV("ns", p->regions.at[i].ns));
        put_saving(r, &p->regions.at[i].saving);
    }
}

/* What the steps of one process are made from. */
struct step_source {
    const struct lpo_analysis *a;
    const struct lpo_critical_path *p;
    const uint32_t *longest; /* those that are listed, in order of time */
    size_t count;
};

static int64_t wall_of(const struct step_source *from, uint32_t i)
{
    return lpo_analysis_steps(from->a)->rows.at[from->p->steps.at[i].step].wall_ns;
}

static int by_wall(const void *x, const void *y, void *ctx)
{
    int64_t a = wall_of(ctx, *(const uint32_t *)x), b = wall_of(ctx, *(const uint32_t *)y);

    return a != b ? (a > b ? -1 : 1) : *(const uint32_t *)x < *(const uint32_t *)y ? -1 : 1;
}

LPO_COMPARE(by_number, uint32_t, LPO_UP_OF(*a, *b));

static const uint32_t *longest_steps(struct lpo_arena *arena, const struct step_source *from,
                                     size_t most, size_t *count)
{
    size_t all = from->p->steps.len;
    uint32_t *rows = lpo_arena_array(arena, all + 1, sizeof *rows);

    for (uint32_t i = 0; i < all; i++)
        rows[i] = i;
    *count = all < most ? all : most;
    if (all > most) {
        qsort_r(rows, all, sizeof *rows, by_wall, (void *)(uintptr_t)from);
        qsort(rows, most, sizeof *rows, by_number);
    }
    return rows;
}

static void put_step(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct step_source *from = ctx;
    const struct lpo_critical_step *s = &from->p->steps.at[from->longest[i]];
    const struct lpo_program_step *x = &lpo_analysis_steps(from->a)->rows.at[s->step];

    lpo_doc_put(r, LPO_KV("name", lpo_report_name(from->a->trace, x->name)),
                LPO_KV("wall_ns", x->wall_ns));
    put_parts(lpo_doc_put_record(r, "parts"), &s->parts);
}

static void put_path(struct lpo_record *r, const struct lpo_analysis *a,
                     const struct lpo_critical_path *p)
{
    struct step_source *from = LPO_NEW(r->arena, struct step_source);
    struct lpo_record *list, *graph;

    *from = (struct step_source){ .a = a, .p = p };
    lpo_doc_put(r, LPO_KV("scope", scope_name(r->arena, a->trace, p)),
                LPO_KV("wall_ns", p->end_ns - p->start_ns), LPO_KV("simulated_ns", p->simulated_ns),
                LPO_KV("fits", p->fits));
    put_parts(lpo_doc_put_record(r, "parts"), &p->parts);
    list = lpo_doc_put_list(r, "savings");
    for (int i = 0; i < LPO_PATH_PARTS; i++)
        if (p->savings[i].known) {
            struct lpo_record *one = lpo_doc_put_record(list, NULL);

            lpo_doc_put(one, LPO_KV("part", lpo_critical_part_name(i)));
            put_saving(one, &p->savings[i]);
        }
    put_entries(r, a, p);
    put_regions(r, a, p);
    graph = lpo_doc_put_record(r, "graph");
    lpo_doc_put(graph, LPO_KV("calls", p->calls), LPO_KV("operations", p->operations),
                LPO_KV("stretches", p->stretches), LPO_KV("recorded_waits", p->recorded_waits),
                LPO_KV("inferred_waits", p->inferred_waits), LPO_KV("handovers", p->handovers),
                LPO_KV("without_launch", p->without_launch),
                LPO_KV("usual_launch_ns", p->usual_launch_ns),
                LPO_KV("usual_gap_ns", p->usual_gap_ns));
    from->longest = longest_steps(r->arena, from, listed(a, STEPS_IN_JSON), &from->count);
    lpo_doc_put_stream(r, "steps", from->count, put_step, from);
}

void lpo_report_put_critical(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_critical *c = lpo_analysis_critical(a);
    struct lpo_record *list;

    if (!c || !c->paths.len)
        return;
    list = lpo_doc_put_list(to, "critical_path");
    for (size_t i = 0; i < c->paths.len; i++)
        put_path(lpo_doc_put_record(list, NULL), a, &c->paths.at[i]);
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* The GPU with the most launches. */
static const struct lpo_queue_device *busiest(const struct lpo_queue *q)
{
    const struct lpo_queue_device *best = &q->devices.at[0];

    for (size_t i = 1; i < q->devices.len; i++)
        if (q->devices.at[i].all.launches > best->all.launches)
            best = &q->devices.at[i];
    return best;
}

void lpo_report_add_queue(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_queue *q = lpo_analysis_queue(s->analysis);
    const struct lpo_queue_device *d;
    LPO_STR median = { 0 }, p90 = { 0 };

    if (!q || !q->devices.len)
        return;
    d = busiest(q);
    lpo_units_add_duration(&median, d->all.median_ns);
    lpo_units_add_duration(&p90, d->all.p90_ns);
    lpo_doc_paragraph(doc,
                      "Half of all launches%s%s started within %s of the call, 90 %% within %s. At "
                      "most %llu were waiting at one time, and none for %.1f %% of the time.",
                      q->devices.len > 1 ? " of " : "",
                      q->devices.len > 1
                          ? lpo_report_device_scope(doc->arena, &s->trace->devices.at[d->device])
                          : "",
                      lpo_str_text(&median), lpo_str_text(&p90), (unsigned long long)d->all.most,
                      share(d->all.empty_ns, d->all.span_ns));
}

static void put_sum(struct lpo_record *r, const struct lpo_queue_sum *s)
{
    lpo_doc_put(r, LPO_KV("launches", s->launches), LPO_KV("delay_min_ns", s->min_ns),
                LPO_KV("delay_median_ns", s->median_ns), LPO_KV("delay_p90_ns", s->p90_ns),
                LPO_KV("delay_p99_ns", s->p99_ns), LPO_KV("delay_max_ns", s->max_ns),
                LPO_KV("delay_sum_ns", s->waiting_ns), LPO_KV("depth_median", s->median),
                LPO_KV("depth_p90", s->p90), LPO_KV("depth_max", s->most),
                LPO_KV("span_ns", s->span_ns), LPO_KV("empty_ns", s->empty_ns));
}

void lpo_report_put_queue(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_queue *q = lpo_analysis_queue(a);
    uint64_t left = lpo_budget()->scopes;
    struct lpo_record *list;

    if (!q || !q->devices.len)
        return;
    list = lpo_doc_put_list(to, "launch_queue");
    for (size_t i = 0; i < q->devices.len && i < lpo_budget()->scopes; i++) {
        const struct lpo_queue_device *d = &q->devices.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL), *streams;

        lpo_doc_put(r, LPO_KV("scope",
                              lpo_report_device_scope(r->arena, &a->trace->devices.at[d->device])));
        put_sum(r, &d->all);
        lpo_doc_put(r, LPO_KV("skewed", d->skewed));
        streams = lpo_doc_put_list(r, "streams");
        for (size_t k = 0; k < d->streams.len && left; k++, left--) {
            struct lpo_record *one = lpo_doc_put_record(streams, NULL);

            lpo_doc_put(one, LPO_KV("stream", d->streams.at[k].stream));
            put_sum(one, &d->streams.at[k].sum);
        }
    }
}
