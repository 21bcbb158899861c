/* SPDX-License-Identifier: Apache-2.0 */
/* The steady window of a run, taken apart: units of work, and what each nanosecond of one went to.
 *
 * The window is that of the steps of the process that keeps the critical GPU busy, else the span of
 * that GPU. Each nanosecond of it has one owner by the rule of analysis/wall: the kernel that
 * computes (of several the one that began first), else the collective, else the copy, else what the
 * launching thread was in while the GPU was idle. So cells and idle paths add up to the window, and
 * two windows can be subtracted. */

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/phases/phases.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/order.h"
#include "trace/host.h"

enum {
    MOST_PATHS = 20000, /* of idle time, while it is taken apart */
    MOST_DEPTH = 96,    /* of such a path; deeper slices count with the one at this depth */
    MOST_KERNELS = 48,  /* whose distances are kept, the most expensive ones */
    MOST_VALUES = 2048, /* of a series; of longer ones several units become one value */
};

struct stretch {
    int64_t start_ns, end_ns;
    uint32_t thread; /* gaps: that launched what ended it */
};

typedef LPO_VEC(struct stretch) stretches;

struct window {
    struct lpo_diff_builder *b;
    const struct lpo_trace *t;
    const uint32_t *rows; /* of gpu_ops: those of the critical device, by start */
    size_t count;
    int64_t start_ns, end_ns;
    uint32_t main; /* thread that launched most of them; LPO_NONE: not known */
    struct lpo_map_pair cells, copies;
    stretches gaps;
};

/* --- units ---------------------------------------------------------------------------------- */

/* `moments` has a value more than there are units. */
void lpo_diff_add_series(struct lpo_diff_digest *d, enum lpo_diff_unit_kind kind, uint32_t row,
                         const int64_t *moments, size_t units)
{
    struct lpo_diff_series s = { .kind = kind, .row = row, .count = units };
    size_t block = units / MOST_VALUES + 1;

    for (size_t i = 0; i + block <= units; i += block)
        lpo_vec_push(&s.ns, (double)(moments[i + block] - moments[i]) / (double)block);
    if (units)
        s.total_ns = moments[units] - moments[0];
    lpo_vec_push(&d->series, s);
}

/* When the last operation of a step ended: what its host does after that is seen in the next one,
 * and behind the last one a profiler may stop or a data loader shut down. */
static int64_t step_end(const struct lpo_program_step *x)
{
    return x->device != UINT16_MAX ? x->last_ns : x->start_ns + x->host_ns;
}

/* All steps but the first begin with the end of the one before, which is `lag` behind their host in
 * the middle. So far behind its host the first one begins, too, and with its own work at the
 * latest.
 */
static int64_t first_start(const struct lpo_program_step *first, size_t steps)
{
    int64_t *lags = lpo_xcalloc(steps, sizeof *lags), start = first->start_ns;

    for (size_t i = 1; i < steps; i++)
        lags[i - 1] = step_end(&first[i - 1]) - first[i].start_ns;
    lpo_order_sort_ns(lags, steps - 1);
    if (lags[(steps - 1) / 2] > 0)
        start += lags[(steps - 1) / 2];
    free(lags);
    return first->device != UINT16_MAX && start > first->gpu_start_ns ? first->gpu_start_ns : start;
}

static bool window_of_steps(struct window *w, const struct lpo_phases_window *p)
{
    const struct lpo_program_steps *steps = lpo_analysis_steps(w->b->a);
    LPO_FREED LPO_VEC(int64_t) ends = { 0 };

    if (!steps || p->steps < 2)
        return false;
    lpo_vec_push(&ends, first_start(&steps->rows.at[p->first_step], p->steps));
    for (size_t i = p->first_step; i < p->first_step + p->steps; i++) {
        int64_t end = step_end(&steps->rows.at[i]), last = ends.at[ends.len - 1];

        lpo_vec_push(&ends, end > last ? end : last);
    }
    w->start_ns = ends.at[0];
    w->end_ns = ends.at[ends.len - 1];
    lpo_diff_add_series(w->b->out, LPO_DIFF_STEP, UINT32_MAX, ends.at, p->steps);
    return true;
}

