/* SPDX-License-Identifier: Apache-2.0 */
/* What should be the same on both sides of a comparison, the figures that runs report about
 * themselves, and what NVML saw meanwhile. */

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/memory/memory.h"
#include "analysis/power/power.h"
#include "analysis/requests/requests.h"
#include "analysis/speed/variation.h"
#include "hydra/compose.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

enum {
    MOST_FACTS = 1000,     /* of one run: a config may hold a whole model */
    MOST_VALUE = 200,      /* bytes */
    MOST_DEPTH = 16,       /* of a config */
    MOST_REPEATS = 100000, /* of a figure */
};

static void add(struct lpo_diff_builder *b, const char *key, const char *value)
{
    if (!value || !*value || b->out->facts.len >= MOST_FACTS)
        return;
    lpo_vec_push(&b->out->facts,
                 (struct lpo_diff_fact){
                     lpo_arena_strdup(b->out->arena, key),
                     lpo_arena_strndup(b->out->arena, value, strnlen(value, MOST_VALUE)) });
}

static void add_number(struct lpo_diff_builder *b, const char *key, uint64_t n)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    add(b, key, text);
}

/* --- of the trace --------------------------------------------------------------------------- */

/* Devices with operations; `named` gets the name of the first that has one. */
static size_t used_devices(const struct lpo_trace *t, const char **named)
{
    LPO_FREED bool *used = lpo_xcalloc(t->devices.len + 1, sizeof *used);
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].device < t->devices.len)
            used[t->gpu_ops.at[i].device] = true;
    for (size_t i = 0; i < t->devices.len; i++) {
        n += used[i];
        if (used[i] && !**named && t->devices.at[i].name != LPO_NONE)
            *named = lpo_trace_text(t, t->devices.at[i].name);
    }
    return n;
}

static size_t count_ranks(const struct lpo_trace *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->processes.len; i++) {
        bool seen = t->processes.at[i].rank < 0;

        for (size_t k = 0; k < i && !seen; k++)
            seen = t->processes.at[k].rank == t->processes.at[i].rank;
        n += !seen;
    }
    return n;
}

static void trace_facts(struct lpo_diff_builder *b)
{
    const struct lpo_trace *t = b->a->trace;
    const struct lpo_coverage *c = &lpo_analysis_all(b->a)->coverage;
    const char *gpu = "";
    size_t gpus = used_devices(t, &gpu), ranks = count_ranks(t);

    add(b, "gpu", gpu);
    if (gpus)
        add_number(b, "gpus", gpus);
    if (ranks)
        add_number(b, "ranks", ranks);
    add(b, "source", b->source->what);
    add(b, "stacks", t->python.len ? "with Python stacks" : "without Python stacks");
    add(b, "operators", t->ops.len ? "with operators" : "without operators");
    if (c->total.launches && t->has_ranges)
        add(b, "ranges", c->in_region.launches ? "with ranges" : "without ranges");
    if (gpus)
        add(b, "coverage", t->windows.len ? "recorded in windows" : "recorded from start to end");
    if (b->a->cells->shares)
        add(b, "graphs", "CUDA graphs timed as a whole");
    else if (gpus)
        add(b, "graphs", "each kernel timed");
}

/* --- of the run folder ---------------------------------------------------------------------- */

static void add_config(struct lpo_diff_builder *b, const char *key, const struct lpo_node *n,
                       int depth)
{
    const char *word;
    LPO_STR text = { 0 };

    if (!n || depth > MOST_DEPTH || b->out->facts.len >= MOST_FACTS)
        return;
    if (n->kind == LPO_NODE_MAP) {
        for (size_t i = 0; i < n->npairs; i++) {
            word = lpo_settings_node_word(b->out->arena, n->pairs[i].key);
            if (word && strlen(key) + strlen(word) < MOST_VALUE)
                add_config(b, lpo_arena_printf(b->out->arena, "%s.%s", key, word),
                           n->pairs[i].value, depth + 1);
        }
        return;
    }
    if (n->kind == LPO_NODE_LIST) {
        struct lpo_json_writer w = lpo_json_writer(&text, 0);

        lpo_node_write_json(&w, NULL, n);
        add(b, key, lpo_str_text(&text));
        return;
    }
    word = lpo_settings_node_word(b->out->arena, n);
    add(b, key, word ? word : "null");
}

/* Variables that are another in each run, and say nothing about its speed. */
static bool is_of_one_run(const char *name)
{
    static const char *const starts[] = { "SLURM_JOB",  "MASTER_",  "LPO_",     "RANK",
                                          "LOCAL_RANK", "HF_TOKEN", "CUDA_PATH" };

    return lpo_any(i, sizeof starts / sizeof *starts, lpo_str_starts(name, starts[i]));
}

