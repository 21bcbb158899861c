/* SPDX-License-Identifier: Apache-2.0 */
/* First calls apart from later ones. A first call may load modules, tune kernels or compile: what
 * it takes says nothing about the next call, and a faster kernel does not save it. Where the first
 * calls of a region take longer (region/scope.h), its row is about the later calls alone: both what
 * they need and what they took. A region around it whose own calls do not differ leaves out the
 * same calls. Where a program numbers its steps, "step0" is a first call as a whole: nothing is
 * left of its row, and the region around it leaves it out. */

#include "analysis/limits/private.h"

/* What is left out of a row. */
struct aside {
    double calls, busy_ns, host_gap_ns, other_gap_ns, host_ns;
    double flops, bytes, limit_ns, best_ns, sheet_ns, compute_ns, memory_ns;
};

static double value(struct lpo_measure m)
{
    return lpo_measure_known(m) ? m.value : 0;
}

static int64_t some(int64_t ns)
{
    return ns > 0 ? ns : 0; /* negative: not known */
}

/* A region as a whole. */
static struct aside whole(const struct lpo_limits_region *r, const struct lpo_limit_row *row)
{
    return (struct aside){
        .calls = 1,
        .busy_ns = (double)some(r->gpu_ns),
        .host_gap_ns = (double)r->host_gap_ns,
        .other_gap_ns = (double)r->other_gap_ns,
        .host_ns = (double)some(r->host_ns),
        .flops = value(row->needed_flops),
        .bytes = value(row->needed_bytes),
        .limit_ns = value(row->limit_ns),
        .best_ns = value(row->best_ns),
        .sheet_ns = value(row->sheet_ns),
        .compute_ns = row->need_compute_ns,
        .memory_ns = row->need_memory_ns,
    };
}

/* Each visit of a region needs the same. */
static struct aside own(const struct lpo_limits_region *r, const struct lpo_limit_row *row)
{
    double part = (double)r->firsts / (double)r->visits;

    return (struct aside){
        .calls = (double)r->firsts,
        .busy_ns = (double)r->first_gpu_ns,
        .host_gap_ns = (double)r->first_host_gap_ns,
        .other_gap_ns = (double)r->first_other_gap_ns,
        .host_ns = (double)r->first_host_ns,
        .flops = part * value(row->needed_flops),
        .bytes = part * value(row->needed_bytes),
        .limit_ns = part * value(row->limit_ns),
        .best_ns = part * value(row->best_ns),
        .sheet_ns = part * value(row->sheet_ns),
        .compute_ns = part * row->need_compute_ns,
        .memory_ns = part * row->need_memory_ns,
    };
}

/* By how much first calls took longer than as many later ones. */
static double longer(double first, int64_t all, const struct lpo_limits_region *r)
{
    double later = ((double)all - first) / (double)(r->visits - r->firsts);

    return fmax(0, floor(first - later * (double)r->firsts)); /* times are whole nanoseconds */
}

/* For a region around this one whose need does not hold the need of this one as a part: it stays
 * there, and with it the time of as many later calls. */
static struct aside excess(const struct lpo_limits_region *r, const struct aside *a)
{
    return (struct aside){
        .calls = a->calls,
        .busy_ns = longer(a->busy_ns, r->gpu_ns, r),
        .host_gap_ns = longer(a->host_gap_ns, r->host_gap_ns, r),
        .other_gap_ns = longer(a->other_gap_ns, r->other_gap_ns, r),
        .host_ns = longer(a->host_ns, r->host_ns, r),
    };
}

/* The need of a part of the model is part of what the model around it needs. */
static bool is_part(const struct lpo_limit_row *row)
{
    return !row->stated && lpo_measure_known(row->needed_flops);
}

static void add(struct aside *to, const struct aside *more)
{
    to->calls += more->calls;
    to->busy_ns += more->busy_ns;
    to->host_gap_ns += more->host_gap_ns;
    to->other_gap_ns += more->other_gap_ns;
    to->host_ns += more->host_ns;
    to->flops += more->flops;
    to->bytes += more->bytes;
    to->limit_ns += more->limit_ns;
    to->best_ns += more->best_ns;
    to->sheet_ns += more->sheet_ns;
    to->compute_ns += more->compute_ns;
    to->memory_ns += more->memory_ns;
}

/* For the same: by how much the first of numbered regions took longer than one of the others. */
static struct aside longer_than(const struct aside *others, const struct aside *first)
{
    return (struct aside){
        .calls = first->calls,
        .busy_ns = fmax(0, floor(first->busy_ns - others->busy_ns / others->calls)),
        .host_gap_ns = fmax(0, floor(first->host_gap_ns - others->host_gap_ns / others->calls)),
        .other_gap_ns = fmax(0, floor(first->other_gap_ns - others->other_gap_ns / others->calls)),
        .host_ns = fmax(0, floor(first->host_ns - others->host_ns / others->calls)),
    };
}