/* The same of files whose reader knows steps as operators only. */
static bool window_of_operators(struct window *w)
{
    const struct lpo_trace *t = w->t;
    LPO_FREED LPO_VEC(int64_t) starts = { 0 };
    int64_t end = 0;
    bool found;

    for (uint32_t i = 0; i < t->threads.len; i++) {
        struct lpo_host_rows rows = lpo_host_rows(t, i, LPO_HOST_OP);

        for (size_t k = 0; k < rows.len && t->threads.at[i].process == w->b->process; k++) {
            struct lpo_slice s = lpo_host_slice(t, LPO_HOST_OP, rows.at[k]);
            struct lpo_step_facts facts;
            int family;

            if (!lpo_steps_read_name(lpo_trace_text(t, s.name), &family, &facts) ||
                (starts.len && s.start_ns < end))
                continue;
            lpo_vec_push(&starts, s.start_ns);
            end = s.end_ns;
        }
        if (starts.len)
            break;
    }
    end = w->end_ns < end ? w->end_ns : end;
    found = starts.len >= 2 && end > starts.at[starts.len - 1];
    if (found) {
        lpo_vec_push(&starts, end);
        w->start_ns = starts.at[0];
        w->end_ns = end;
        lpo_diff_add_series(w->b->out, LPO_DIFF_STEP, UINT32_MAX, starts.at, starts.len - 1);
    }
    return found;
}

/* Distances between launches of the most expensive kernels: where nobody marks what a unit is. */
static void add_kernel_series(struct window *w)
{
    struct lpo_diff_digest *d = w->b->out;
    size_t most = d->items[LPO_DIFF_KERNELS].len;
    LPO_FREED LPO_VEC(int64_t) moments = { 0 };

    for (uint32_t k = 0; k < most && k < MOST_KERNELS; k++) {
        moments.len = 0;
        for (size_t i = 0; i < w->count; i++) {
            const struct lpo_gpu_op *op = &w->t->gpu_ops.at[w->rows[i]];

            if (op->kind == LPO_KERNEL && w->b->kernel_of[op->name] == k)
                lpo_vec_push(&moments, op->start_ns);
        }
        if (moments.len >= 2)
            lpo_diff_add_series(d, LPO_DIFF_LAUNCH, k, moments.at, moments.len - 1);
    }
}

/* Without a clock: how long each launch took, one after another. */
static void add_untimed_series(struct lpo_diff_builder *b)
{
    const struct lpo_trace *t = b->a->trace;
    struct lpo_diff_digest *d = b->out;
    LPO_FREED LPO_VEC(int64_t) sums = { 0 };

    for (uint32_t k = 0; k < d->items[LPO_DIFF_KERNELS].len && k < MOST_KERNELS; k++) {
        int64_t sum = 0;

        sums.len = 0;
        lpo_vec_push(&sums, 0);
        for (size_t i = 0; i < t->gpu_ops.len; i++)
            if (t->gpu_ops.at[i].kind == LPO_KERNEL && b->kernel_of[t->gpu_ops.at[i].name] == k &&
                !(t->gpu_ops.at[i].flags & LPO_GPU_OP_NO_LENGTH))
                lpo_vec_push(&sums, sum += lpo_trace_gpu_op_ns(&t->gpu_ops.at[i]));
        if (sums.len > 1)
            lpo_diff_add_series(d, LPO_DIFF_LAUNCH, k, sums.at, sums.len - 1);
    }
}

/* --- who owns each nanosecond --------------------------------------------------------------- */

/* Time before `ns` that lies in stretches, which are in order and do not overlap. `sums` has the
 * time before each of them. */
static int64_t time_before(const stretches *s, const int64_t *sums, int64_t ns)
{
    size_t low = 0, high = s->len;

    lpo_search(low, high, i, s->at[i].start_ns < ns);
    if (!low)
        return 0;
    return sums[low - 1] + (ns < s->at[low - 1].end_ns ? ns : s->at[low - 1].end_ns) -
           s->at[low - 1].start_ns;
}

static int64_t *sum_up(const stretches *s)
{
    int64_t *sums = lpo_xcalloc(s->len + 1, sizeof *sums);

    for (size_t i = 0; i < s->len; i++)
        sums[i + 1] = sums[i] + s->at[i].end_ns - s->at[i].start_ns;
    return sums;
}

static void join_stretch(stretches *to, struct stretch s)
{
    struct stretch *last = to->len ? &to->at[to->len - 1] : NULL;

    if (last && s.start_ns <= last->end_ns)
        last->end_ns = s.end_ns > last->end_ns ? s.end_ns : last->end_ns;
    else
        lpo_vec_push(to, s);
}