/* Versions and variables: members of an object that are text. */
static void add_texts(struct lpo_diff_builder *b, const char *prefix, const struct lpo_json *object)
{
    LPO_JSON_EACH(x, object)
    {
        const char *text = lpo_json_text(x, NULL);

        if (x->key && text && b->out->facts.len < MOST_FACTS && strlen(x->key) < MOST_VALUE &&
            !is_of_one_run(x->key))
            add(b, lpo_arena_printf(b->out->arena, "%s%s", prefix, x->key), text);
    }
}

/* What surrounded the program: "env." has what may be missing on one side, that is, not set. */
static void surroundings(struct lpo_diff_builder *b, const struct lpo_json *env)
{
    add(b, "lpo", lpo_json_text(lpo_json_get(env, "lpo_version"), NULL));
    add(b, "cpu", lpo_json_text(lpo_json_at(env, "host.cpu"), NULL));
    add(b, "kernel", lpo_json_text(lpo_json_at(env, "host.kernel"), NULL));
    add_texts(b, "version.", lpo_json_get(env, "tools"));
    add_texts(b, "env.", lpo_json_get(env, "variables"));
}

static void run_facts(struct lpo_diff_builder *b)
{
    static const char *const groups[] = { "model", "infer", "dataset", "workload", "run" };
    const struct lpo_rundir *d = b->dir;
    const struct lpo_json *gpu = lpo_json_at(d->env, "gpus.devices");
    const char *model = lpo_settings_text(d->config, "model.name");
    char stage[80];

    if (!d->dir)
        return;
    if (model && strcmp(model, "none") != 0)
        add(b, "model", model);
    add(b, "commit", lpo_json_text(lpo_json_at(d->env, "git.commit"), NULL));
    add(b, "driver", lpo_json_text(lpo_json_at(d->env, "gpus.driver"), NULL));
    surroundings(b, d->env);
    gpu = gpu ? gpu->first : NULL;
    if (lpo_json_int(lpo_json_get(gpu, "power_limit_mw"), 0) > 0)
        add_number(b, "power_limit_mw",
                   (uint64_t)lpo_json_int(lpo_json_get(gpu, "power_limit_mw"), 0));
    if (lpo_json_int(lpo_json_get(gpu, "max_sm_clock_mhz"), 0) > 0)
        add_number(b, "max_sm_clock_mhz",
                   (uint64_t)lpo_json_int(lpo_json_get(gpu, "max_sm_clock_mhz"), 0));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        add_config(b, lpo_arena_printf(b->out->arena, "config.%s", groups[i]),
                   lpo_node_get(d->config, groups[i]), 0);
    snprintf(stage, sizeof stage, "pipeline.%s", b->source->stage);
    add_config(b, lpo_arena_printf(b->out->arena, "config.%s", stage),
               lpo_node_at(d->config, stage), 0);
}

/* --- figures -------------------------------------------------------------------------------- */

static struct lpo_diff_figure *figure(struct lpo_diff_builder *b, const char *key)
{
    for (size_t i = 0; i < b->out->figures.len; i++)
        if (strcmp(b->out->figures.at[i].key, key) == 0)
            return &b->out->figures.at[i];
    lpo_vec_push(&b->out->figures, (struct lpo_diff_figure){ .key = key });
    return &b->out->figures.at[b->out->figures.len - 1];
}

static void add_value(struct lpo_diff_builder *b, const char *key, double value)
{
    struct lpo_diff_figure *f;

    if (!isfinite(value) || value <= 0)
        return;
    f = figure(b, key);
    if (f->values.len < MOST_REPEATS)
        lpo_vec_push(&f->values, value);
}

static void add_speed(struct lpo_diff_builder *b, const struct lpo_json *metrics)
{
    static const char *const figures[] = { "tokens_per_s", "ttft_ms",  "prefill_ms",
                                           "decode_ms",    "total_ms", "energy_j" };
    const struct lpo_json *samples = lpo_json_get(metrics, "samples");

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        LPO_JSON_EACH(s, samples)
    add_value(b, figures[i], lpo_json_real(lpo_json_get(s, figures[i]), NAN));
    add_value(b, "peak_device_bytes",
              lpo_json_real(lpo_json_get(metrics, "peak_device_bytes"), NAN));
    add_value(b, "peak_host_bytes", lpo_json_real(lpo_json_get(metrics, "peak_host_bytes"), NAN));
}

/* As the clients of a server saw it: without a profiler where there is such a stage. One value for
 * each run, since its requests are not repeats. */
