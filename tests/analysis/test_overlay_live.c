/* SPDX-License-Identifier: Apache-2.0 */
/* Representatives measured live on an H200, laid over a native trace of the same program, against
 * a capture of all its 5,712 kernels (tests/data/ncu/README.md: llama8). */
#include "../unit.h"

#include <math.h>

#include "analysis/counters/match.h"
#include "analysis/counters/overlay.h"
#include "region/tree.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"

static struct lpo_overlay lay(struct lpo_trace *base, const struct lpo_trace *counters)
{
    LPO_AUTO(lpo_region_tree) base_tree = lpo_region_tree_create(base);
    LPO_AUTO(lpo_region_tree) counters_tree = lpo_region_tree_create(counters);

    return lpo_counters_overlay(base, base_tree, counters_tree);
}

static const char *const metrics[] = { "gpu__time_duration.sum", "dram__bytes.sum",
                                       "sm__ops_path_tensor_src_bf16_dst_fp32.sum" };

/* Per cent that a region may be off, for each metric; `steps`: readings of later ones are left out.
 */
static const struct live_case {
    const char *name, *readings;
    double within[3];
    unsigned steps;
} cases[] = {
    { "one launch per configuration", "llama8_one.ncu-rep.gz", { 6, 5, 10 } },
    { "four, templates as one kernel", "llama8_four.ncu-rep.gz", { 5, 5, 0.1 } },
    { "one launch, four steps", "llama8_one.ncu-rep.gz", { 6, 5, 10 }, 4 },
    { "four launches, four steps", "llama8_four.ncu-rep.gz", { 5, 5, 0.1 }, 4 },
};

/* A region of one launch is as far off as two runs of one kernel are: these ran in two sessions. */
enum { FEW_LAUNCHES = 10 };
static const double few_within = 7;

static struct lpo_trace *read_file(const char *name)
{
    struct lpo_trace *t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/data/%s", unit_env("LPO_SOURCE_ROOT", "."), name);
    if (lpo_trace_read(path, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return t;
}

/* Was the GPU operation launched in the region, or below it? */
static bool is_in(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w,
                  const char *region)
{
    size_t len = strlen(region);
    LPO_STR path = { 0 };

    lpo_region_add_path(tree, tree->places.at[lpo_region_place(tree, w)].leaf, &path);
    lpo_str_addc(&path, '/');
    return path.len > len && memcmp(path.at, region, len) == 0 && path.at[len] == '/';
}

/* The program's launches in `decode` before the one that was measured. */
static size_t decoded_before(const struct lpo_region_tree *tree, const struct lpo_gpu_op *measured)
{
    const struct lpo_trace *t = tree->trace;
    int64_t start = t->launches.at[measured->launch].start_ns;
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        n += w->kind == LPO_KERNEL && w->launch != LPO_NONE &&
             t->launches.at[w->launch].start_ns < start && is_in(tree, w, "decode");
    }
    return n;
}

/* As if the program had ended after so many steps. */
static void keep_steps(struct lpo_trace *counters, const struct lpo_trace *base, unsigned steps)
{
    enum { LAUNCHES_PER_STEP = 358 }; /* 5,370 in 15 steps */
    LPO_AUTO(lpo_region_tree) base_tree = lpo_region_tree_create(base);
    LPO_AUTO(lpo_region_tree) counters_tree = lpo_region_tree_create(counters);
    LPO_AUTO(lpo_counters_match) match = lpo_counters_match_create(base_tree, counters_tree);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(base);
    size_t left_out = 0;

    for (size_t i = 0; i < counters->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &counters->gpu_ops.at[i];
        uint32_t at = lpo_counters_match_take(match, w);

        if (at == LPO_NONE || !is_in(tree, &base->gpu_ops.at[at], "decode") ||
            decoded_before(tree, &base->gpu_ops.at[at]) / LAUNCHES_PER_STEP < steps)
            continue;
        w->metrics = LPO_NONE;
        left_out++;
    }
    assert_true(left_out > 0);
}

static double sum(const struct lpo_region_tree *tree, const char *region, const char *metric,
                  int64_t *n)
{
    const struct lpo_trace *t = tree->trace;
    uint32_t column = lpo_trace_metric_find(t, metric);
    double total = 0;

    *n = 0;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        double v;

        if (w->kind != LPO_KERNEL || !is_in(tree, w, region))
            continue;
        v = lpo_trace_metric_get(t, w->metrics, column);
        total += isnan(v) ? 0 : v;
        ++*n;
    }
    return total;
}

static void check_region(const struct live_case *c, const struct lpo_region_tree *tree,
                         const struct lpo_json *region)
{
    const char *path = lpo_json_text(lpo_json_get(region, "path"), "");
    int64_t launches = lpo_json_int(lpo_json_get(region, "launches"), 0), n;

    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        double want = lpo_json_real(lpo_json_get(region, metrics[m]), NAN);
        double have = sum(tree, path, metrics[m], &n);
        double within = m == 0 && launches < FEW_LAUNCHES ? few_within : c->within[m];

        assert_int_equal(n, launches);
        if (!(fabs(have / want - 1) * 100 <= within))
            fail_msg("%s, %s: %g instead of %g: %+.2f %%", path, metrics[m], have, want,
                     (have / want - 1) * 100);
    }
}

static void check_live(void **state)
{
    const struct live_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_trace) base = read_file("native/llama8.lpot");
    LPO_AUTO(lpo_trace) counters = NULL;
    LPO_AUTO(lpo_region_tree) tree = NULL;
    const struct lpo_json *truth = NULL;
    struct lpo_err err = { 0 };
    char path[1024];

    snprintf(path, sizeof path, "ncu/%s", c->readings);
    counters = read_file(path);
    snprintf(path, sizeof path, "%s/tests/data/ncu/llama8_all.json",
             unit_env("LPO_SOURCE_ROOT", "."));
    assert_int_equal(lpo_json_read_file(a, path, &truth, &err), 0);
    if (c->steps)
        keep_steps(counters, base, c->steps);
    lay(base, counters);
    tree = lpo_region_tree_create(base);
    truth = lpo_json_get(truth, "regions");
    assert_int_equal(truth->count, 21);
    for (const struct lpo_json *r = truth->first; r; r = r->next)
        check_region(c, tree, r);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_live);
    return unit_run(&u);
}
