/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Power and clocks": power, energy, clocks and throttling, from samples of NVML. */

#include "analysis/power/power.h"
#include "analysis/analysis.h"
#include "analysis/phases/phases.h"
#include "analysis/power/regions.h"
#include "region/windows.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of another machine: the rank that sampled there, and the machine's name. */
struct machine {
    int32_t rank;
    const char *host; /* NULL: not known */
};

/* The first two are for other machines only. */
static const struct lpo_column machine_columns[] = {
    { "rank", "Rank", LPO_CELL_COUNT, NULL },
    { "host", "Machine", LPO_CELL_TEXT, NULL },
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "gpu", "GPU", LPO_CELL_COUNT, NULL },
    { "samples", "Samples", LPO_CELL_COUNT, NULL, 3 },
    { "energy_j", "Energy", LPO_CELL_MEASURE, "J" },
    { "power_mean_w", "Mean power", LPO_CELL_MEASURE, "W" },
    { "power_max_w", "Max power", LPO_CELL_MEASURE, "W", 3 },
    { "sm_hz", "SM clock", LPO_CELL_MEASURE, "Hz" },
    { "memory_hz", "Memory clock", LPO_CELL_MEASURE, "Hz", 4 },
    { "temperature_max_c", "Max temperature", LPO_CELL_MEASURE, "°C", 2 },
    { "memory_max_bytes", "Max memory", LPO_CELL_BYTES, NULL, 1 },
    { "gpu_share", "GPU in use", LPO_CELL_PERCENT, NULL },
    { "slowed_share", "Slowed", LPO_CELL_PERCENT, NULL },
    { "reasons", "Reasons", LPO_CELL_TEXT, NULL },
};

static struct lpo_measure scaled(struct lpo_measure m, double scale)
{
    m.value *= scale;
    return m;
}

static void stage_row(struct lpo_table *t, const char *stage, const struct lpo_power_gpu *g,
                      int64_t from_ns, int64_t to_ns, const struct machine *machine)
{
    struct lpo_power_window w;
    LPO_STR reasons = { 0 };
    bool slowed;

    lpo_power_look(g, from_ns, to_ns, &w);
    slowed = lpo_measure_known(w.max[LPO_POWER_THROTTLE]);
    lpo_power_throttle_add(&reasons, w.reasons);
    if (machine)
        lpo_doc_row(t, machine->rank, machine->host);
    lpo_doc_row(t, stage, g->gpu, w.samples, lpo_power_joules(g, from_ns, to_ns),
                scaled(w.mean[LPO_POWER_MW], 1e-3), scaled(w.max[LPO_POWER_MW], 1e-3),
                scaled(w.mean[LPO_POWER_SM_MHZ], 1e6), scaled(w.mean[LPO_POWER_MEMORY_MHZ], 1e6),
                w.max[LPO_POWER_CELSIUS], w.max[LPO_POWER_MEMORY_BYTES],
                lpo_cell_percent(w.mean[LPO_POWER_GPU_PERCENT]),
                slowed ? lpo_cell_share((double)w.slowed, (double)w.samples) : lpo_cell_unknown(),
                slowed ? reasons.at : NULL);
}

/* Stages without steps did not use the GPU: nvml runs beside the others, and static analysis runs
 * inside lpo. The upper bounds are for a damaged run.json: start plus duration must not overflow.
 */
static bool is_window(const struct lpo_stage_record *s)
{
    return s->started_ns > 0 && s->wall_ns > 0 && s->nsteps > 0 && s->started_ns < INT64_MAX / 4 &&
           s->wall_ns < INT64_MAX / 4;
}

/* The rows of one machine. Without a stage that has a time, all samples are one row. */
static void stage_rows(struct lpo_table *t, const struct lpo_manifest *m, const struct lpo_power *p,
                       const struct machine *machine)
{
    size_t windows = 0;

    for (size_t i = 0; m && i < m->nstages; i++) {
        const struct lpo_stage_record *s = &m->stages[i];

        if (!is_window(s))
            continue;
        windows++;
        for (size_t g = 0; g < p->gpus.len; g++)
            stage_row(t, s->name, &p->gpus.at[g], s->started_ns, s->started_ns + s->wall_ns,
                      machine);
    }
    for (size_t g = 0; !windows && g < p->gpus.len; g++) {
        const struct lpo_power_gpu *gpu = &p->gpus.at[g];

        if (gpu->samples.len)
            stage_row(t, "all samples", gpu, gpu->samples.at[0].unix_ns,
                      gpu->samples.at[gpu->samples.len - 1].unix_ns, machine);
    }
}

static void stage_table(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_power *p)
{
    struct lpo_table *t = lpo_doc_table(doc, "power_stages", "Each stage from its start to its end",
                                        machine_columns + 2, COUNT(machine_columns) - 2);

    stage_rows(t, d->has_manifest ? &d->manifest : NULL, p, NULL);
}

static bool read_samples(struct lpo_doc *doc, const struct lpo_rundir *d, const char *folder,
                         struct lpo_power **out)
{
    struct lpo_err err = { 0 };

    if (lpo_power_read(d, folder, out, &err) < 0)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s cannot be read: %s",
                     lpo_path_join(d->arena, folder, "samples.csv"), lpo_err_cause(&err));
    return *out;
}