/* Both are in order; the result replaces `to`. */
static void merge_stretches(stretches *to, const stretches *more)
{
    stretches out = { 0 };

    for (size_t i = 0, k = 0; i < to->len || k < more->len;)
        if (k == more->len || (i < to->len && to->at[i].start_ns <= more->at[k].start_ns))
            join_stretch(&out, to->at[i++]);
        else
            join_stretch(&out, more->at[k++]);
    lpo_vec_free(to);
    to->at = out.at;
    to->len = out.len;
    to->cap = out.cap;
}

enum { COMPUTES, COMMUNICATES, COPIES, LEVELS };

static int level_of(const struct window *w, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL)
        return COPIES;
    return lpo_region_tree_class(w->b->a->tree, op->name) == LPO_CLASS_COLLECTIVE ? COMMUNICATES
                                                                                  : COMPUTES;
}

static uint32_t copy_row(struct window *w, const struct lpo_gpu_op *op)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&w->copies, op->name, 0, &fresh);

    if (fresh)
        lpo_vec_push(&w->b->out->copies,
                     lpo_arena_name(w->b->out->arena, lpo_trace_text(w->t, op->name),
                                    lpo_trace_text_len(w->t, op->name)));
    return row | LPO_DIFF_IS_COPY;
}

static struct lpo_diff_cell *cell_of(struct window *w, const struct lpo_gpu_op *op)
{
    const struct lpo_region_tree *tree = w->b->a->tree;
    uint32_t leaf = tree->places.at[lpo_region_place(tree, op)].leaf;
    uint32_t region = w->b->region_of[leaf == LPO_NONE ? tree->nodes.len : leaf];
    uint32_t kernel = op->kind == LPO_KERNEL ? w->b->kernel_of[op->name] : copy_row(w, op);
    uint32_t op_row = op->launch == LPO_NONE ? LPO_NONE : w->b->op_of[op->launch], row;
    bool fresh;

    row = lpo_map_pair_put(&w->cells, (uint64_t)region << 32 | op_row, kernel, &fresh);
    if (fresh)
        lpo_vec_push(&w->b->out->cells, (struct lpo_diff_cell){
                                            .region = region, .op_row = op_row, .kernel = kernel });
    return &w->b->out->cells.at[row];
}

/* One kind of operations after what was claimed before it: what is left of each is its own. */
static void claim(struct window *w, int level, stretches *claimed)
{
    int64_t *sums = sum_up(claimed), reached = INT64_MIN;
    LPO_FREED stretches mine = { 0 };

    for (size_t i = 0; i < w->count; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[w->rows[i]];
        int64_t from = op->start_ns > w->start_ns ? op->start_ns : w->start_ns;
        int64_t to = op->end_ns < w->end_ns ? op->end_ns : w->end_ns;
        struct lpo_diff_cell *c;

        if (level_of(w, op) != level || from >= w->end_ns || to < w->start_ns || to < from)
            continue;
        c = cell_of(w, op);
        c->launches++;
        c->ns += to - from;
        from = from > reached ? from : reached;
        if (to <= from)
            continue;
        c->wall_ns +=
            to - from - (time_before(claimed, sums, to) - time_before(claimed, sums, from));
        join_stretch(&mine, (struct stretch){ from, to, LPO_NONE });
        reached = to;
    }
    free(sums);
    merge_stretches(claimed, &mine);
}

/* --- idle time ------------------------------------------------------------------------------ */

/* The thread that launched the first operation at or after a moment. */
static uint32_t thread_behind(const struct window *w, int64_t ns)
{
    size_t low = 0, high = w->count;
    uint32_t launch;

    lpo_search(low, high, i, w->t->gpu_ops.at[w->rows[i]].start_ns < ns);
    launch = low < w->count ? w->t->gpu_ops.at[w->rows[low]].launch : LPO_NONE;
    return launch == LPO_NONE ? w->main : w->t->launches.at[launch].thread;
}

static void find_gaps(struct window *w, const stretches *busy)
{
    int64_t at = w->start_ns;

    for (size_t i = 0; i <= busy->len; i++) {
        int64_t until = i < busy->len ? busy->at[i].start_ns : w->end_ns;

        if (until > at)
            lpo_vec_push(&w->gaps, (struct stretch){ at, until, thread_behind(w, until) });
        if (i < busy->len)
            at = busy->at[i].end_ns;
    }
}

/* Digits become stars, and what a debugger would call an address is left out, so that a name is the
 * same in every run and on every line of the program. */
