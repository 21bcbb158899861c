/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/windows/windows.h"

#include "analysis/wall/order.h"
#include "trace/trace.h"
#include "util/checked.h"

/* Kernels that were launched in each window, by its row. */
struct sums {
    int64_t *gpu_ns;
    uint64_t *launches;
    bool *graphs; /* kernels of CUDA graphs are among them */
};

static struct sums sum_kernels(const struct lpo_trace *t)
{
    size_t n = t->windows.len + 1;
    struct sums s = { lpo_xcalloc(n, sizeof *s.gpu_ns), lpo_xcalloc(n, sizeof *s.launches),
                      lpo_xcalloc(n, sizeof *s.graphs) };

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        size_t window = lpo_wall_window(t, op); /* plus one; what is before the first is in none */

        if (op->kind != LPO_KERNEL || window < 2 || window > n ||
            t->windows.at[window - 2].process != op->process)
            continue;
        s.gpu_ns[window - 2] += lpo_trace_gpu_op_ns(op);
        s.launches[window - 2]++;
        s.graphs[window - 2] |= (op->flags & LPO_GPU_OP_GRAPH) != 0;
    }
    return s;
}

/* Each window is one recorded call. */
static void add_spread(struct lpo_windows_row *row, const int64_t *gpu_ns, size_t count)
{
    double mean = (double)row->gpu_ns / (double)count, squares = 0;
    int64_t least = gpu_ns[0], most = gpu_ns[0];

    for (size_t i = 0; i < count; i++) {
        least = gpu_ns[i] < least ? gpu_ns[i] : least;
        most = gpu_ns[i] > most ? gpu_ns[i] : most;
        squares += ((double)gpu_ns[i] - mean) * ((double)gpu_ns[i] - mean);
    }
    row->mean_ns = lpo_measure_measured(mean);
    row->least_ns = lpo_measure_measured((double)least);
    row->most_ns = lpo_measure_measured((double)most);
    if (count > 1)
        row->deviation_ns = lpo_measure_measured(sqrt(squares / (double)(count - 1)));
}

static struct lpo_windows_row row_of(const struct lpo_trace *t, const struct lpo_window_range *r,
                                     const struct sums *s)
{
    struct lpo_windows_row row = { .range = r->name,
                                   .process = r->process,
                                   .calls = r->seen,
                                   .recorded = r->recorded,
                                   .windows = r->count };
    bool graphs = false;

    for (size_t i = r->first; i < r->first + r->count; i++) {
        row.recorded_ns =
            lpo_ns_add(row.recorded_ns, t->windows.at[i].end_ns - t->windows.at[i].start_ns);
        row.gpu_ns += s->gpu_ns[i];
        row.launches += s->launches[i];
        graphs |= s->graphs[i];
    }
    if (r->name == LPO_NONE || !r->recorded || !t->gpu_ops.len)
        return row;
    if (r->count == r->recorded)
        add_spread(&row, s->gpu_ns + r->first, r->count);
    if (r->recorded == r->seen)
        row.all_gpu_ns = lpo_measure_measured((double)row.gpu_ns);
    else
        row.all_gpu_ns =
            lpo_measure_estimated((double)row.gpu_ns / (double)r->recorded * (double)r->seen);
    /* A graph that is launched outside is counted as nothing: what it runs is not looked up. */
    if (r->recorded == r->seen || (r->counted && !graphs && !r->chosen_graphs))
        row.all_launches = lpo_measure_measured((double)(row.launches + r->chosen_launches));
    return row;
}

struct lpo_windows *lpo_windows_create(const struct lpo_trace *t)
{
    struct lpo_windows *w = lpo_xcalloc(1, sizeof *w);
    struct sums s;

    if (!t->window_ranges.len)
        return w;
    s = sum_kernels(t);
    for (size_t i = 0; i < t->window_ranges.len; i++)
        lpo_vec_push(&w->rows, row_of(t, &t->window_ranges.at[i], &s));
    free(s.gpu_ns);
    free(s.launches);
    free(s.graphs);
    return w;
}

void lpo_windows_destroy(struct lpo_windows *w)
{
    if (!w)
        return;
    lpo_vec_free(&w->rows);
    free(w);
}