/* The samples of another machine of the job, in the folder of the rank that took them. */
static void machine_rows(struct lpo_doc *doc, struct lpo_table *t, const struct lpo_rundir *d,
                         const char *member, const char *folder)
{
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_manifest m = { .arena = d->arena, .dir = lpo_rundir_path(d, member) };
    struct machine machine = { lpo_rundir_member_rank(member), NULL };
    const struct lpo_json *env = NULL;
    struct lpo_err err = { 0 };

    if (!read_samples(doc, d, folder, &p))
        return;
    if (d->private_too &&
        lpo_json_read_file(d->arena, lpo_path_join(d->arena, m.dir, "env.json"), &env, &err) == 0)
        machine.host = lpo_json_text(lpo_json_at(env, "host.name"), NULL);
    stage_rows(t, lpo_run_manifest_load(&m, &err) == 0 ? &m : NULL, p, &machine);
}

static void machine_table(struct lpo_doc *doc, const struct lpo_rundir *d, const char *stage)
{
    const char **members;
    size_t n = lpo_rundir_members(d->arena, d->dir, &members);
    struct lpo_table *t = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *folder = lpo_path_join(d->arena, members[i], stage);
        const char *file = lpo_path_join(d->arena, folder, "samples.csv");

        if (!lpo_rundir_has(d, file))
            continue;
        if (!t)
            t = lpo_doc_table(doc, "power_machines",
                              "Other machines of the job: each stage by the machine's own clock",
                              machine_columns, COUNT(machine_columns));
        machine_rows(doc, t, d, members[i], folder);
    }
}

static const struct lpo_column region_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "windows", "Windows", LPO_CELL_COUNT, NULL },
    { "energy_j", "Energy", LPO_CELL_MEASURE, "J" },
    { "energy_per_window_j", "Per window", LPO_CELL_MEASURE, "J" },
    { "power_mean_w", "Mean power", LPO_CELL_MEASURE, "W" },
    { "reasons", "Slowed by", LPO_CELL_TEXT, NULL },
};

static struct lpo_measure over(struct lpo_measure m, double n)
{
    if (!lpo_measure_known(m) || n <= 0)
        return lpo_measure_unknown();
    m.value /= n;
    return m;
}

static void region_row(struct lpo_table *t, const struct lpo_region_tree *tree,
                       const struct lpo_region_power *r)
{
    LPO_STR path = { 0 };
    LPO_STR slowed = { 0 };

    lpo_region_add_path(tree, r->node, &path);
    lpo_doc_row(t, lpo_cell_textn(lpo_str_text(&path), path.len), r->host_ns, r->windows, r->joules,
                over(r->joules, (double)r->windows), over(r->joules, (double)r->host_ns * 1e-9));
    lpo_power_throttle_add(&slowed, r->slowed);
    lpo_doc_row(t, r->reasons_known ? slowed.at : NULL);
}

static void warn_slowed(struct lpo_doc *doc, const struct lpo_region_tree *tree,
                        const struct lpo_region_power *r)
{
    LPO_STR path = { 0 };
    LPO_STR why = { 0 };

    lpo_region_add_path(tree, r->node, &path);
    if (!r->slowed || tree->nodes.at[r->node].depth > 0 ||
        lpo_phases_path_prepares(lpo_str_text(&path)))
        return;
    lpo_power_throttle_add(&why, r->slowed);
    lpo_doc_note(doc, LPO_NOTE_WARNING,
                 "clocks were throttled during \"%s\" (%s): timings are inflated by throttling",
                 lpo_arena_name(doc->arena, path.at, path.len), why.at);
}

static void token_facts(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_power_join *join)
{
    struct lpo_power_token_energy e = lpo_power_token_energy(d, s, join);

    lpo_doc_fact(doc, "energy_per_token_j", "Energy per token, prefill and decode", MEASURE("J"),
                 e.all);
    lpo_doc_fact(doc, "energy_per_decode_token_j", "Energy per token, decode alone", MEASURE("J"),
                 e.decode);
}

static void region_table(struct lpo_doc *doc, const struct lpo_rundir *d,
                         const struct lpo_source *s, const struct lpo_power *p)
{
    LPO_AUTO(lpo_power_join) join = lpo_power_join_create(p, s->analysis->tree);
    struct lpo_table *t;

    if (!join || !join->rows.len)
        return;
    lpo_doc_section(doc, "energy", "Energy by region", 2);
    lpo_doc_paragraph(doc,
                      "From %s: the power of the GPUs that were in use, over the time in which the "
                      "host was inside a region. For regions shorter than the time between two "
                      "samples the power is interpolated, so their values are estimates.",
                      s->what);
    token_facts(doc, d, s, join);
    t = lpo_doc_table(doc, "energy_regions", "", region_columns, COUNT(region_columns));
    for (size_t i = 0; i < join->rows.len && i < d->top; i++)
        region_row(t, s->analysis->tree, &join->rows.at[i]);
    if (join->rows.len > d->top)
        t->total_rows = join->rows.len;
    for (size_t i = 0; i < join->rows.len; i++)
        warn_slowed(doc, s->analysis->tree, &join->rows.at[i]);
}

void lpo_report_chapter_power(struct lpo_doc *doc, const struct lpo_rundir *d,
                              const struct lpo_source *s)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_POWER);
    const char *file = stage ? lpo_path_join(d->arena, stage, "samples.csv") : NULL;
    LPO_AUTO(lpo_power) p = NULL;

    if (!file || !lpo_rundir_has(d, file))
        return;
    lpo_doc_section(doc, "power", "Power and clocks", 1);
    if (!read_samples(doc, d, stage, &p))
        return;
    if (p->skipped)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%llu lines of %s are not samples and were skipped",
                     (unsigned long long)p->skipped, file);
    if (!p->gpus.len) {
        lpo_doc_paragraph(doc, "The %s stage ran, but wrote no samples.", stage);
        return;
    }
    stage_table(doc, d, p);
    machine_table(doc, d, stage);
    if (s)
        region_table(doc, d, s, p);
}