static void add_requests(struct lpo_diff_builder *b)
{
    static const enum lpo_requests_stat stats[] = { LPO_REQUESTS_P50, LPO_REQUESTS_P99 };
    const struct lpo_rundir *d = b->dir;
    const char *undisturbed = d->dir ? lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED) : NULL;
    const struct lpo_json *client = NULL;
    struct lpo_requests r;

    for (size_t i = 0; i < d->served.len; i++)
        if (d->served.at[i].client && (!client || lpo_streq(d->served.at[i].stage, undisturbed)))
            client = d->served.at[i].client;
    if (!client || !lpo_requests_read(client, &r))
        return;
    for (int f = LPO_REQUESTS_RATE; f <= LPO_REQUESTS_OUTPUT_RATE; f++)
        if (lpo_measure_known(r.figures[f]))
            add_value(b, lpo_requests_figure_name(f), r.figures[f].value);
    for (int t = 0; t < LPO_REQUESTS_TIMES; t++)
        for (size_t s = 0; s < sizeof stats / sizeof *stats; s++)
            if (lpo_measure_known(r.times[t][stats[s]]))
                add_value(b,
                          lpo_arena_printf(b->out->arena, "request_%s_%s_ms",
                                           lpo_requests_time_name(t),
                                           lpo_requests_stat_name(stats[s])),
                          r.times[t][stats[s]].value / 1e6);
}

/* Of memory snapshots: the peak, what it was for, and its largest owners. */
static void add_memory(struct lpo_diff_builder *b)
{
    enum { OWNERS = 20 };
    const struct lpo_memory_peaks *peaks = lpo_analysis_memory(b->a);
    const struct lpo_trace *t = b->a->trace;

    for (size_t i = 0; i < peaks->rows.len; i++) {
        const struct lpo_memory_peaks_row *row = &peaks->rows.at[i];

        if (!row->has_categories)
            continue;
        add_value(b, LPO_DIFF_SNAPSHOT_PEAK, (double)row->peak_bytes);
        if (row->reserved_bytes != LPO_NO_TIME)
            add_value(b, "snapshot_reserved_bytes", (double)row->reserved_bytes);
        for (int c = 0; c < LPO_MEMORY_CATEGORIES; c++)
            add_value(b,
                      lpo_arena_printf(b->out->arena, "snapshot_bytes of %s",
                                       lpo_memory_category_name((enum lpo_memory_category)c)),
                      (double)row->categories[c].bytes);
        for (size_t k = 0;
             k < row->owners.len && k < OWNERS && row->owners.at[k].bytes > row->peak_bytes / 100;
             k++) {
            const struct lpo_memory_share *o = &row->owners.at[k];

            add_value(b,
                      lpo_arena_printf(b->out->arena, LPO_DIFF_SNAPSHOT_OWNER "%s%s%.200s",
                                       o->place ? o->place : "",
                                       o->place && o->op != LPO_NONE ? " " : "",
                                       o->op != LPO_NONE ? lpo_trace_text(t, o->op) : ""),
                      (double)o->bytes);
        }
    }
}

/* --- power and clocks ----------------------------------------------------------------------- */

/* Below so many samples a median is that of a moment. */
enum { FEWEST_SAMPLES = 3 };

struct stretch {
    int64_t from_ns, to_ns; /* unix time */
};

static struct lpo_power *read_samples(const struct lpo_rundir *d)
{
    const char *stage = d->dir ? lpo_rundir_stage_with(d, LPO_ROLE_POWER) : NULL;
    const char *file = stage ? lpo_path_join(d->arena, stage, "samples.csv") : NULL;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_power *p = NULL;
    struct lpo_err err = { 0 };

    if (!file || !lpo_rundir_has(d, file) || lpo_rundir_text(d, file, &text, &err) < 0 ||
        lpo_power_parse(text->at, text->len, &p, &err) < 0)
        return NULL;
    return p;
}

/* Of all GPUs over the time that NVML was asked; NAN: not known. */
static double energy_of(const struct lpo_power *p)
{
    double joules = 0;

    for (size_t i = 0; i < p->gpus.len; i++) {
        const struct lpo_power_gpu *g = &p->gpus.at[i];
        struct lpo_measure m;

        if (!g->samples.len)
            continue;
        m = lpo_power_joules(g, g->samples.at[0].unix_ns,
                             g->samples.at[g->samples.len - 1].unix_ns);
        if (!lpo_measure_known(m))
            return NAN;
        joules += m.value;
    }
    return joules;
}

/* --- which samples -------------------------------------------------------------------------- */

/* From the first GPU operation to the last. */
static bool trace_stretch(const struct lpo_diff_builder *b, struct stretch *out)
{
    const struct lpo_trace *t = b->a->trace;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        if (t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED)
            continue;
        first = t->gpu_ops.at[i].start_ns < first ? t->gpu_ops.at[i].start_ns : first;
        last = t->gpu_ops.at[i].end_ns > last ? t->gpu_ops.at[i].end_ns : last;
    }
    return t->epoch_ns != LPO_NO_TIME && first <= last &&
           !__builtin_add_overflow(first, t->epoch_ns, &out->from_ns) &&
           !__builtin_add_overflow(last, t->epoch_ns, &out->to_ns);
}