static uint32_t path_name(struct window *w, struct lpo_map *names, const struct lpo_slice *s)
{
    const char *text = s->name == LPO_NONE ? "" : lpo_trace_text(w->t, s->name);
    const char *address = strstr(text, " at 0x");
    size_t len = address ? (size_t)(address - text) : strlen(text);
    LPO_STR key = { 0 };
    bool fresh;
    uint64_t *row;

    lpo_str_add_starred(&key, text, len);
    row = lpo_map_put(names, lpo_str_text(&key), key.len, &fresh);
    if (fresh) {
        *row = lpo_map_count(names) - 1;
        lpo_vec_push(&w->b->out->names,
                     (struct lpo_diff_name){ lpo_arena_strdup(w->b->out->arena, lpo_str_text(&key)),
                                             lpo_arena_strndup(w->b->out->arena, text, len) });
    }
    return (uint32_t)*row;
}

struct paths {
    struct window *w;
    struct lpo_map *names;
    struct lpo_map_pair at; /* parent and name: row of idle */
    stretches gaps;         /* of one thread */
    int64_t *sums;
};

static uint32_t path_row(struct paths *p, uint32_t parent, uint32_t name, unsigned kind)
{
    struct lpo_diff_digest *d = p->w->b->out;
    bool fresh;
    uint32_t row = lpo_map_pair_find(&p->at, parent, (uint64_t)kind << 32 | name);

    if (row != UINT32_MAX)
        return row + 1;
    for (uint32_t i = parent; i; i = d->idle.at[i].parent)
        if (d->idle.at[i].name == name && d->idle.at[i].kind == kind)
            return parent; /* it calls itself */
    if (d->idle.len >= MOST_PATHS)
        return parent;
    row = lpo_map_pair_put(&p->at, parent, (uint64_t)kind << 32 | name, &fresh);
    lpo_vec_push(&d->idle, (struct lpo_diff_idle){ .parent = parent, .name = name, .kind = kind });
    return row + 1; /* row 0 is the root */
}

/* Steps are the unit, and the profiler's ranges of them cross the calls of Python. */
static bool is_step(const struct paths *p, const struct lpo_slice *s)
{
    struct lpo_step_facts facts;
    int family;

    return (s->kind == LPO_HOST_RANGE || s->kind == LPO_HOST_OP) && s->name != LPO_NONE &&
           lpo_steps_read_name(lpo_trace_text(p->w->t, s->name), &family, &facts);
}

static void walk_thread(struct paths *p, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_host_walk(p->w->t, thread, LPO_HOST_SLICES);
    struct lpo_slice s;
    struct {
        int64_t end_ns;
        uint32_t row;
    } open[MOST_DEPTH];
    size_t depth = 0;

    while (lpo_host_next(&walk, &s)) {
        uint32_t parent, row;
        int64_t ns;

        if (s.end_ns <= p->w->start_ns || s.start_ns >= p->w->end_ns)
            continue;
        ns = time_before(&p->gaps, p->sums, s.end_ns) - time_before(&p->gaps, p->sums, s.start_ns);
        while (depth && open[depth - 1].end_ns < s.end_ns)
            depth--; /* it has ended, or is not around all of this one */
        if (ns <= 0 || depth == MOST_DEPTH || is_step(p, &s))
            continue;
        parent = depth ? open[depth - 1].row : 0;
        row = path_row(p, parent, path_name(p->w, p->names, &s), s.kind);
        open[depth].row = row;
        open[depth++].end_ns = s.end_ns;
        if (row != parent) {
            p->w->b->out->idle.at[row].ns += ns;
            p->w->b->out->idle.at[row].count++;
        }
    }
}

/* What is shorter than a two thousandth of the window is left to the path around it. */
static void drop_short_paths(struct lpo_diff_digest *d)
{
    uint32_t *row = lpo_xcalloc(d->idle.len + 1, sizeof *row), kept = 0;

    for (uint32_t i = 0; i < d->idle.len; i++) {
        struct lpo_diff_idle x = d->idle.at[i];

        row[i] = kept;
        if (i && (x.ns < d->window_ns / 2000 || (x.parent && !row[x.parent]))) {
            row[i] = 0;
            continue;
        }
        if (i)
            x.parent = row[x.parent];
        d->idle.at[kept++] = x;
    }
    d->idle.len = kept;
    free(row);
}

