/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/power/regions.h"

#include "analysis/power/power.h"
#include "region/tree.h"
#include "region/windows.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

enum { LEVELS_BELOW = 1 };

int lpo_power_read(const struct lpo_rundir *d, const char *folder, struct lpo_power **out,
                   struct lpo_err *err)
{
    const char *file = folder && d->dir ? lpo_path_join(d->arena, folder, "samples.csv") : NULL;
    LPO_AUTO(lpo_file_text) text = NULL;

    *out = NULL;
    if (!file || !lpo_rundir_has(d, file))
        return 0;
    if (lpo_rundir_text(d, file, &text, err) < 0 ||
        lpo_power_parse(text->at, text->len, out, err) < 0)
        return err->code;
    return 0;
}

/* Numbers of CUDA and NVML may differ, so that of several GPUs none is taken unless the trace has
 * all of them. */
const struct lpo_power_gpu *lpo_power_gpu_of(const struct lpo_power *p, const struct lpo_trace *t,
                                             uint16_t device)
{
    if (!p || t->epoch_ns == LPO_NO_TIME || p->gpus.len != t->devices.len)
        return NULL;
    return lpo_find(i, p->gpus.at, p->gpus.len,
                    p->gpus.len == 1 ||
                        (int64_t)p->gpus.at[i].gpu == (int64_t)t->devices.at[device].id);
}

/* GPUs beside the ones of the program idle at tens of watts, which are not the program's. */
static bool in_use(const struct lpo_power_gpu *g)
{
    return lpo_any(i, g->samples.len,
                   (g->samples.at[i].known & (1u << LPO_POWER_GPU_PERCENT)) &&
                       g->samples.at[i].value[LPO_POWER_GPU_PERCENT] > 0);
}

static struct lpo_measure add(struct lpo_measure sum, struct lpo_measure m)
{
    if (!lpo_measure_known(sum) || !lpo_measure_known(m))
        return lpo_measure_unknown();
    return (struct lpo_measure){ sum.value + m.value, sum.how > m.how ? sum.how : m.how };
}

static void add_window(struct lpo_region_power *r, const struct lpo_power *p, const bool *used,
                       int64_t from_ns, int64_t to_ns)
{
    r->windows++;
    r->host_ns += to_ns - from_ns;
    for (size_t g = 0; g < p->gpus.len; g++) {
        struct lpo_power_window w;

        if (!used[g])
            continue;
        if (to_ns > from_ns)
            r->joules = add(r->joules, lpo_power_joules(&p->gpus.at[g], from_ns, to_ns));
        lpo_power_look(&p->gpus.at[g], from_ns, to_ns, &w);
        r->slowed |= w.reasons & lpo_power_throttle_slows;
        r->reasons_known |= lpo_measure_known(w.max[LPO_POWER_THROTTLE]);
    }
}

static int most_energy_first(const void *a, const void *b)
{
    const struct lpo_region_power *x = a, *y = b;
    double dx = lpo_measure_known(x->joules) ? x->joules.value : -1;
    double dy = lpo_measure_known(y->joules) ? y->joules.value : -1;

    if (dx != dy)
        return dx > dy ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void fill(struct lpo_power_join *j, const struct lpo_power *p, const bool *used,
                 const struct lpo_region_windows *w)
{
    int64_t epoch_ns = j->tree->trace->epoch_ns;

    for (size_t i = 0; i < w->rows.len; i++) {
        const struct lpo_region_window *row = &w->rows.at[i];
        int64_t from_ns, to_ns;

        if (__builtin_add_overflow(row->start_ns, epoch_ns, &from_ns) ||
            __builtin_add_overflow(row->end_ns, epoch_ns, &to_ns) || from_ns < 0 ||
            to_ns > INT64_MAX / 4)
            continue;
        if (!j->rows.len || j->rows.at[j->rows.len - 1].node != row->node)
            lpo_vec_push(&j->rows, (struct lpo_region_power){ .node = row->node,
                                                              .joules = lpo_measure_measured(0) });
        add_window(&j->rows.at[j->rows.len - 1], p, used, from_ns, to_ns);
    }
    lpo_vec_sort(&j->rows, most_energy_first);
}

struct lpo_power_join *lpo_power_join_create(const struct lpo_power *p,
                                             const struct lpo_region_tree *tree)
{
    LPO_AUTO(lpo_region_windows) w = NULL;
    struct lpo_power_join *j;
    bool *used, any = false;

    if (tree->trace->epoch_ns == LPO_NO_TIME || !p->gpus.len)
        return NULL;
    used = lpo_xcalloc(p->gpus.len, sizeof *used);
    for (size_t g = 0; g < p->gpus.len; g++)
        any |= used[g] = in_use(&p->gpus.at[g]);
    for (size_t g = 0; !any && g < p->gpus.len; g++)
        used[g] = true; /* too short to be noticed, or utilisation is not known */
    w = lpo_region_windows_create(tree, LEVELS_BELOW);
    j = lpo_xcalloc(1, sizeof *j);
    j->tree = tree;
    fill(j, p, used, w);
    free(used);
    return j;
}

void lpo_power_join_destroy(struct lpo_power_join *j)
{
    if (!j)
        return;
    lpo_vec_free(&j->rows);
    free(j);
}

static struct lpo_measure energy_of(const struct lpo_power_join *join, const char *name)
{
    for (size_t i = 0; i < join->rows.len; i++) {
        const struct lpo_region *n = &join->tree->nodes.at[join->rows.at[i].node];

        if (n->depth == 0 && n->domain == 0 &&
            lpo_streq(lpo_trace_text(join->tree->trace, n->name), name))
            return join->rows.at[i].joules;
    }
    return lpo_measure_unknown();
}

static struct lpo_measure per(struct lpo_measure m, double tokens)
{
    if (!lpo_measure_known(m) || !(tokens > 0))
        return lpo_measure_unknown();
    return (struct lpo_measure){ m.value / tokens,
                                 m.how == LPO_ESTIMATED ? LPO_ESTIMATED : LPO_COMPUTED };
}

struct lpo_power_token_energy lpo_power_token_energy(const struct lpo_rundir *d,
                                                     const struct lpo_source *s,
                                                     const struct lpo_power_join *join)
{
    struct lpo_measure prefill = energy_of(join, "prefill"), decode = energy_of(join, "decode");
    double tokens = 0, later = 0;

    for (size_t i = 0; i < d->speeds.len; i++) {
        if (strcmp(d->speeds.at[i].stage, s->stage) != 0)
            continue;
        LPO_JSON_EACH(sample, lpo_json_get(d->speeds.at[i].metrics, "samples"))
        {
            double rate = lpo_json_real(lpo_json_get(sample, "tokens_per_s"), NAN);
            double ms = lpo_json_real(lpo_json_get(sample, "decode_ms"), NAN);

            tokens += lpo_json_real(lpo_json_get(sample, "tokens"), NAN);
            later += rate * ms * 1e-3; /* tokens_per_s covers decode alone */
        }
    }
    return (struct lpo_power_token_energy){ per(add(prefill, decode), tokens), per(decode, later) };
}