/* From the start to the end of the stage that left the trace. */
static bool stage_stretch(const struct lpo_diff_builder *b, struct stretch *out)
{
    const struct lpo_rundir *d = b->dir;

    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *s = &d->manifest.stages[i];

        if (!lpo_streq(s->name, b->source->stage) || s->wall_ns <= 0)
            continue;
        out->from_ns = s->started_ns;
        return !__builtin_add_overflow(s->started_ns, s->wall_ns, &out->to_ns);
    }
    return false;
}

typedef LPO_VEC(const struct lpo_power_sample *) picked;

/* Samples of a GPU at rest say nothing about the clocks under load. Where NVML does not report the
 * use, every sample counts. */
static bool at_rest(const struct lpo_power_sample *s)
{
    return (s->known & (1u << LPO_POWER_GPU_PERCENT)) && s->value[LPO_POWER_GPU_PERCENT] == 0;
}

static size_t pick(const struct lpo_power *p, struct stretch w, picked *out)
{
    out->len = 0;
    for (size_t g = 0; g < p->gpus.len; g++)
        for (size_t i = 0; i < p->gpus.at[g].samples.len; i++) {
            const struct lpo_power_sample *s = &p->gpus.at[g].samples.at[i];

            if (s->unix_ns >= w.from_ns && s->unix_ns <= w.to_ns && !at_rest(s))
                lpo_vec_push(out, s);
        }
    return out->len;
}

static double median_of(const picked *samples, enum lpo_power_column column)
{
    double *values = lpo_xcalloc(samples->len + 1, sizeof *values), median;
    size_t n = 0;

    for (size_t i = 0; i < samples->len; i++)
        if (samples->at[i]->known & (1u << column))
            values[n++] = (double)samples->at[i]->value[column];
    median = lpo_diff_median(values, n);
    free(values);
    return median;
}

static void describe(const picked *samples, struct lpo_diff_load *out)
{
    uint64_t slowed = 0, known = 0;

    out->samples = samples->len;
    out->sm_mhz = median_of(samples, LPO_POWER_SM_MHZ);
    out->watts = median_of(samples, LPO_POWER_MW) / 1000;
    out->celsius = median_of(samples, LPO_POWER_CELSIUS);
    for (size_t i = 0; i < samples->len; i++) {
        uint64_t reasons = samples->at[i]->value[LPO_POWER_THROTTLE] & lpo_power_throttle_slows;

        if (!(samples->at[i]->known & (1u << LPO_POWER_THROTTLE)))
            continue;
        known++;
        slowed += reasons != 0;
        out->reasons |= reasons;
    }
    out->slowed = known ? (double)slowed / (double)known : NAN;
}

static double digest_power(struct lpo_diff_builder *b)
{
    LPO_AUTO(lpo_power) p = read_samples(b->dir);
    struct stretch w = { 0 };
    LPO_FREED picked samples = { 0 };

    if (!p)
        return NAN;
    /* the narrowest stretch that has enough samples: a trace may be shorter than their distance */
    if ((trace_stretch(b, &w) && pick(p, w, &samples) >= FEWEST_SAMPLES) ||
        (stage_stretch(b, &w) && pick(p, w, &samples) >= FEWEST_SAMPLES) ||
        pick(p, (struct stretch){ INT64_MIN, INT64_MAX }, &samples) >= FEWEST_SAMPLES)
        describe(&samples, &b->out->load);
    return energy_of(p);
}

static void digest_figures(struct lpo_diff_builder *b)
{
    const struct lpo_rundir *d = b->dir;
    const char *undisturbed = d->dir ? lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED) : NULL;
    const struct lpo_json *metrics = NULL;

    for (size_t i = 0; i < d->speeds.len; i++)
        if (!metrics || lpo_streq(d->speeds.at[i].stage, undisturbed))
            metrics = d->speeds.at[i].metrics;
    if (metrics) {
        add_speed(b, metrics);
        add_texts(b, "version.", lpo_json_get(metrics, "versions"));
    }
    add_requests(b);
    add_memory(b);
    add_value(b, "energy_j", digest_power(b));
}

void lpo_diff_digest_facts(struct lpo_diff_builder *b)
{
    struct lpo_variation v = lpo_speed_run_variation(b->dir);

    trace_facts(b);
    run_facts(b);
    b->out->noise = v.repeats ? v.cv : 0;
    b->out->noise_limit = b->dir->max_cv;
    digest_figures(b);
}