static void take_idle_apart(struct window *w)
{
    LPO_AUTO(lpo_map) names = lpo_map_create();
    struct paths p = { .w = w, .names = names };
    bool *done = lpo_xcalloc(w->t->threads.len + 1, sizeof *done);

    lpo_vec_push(&w->b->out->idle,
                 (struct lpo_diff_idle){ .parent = UINT32_MAX, .name = UINT32_MAX });
    for (size_t i = 0; i < w->gaps.len; i++) {
        uint32_t thread = w->gaps.at[i].thread;

        w->b->out->idle.at[0].ns += w->gaps.at[i].end_ns - w->gaps.at[i].start_ns;
        w->b->out->idle.at[0].count++;
        if (thread == LPO_NONE || done[thread])
            continue;
        done[thread] = true;
        p.gaps.len = 0;
        for (size_t k = i; k < w->gaps.len; k++)
            if (w->gaps.at[k].thread == thread)
                lpo_vec_push(&p.gaps, w->gaps.at[k]);
        p.sums = sum_up(&p.gaps);
        walk_thread(&p, thread);
        free(p.sums);
    }
    free(done);
    lpo_vec_free(&p.gaps);
    lpo_map_pair_free(&p.at);
    drop_short_paths(w->b->out);
}

/* --- the window ----------------------------------------------------------------------------- */

static uint32_t find_main_thread(const struct window *w)
{
    LPO_FREED uint64_t *count = lpo_xcalloc(w->t->threads.len + 1, sizeof *count);
    uint32_t best = LPO_NONE;

    for (size_t i = 0; i < w->count; i++) {
        uint32_t launch = w->t->gpu_ops.at[w->rows[i]].launch;
        uint32_t thread = launch == LPO_NONE ? LPO_NONE : w->t->launches.at[launch].thread;

        if (thread != LPO_NONE && ++count[thread] > (best == LPO_NONE ? 0 : count[best]))
            best = thread;
    }
    return best;
}

static void find_window(struct window *w)
{
    const struct lpo_phases *phases = lpo_analysis_phases(w->b->a);
    const struct lpo_phases_window *p;

    w->b->process = w->t->gpu_ops.at[w->rows[0]].process;
    w->start_ns = w->t->gpu_ops.at[w->rows[0]].start_ns;
    w->end_ns = w->start_ns;
    for (size_t i = 0; i < w->count; i++)
        if (w->t->gpu_ops.at[w->rows[i]].end_ns > w->end_ns)
            w->end_ns = w->t->gpu_ops.at[w->rows[i]].end_ns;
    p = phases ? lpo_phases_window_of(phases, w->b->process) : NULL;
    if (!(p && window_of_steps(w, p)) && !window_of_operators(w))
        add_kernel_series(w);
}

static void take_apart(struct window *w)
{
    LPO_FREED stretches claimed = { 0 };

    w->main = find_main_thread(w);
    find_window(w);
    w->b->out->window_ns = w->end_ns - w->start_ns;
    for (int level = 0; level < LEVELS; level++)
        claim(w, level, &claimed);
    find_gaps(w, &claimed);
    take_idle_apart(w);
    lpo_vec_free(&w->gaps);
    lpo_map_pair_free(&w->cells);
    lpo_map_pair_free(&w->copies);
}

/* Without a clock every launch is in its cell, and nothing is idle. */
static void count_cells(struct window *w)
{
    for (size_t i = 0; i < w->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[i];
        struct lpo_diff_cell *c;

        if (op->kind != LPO_KERNEL)
            continue;
        c = cell_of(w, op);
        c->launches++;
        c->ns += lpo_trace_gpu_op_ns(op);
        c->wall_ns += lpo_trace_gpu_op_ns(op);
    }
    lpo_map_pair_free(&w->cells);
    add_untimed_series(w->b);
}

void lpo_diff_digest_window(struct lpo_diff_builder *b)
{
    const struct lpo_wall *wall = lpo_analysis_wall(b->a);
    struct window w = { .b = b, .t = b->a->trace };
    struct lpo_wall_order order;

    if (!wall || !wall->devices.len) {
        count_cells(&w);
        return;
    }
    order = lpo_wall_order_find(w.t);
    for (size_t i = 0, end; i < order.count; i = end) {
        end = lpo_wall_order_device(&order, w.t, i);
        if (w.t->gpu_ops.at[order.rows[i]].device != wall->devices.at[0].device)
            continue;
        w.rows = order.rows + i;
        w.count = end - i;
        take_apart(&w);
    }
    lpo_wall_order_free(&order);
}