static void less(struct lpo_measure *m, double by)
{
    if (lpo_measure_known(*m))
        m->value = fmax(0, m->value - by);
}

static void leave_out(struct lpo_limit_row *row, const struct lpo_limits_region *r,
                      const struct aside *a)
{
    bool gpu = lpo_measure_known(row->busy_ns);
    double first_ns = gpu ? a->busy_ns + a->host_gap_ns + a->other_gap_ns : a->host_ns;

    /* nothing would be left to judge */
    if (!(first_ns > 0) || !(row->measured_ns.value > first_ns) ||
        (gpu && row->busy_ns.value <= a->busy_ns))
        return;
    row->first_calls = a->calls;
    row->first_ns = lpo_measure_measured(first_ns);
    row->own_first = r->firsts > 0;
    if (r->firsts)
        row->runs -= row->runs * (double)r->firsts / (double)r->visits;
    row->host_gap_ns = fmax(0, row->host_gap_ns - a->host_gap_ns);
    row->other_gap_ns = fmax(0, row->other_gap_ns - a->other_gap_ns);
    less(&row->busy_ns, a->busy_ns);
    less(&row->idle_ns, a->host_gap_ns + a->other_gap_ns);
    less(&row->measured_ns, first_ns);
    less(&row->needed_flops, a->flops);
    less(&row->needed_bytes, a->bytes);
    less(&row->limit_ns, a->limit_ns);
    less(&row->best_ns, a->best_ns);
    less(&row->sheet_ns, a->sheet_ns);
    row->need_compute_ns = fmax(0, row->need_compute_ns - a->compute_ns);
    row->need_memory_ns = fmax(0, row->need_memory_ns - a->memory_ns);
}

/* The row of a first call, or of a region inside one: nothing of it is judged. */
static void leave_out_whole(struct lpo_limit_row *row)
{
    row->first_calls = 1;
    row->first_ns = row->measured_ns;
    row->own_first = true;
    row->need_compute_ns = row->need_memory_ns = 0;
    row->host_gap_ns = row->other_gap_ns = 0;
    row->needed_flops = row->needed_bytes = row->limit_ns = row->sheet_ns = lpo_measure_unknown();
    row->best_ns = lpo_measure_unknown();
    row->measured_ns = row->busy_ns = row->idle_ns = lpo_measure_unknown();
}

static void leave_out_numbered(struct lpo_limits *l, const struct lpo_limits_region *regions)
{
    bool *inside = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *inside);

    for (size_t i = 0; i < l->rows.len; i++) {
        inside[i] =
            regions[i].is_first || (regions[i].parent != UINT32_MAX && inside[regions[i].parent]);
        if (inside[i])
            leave_out_whole(&l->rows.at[i]);
    }
}

/* By line: the sum of the numbered regions that are not the first. */
static struct aside *sum_others(const struct lpo_limits *l, const struct lpo_limits_region *regions)
{
    struct aside *lines = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *lines);

    for (size_t i = 0; i < l->rows.len; i++)
        if (regions[i].line && !regions[i].is_first) {
            struct aside one = whole(&regions[i], &l->rows.at[i]);

            add(&lines[regions[i].line], &one);
        }
    return lines;
}

/* What the regions inside leave out: for a need of the model, and for any other. */
struct inside {
    struct aside model, other;
};

void lpo_limits_first_calls(struct lpo_limits *l, const struct lpo_limits_region *regions)
{
    struct inside *all = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *all);
    const struct aside *others = sum_others(l, regions);

    for (size_t i = l->rows.len; i-- > 0;) { /* a region comes after those around it */
        const struct lpo_limits_region *r = &regions[i];
        struct lpo_limit_row *row = &l->rows.at[i];
        struct aside mine = row->stated ? all[i].other : all[i].model;

        if (r->firsts || r->is_first) {
            mine = r->is_first ? whole(r, row) : own(r, row);
            all[i].other = r->is_first ? longer_than(&others[r->line], &mine) : excess(r, &mine);
            all[i].model = is_part(row) ? mine : all[i].other;
        }
        /* first launches may lie in first calls of regions inside: then they are in `mine` */
        mine.host_gap_ns = r->firsts ? mine.host_gap_ns + (double)r->launch_gap_ns
                                     : fmax(mine.host_gap_ns, (double)r->launch_gap_ns);
        if (r->parent != UINT32_MAX) {
            add(&all[r->parent].model, &all[i].model);
            add(&all[r->parent].other, &all[i].other);
        }
        if (!r->is_first && (mine.calls > 0 || mine.host_gap_ns > 0))
            leave_out(row, r, &mine);
    }
    leave_out_numbered(l, regions);
}
