#include "report/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/needs.h"
#include "report/limits_map.h"
#include "report/limits_needed.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

const char *lpo_held_name(enum lpo_held h)
{
    static const char *const names[] = { "unknown", "compute",   "memory",  "launch gaps",
                                         "idle",    "occupancy", "overhead" };

    return names[h];
}

struct joining {
    const struct lpo_limits_input *in;
    struct lpo_needed needed;
    struct lpo_limits *limits;
    struct lpo_meaning *meanings; /* per region */
    double *steps;                /* per region that is `decode`: its steps; -1: not yet counted */
};

/* The region around (or this one) that is the phase itself; UINT32_MAX: none was entered. */
static uint32_t phase_row(const struct joining *j, uint32_t row)
{
    int phase = j->meanings[row].phase;

    for (uint32_t r = row; r != UINT32_MAX; r = j->in->regions[r].parent)
        if (j->meanings[r].phase == phase && j->meanings[r].is_phase)
            return r;
    return UINT32_MAX;
}

/* Decode steps under a `decode` region: its `step` regions, else visits of a layer inside it, else
 * what the caller knows of the workload. 0: nobody can tell. */
static double decode_steps(const struct joining *j, uint32_t decode)
{
    double steps = 0, layers = 0;

    for (size_t i = 0; i < j->in->nregions; i++) {
        if (j->in->regions[i].parent != decode)
            continue;
        if (j->meanings[i].step)
            steps += (double)j->in->regions[i].visits;
        else if (j->meanings[i].layer >= 0 && !j->meanings[i].block)
            layers = fmax(layers, (double)j->in->regions[i].visits);
    }
    if (steps > 0 || layers > 0)
        return steps > 0 ? steps : layers;
    return (double)j->in->regions[decode].visits * (double)j->in->steps;
}

static double runs_of(const struct joining *j, uint32_t row)
{
    uint32_t phase = phase_row(j, row);

    if (phase == UINT32_MAX)
        return 0;
    if (j->meanings[row].phase == LPO_DECODE) {
        if (j->steps[phase] < 0)
            j->steps[phase] = decode_steps(j, phase);
        return j->steps[phase];
    }
    return (double)j->in->regions[phase].visits;
}

/* Images encoded inside a prefill are part of it: their need is added there, once. */
static void add_nested_vision(const struct joining *j, uint32_t row, struct lpo_need *need)
{
    for (size_t i = row + 1; i < j->in->nregions; i++) {
        const struct lpo_meaning *m = &j->meanings[i];
        struct lpo_need image;
        uint32_t up = j->in->regions[i].parent;

        if (m->phase != LPO_IMAGE || !m->is_phase)
            continue;
        while (up != UINT32_MAX && up != row && j->meanings[up].phase != LPO_IMAGE)
            up = j->in->regions[up].parent;
        if (up != row)
            continue;
        image = lpo_needed_of(&j->needed, m);
        lpo_need_add(need, &image, (double)j->in->regions[i].visits);
    }
}

static void set_need(struct joining *j, uint32_t row, struct lpo_limit_row *out)
{
    const struct lpo_meaning *m = &j->meanings[row];
    struct lpo_need one, need = { 0 };

    if (m->phase < 0)
        return;
    one = lpo_needed_of(&j->needed, m);
    out->runs = runs_of(j, row);
    if (one.modules == 0 || out->runs <= 0)
        return;
    lpo_need_add(&need, &one, out->runs);
    if (m->phase == LPO_PREFILL && m->is_phase)
        add_nested_vision(j, row, &need);
    out->needed_flops = lpo_computed(need.flops);
    out->needed_bytes = lpo_computed(need.bytes);
    out->need_compute_ns = need.compute_seconds * 1e9;
    out->need_memory_ns = need.memory_seconds * 1e9;
    if (need.seconds > 0)
        out->limit_ns = lpo_computed(need.seconds * 1e9);
}

static void set_measured(const struct lpo_limits_region *r, struct lpo_limit_row *out)
{
    int64_t idle = r->host_gap_ns + r->other_gap_ns;

    out->counters = r->counters;
    out->host_gap_ns = (double)r->host_gap_ns;
    out->other_gap_ns = (double)r->other_gap_ns;
    if (r->gpu_ns > 0) {
        out->busy_ns = lpo_measured((double)r->gpu_ns);
        out->idle_ns = lpo_measured((double)idle);
        out->measured_ns = lpo_measured((double)(r->gpu_ns + idle));
    } else if (r->gpu_ns < 0 && r->host_ns > 0) {
        out->measured_ns = lpo_measured((double)r->host_ns);
    }
}

static struct lpo_measure ratio(struct lpo_measure a, double b)
{
    return lpo_known(a) && b > 0 ? lpo_computed(a.value / b) : lpo_unknown();
}

static void set_rates(const struct lpo_limits *l, struct lpo_limit_row *r)
{
    double seconds = lpo_known(r->measured_ns) ? r->measured_ns.value / 1e9 : 0;

    r->flop_rate = ratio(r->needed_flops, seconds);
    r->byte_rate = ratio(r->needed_bytes, seconds);
    r->mfu = ratio(r->flop_rate, l->sheet_peak);
    r->bandwidth_use = ratio(r->byte_rate, l->bandwidth);
    r->share = ratio(r->limit_ns, seconds * 1e9);
    if (lpo_known(r->limit_ns) && seconds > 0)
        r->won_ns = lpo_computed(fmax(0, r->measured_ns.value - r->limit_ns.value));
}

static double value_or(struct lpo_measure m, double fallback)
{
    return lpo_known(m) ? m.value : fallback;
}

/* Idle time first, because no kernel can be improved while the GPU waits. */
static bool held_by_waiting(struct lpo_arena *a, struct lpo_limit_row *r)
{
    double whole = r->measured_ns.value, idle = value_or(r->idle_ns, 0);
    bool host = r->host_gap_ns >= r->other_gap_ns;

    if (idle < 0.3 * whole)
        return false;
    r->held = host ? LPO_HELD_LAUNCH : LPO_HELD_IDLE;
    r->evidence =
        lpo_arena_printf(a, "the GPU is idle for %.0f %% of it, %s", 100 * idle / whole,
                         host ? "waiting for the host to launch" : "not for lack of launches");
    return true;
}

static bool held_by_counters(struct lpo_arena *a, struct lpo_limit_row *r)
{
    double sm = value_or(r->counters.sm_percent, -1), dram = value_or(r->counters.dram_percent, -1);
    double warps = value_or(r->counters.occupancy_percent, -1);

    if (sm >= 60 || dram >= 60) {
        r->held = dram >= sm ? LPO_HELD_MEMORY : LPO_HELD_COMPUTE;
        r->evidence =
            lpo_arena_printf(a, "counters: SMs at %.0f %%, DRAM at %.0f %% of their peaks",
                             fmax(sm, 0), fmax(dram, 0));
        return true;
    }
    if (warps < 0 || warps >= 25 || (sm < 0 && dram < 0))
        return false;
    r->held = LPO_HELD_OCCUPANCY;
    r->evidence = lpo_arena_printf(
        a, "counters: %.0f %% of the warps active, SMs at %.0f %%, DRAM at %.0f %%", warps,
        fmax(sm, 0), fmax(dram, 0));
    return true;
}

/* Which roof the need itself is nearer to, when the region comes near it at all. */
static void held_by_roof(struct lpo_arena *a, struct lpo_limit_row *r)
{
    bool memory = r->need_memory_ns >= r->need_compute_ns;
    const char *roof = memory ? "memory" : "compute";

    if (!lpo_known(r->share))
        return;
    if (r->share.value >= 0.4) {
        r->held = memory ? LPO_HELD_MEMORY : LPO_HELD_COMPUTE;
        r->evidence = lpo_arena_printf(a, "at %.0f %% of the %s roof that its %.3g FLOP/B allow",
                                       100 * r->share.value, roof,
                                       r->needed_flops.value / r->needed_bytes.value);
    } else {
        r->held = LPO_HELD_OVERHEAD;
        r->evidence =
            lpo_arena_printf(a, "at %.1f %% of its %s roof%s: %s far from it", 100 * r->share.value,
                             roof, lpo_known(r->busy_ns) ? " with the GPU busy" : "",
                             lpo_known(r->busy_ns) ? "its kernels are" : "its code is");
    }
}

void lpo_limit_row_judge(const struct lpo_limits *l, struct lpo_arena *a, struct lpo_limit_row *r)
{
    set_rates(l, r);
    r->held = LPO_HELD_UNKNOWN;
    r->evidence = NULL;
    if (!lpo_known(r->measured_ns) || r->measured_ns.value <= 0)
        return;
    if (!held_by_waiting(a, r) && !held_by_counters(a, r))
        held_by_roof(a, r);
}

static const char *describe(struct lpo_limits *l, const struct lpo_meaning *m)
{
    LPO_STR s = { 0 };

    if (m->phase < 0)
        return NULL;
    lpo_str_addf(&s, "%s", lpo_phase_name((enum lpo_phase_kind)m->phase));
    if (m->part && strcmp(m->part, "vision") != 0)
        lpo_str_addf(&s, "/%s", m->part);
    if (m->layer >= 0)
        lpo_str_addf(&s, "/layer%d", m->layer);
    if (m->block)
        lpo_str_addf(&s, "/%s", m->block);
    return lpo_arena_strdup(l->arena, lpo_str_text(&s));
}

static bool has_mapped_ancestor(const struct joining *j, uint32_t row)
{
    for (uint32_t r = j->in->regions[row].parent; r != UINT32_MAX; r = j->in->regions[r].parent)
        if (j->meanings[r].phase >= 0)
            return true;
    return false;
}

static void join_row(struct joining *j, uint32_t row)
{
    const struct lpo_limits_region *m = &j->in->regions[row];
    struct lpo_limits *l = j->limits;
    struct lpo_limit_row r = {
        .path = lpo_arena_strdup(l->arena, m->path),
        .means = describe(l, &j->meanings[row]),
        .parent = m->parent,
        .phase = j->meanings[row].phase,
    };

    r.top = r.phase >= 0 && !has_mapped_ancestor(j, row);
    set_need(j, row, &r);
    set_measured(m, &r);
    lpo_limit_row_judge(l, l->arena, &r);
    lpo_vec_push(&l->rows, r);
}

static struct lpo_measure plus(struct lpo_measure a, struct lpo_measure b)
{
    return lpo_known(a) && lpo_known(b) ? lpo_computed(a.value + b.value) : lpo_known(a) ? a : b;
}

/* The whole model: the top rows that have both a need and a time, so that the shares mean what
 * they say. */
static void add_up(struct lpo_limits *l)
{
    struct lpo_limit_row *all = &l->model;

    all->path = "(model)";
    all->parent = UINT32_MAX;
    all->phase = -1;
    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (!r->top || !lpo_known(r->needed_flops) || !lpo_known(r->measured_ns))
            continue;
        all->needed_flops = plus(all->needed_flops, r->needed_flops);
        all->needed_bytes = plus(all->needed_bytes, r->needed_bytes);
        all->limit_ns = plus(all->limit_ns, r->limit_ns);
        all->measured_ns = plus(all->measured_ns, r->measured_ns);
        all->busy_ns = plus(all->busy_ns, r->busy_ns);
        all->idle_ns = plus(all->idle_ns, r->idle_ns);
        all->need_compute_ns += r->need_compute_ns;
        all->need_memory_ns += r->need_memory_ns;
        all->host_gap_ns += r->host_gap_ns;
        all->other_gap_ns += r->other_gap_ns;
    }
    lpo_limit_row_judge(l, l->arena, all);
}

static int more_to_win(const void *x, const void *y, void *arg)
{
    const struct lpo_limits *l = arg;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    double a = l->rows.at[i].won_ns.value, b = l->rows.at[k].won_ns.value;

    return a != b ? (a < b) - (a > b) : (i > k) - (i < k);
}

static void rank(struct lpo_limits *l)
{
    l->by_won = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *l->by_won);
    for (uint32_t i = 0; i < l->rows.len; i++)
        if (lpo_known(l->rows.at[i].won_ns))
            l->by_won[l->ranked++] = i;
    qsort_r(l->by_won, l->ranked, sizeof *l->by_won, more_to_win, l);
}

static void add_notes(struct joining *j)
{
    struct lpo_limits *l = j->limits;
    bool steps_unknown = false, mapped = false;

    for (size_t i = 0; i < l->rows.len; i++) {
        mapped |= l->rows.at[i].phase >= 0;
        steps_unknown |= l->rows.at[i].phase == LPO_DECODE && l->rows.at[i].runs <= 0;
    }
    if (!mapped)
        lpo_vec_push(&l->notes, "no region is named after a part of the model (prefill, decode, "
                                "layerN, attn, …): report.mapping can say which is which");
    if (steps_unknown)
        lpo_vec_push(&l->notes, "how many steps 'decode' holds is not known: mark each with a "
                                "range 'step'");
    if (!l->hardware)
        lpo_vec_push(&l->notes, "the analysis names no hardware: needs are shown without limits");
}

static void copy_hardware(struct joining *j)
{
    const struct lpo_needed *n = &j->needed;
    struct lpo_limits *l = j->limits;

    l->hardware = n->hardware ? lpo_arena_strdup(l->arena, n->hardware) : NULL;
    l->source = n->source ? lpo_arena_strdup(l->arena, n->source) : NULL;
    l->dtype = n->dtype ? lpo_arena_strdup(l->arena, n->dtype) : NULL;
    l->peak = n->peak;
    l->sheet_peak = n->sheet_peak;
    l->bandwidth = n->bandwidth;
}

int lpo_limits_create(const struct lpo_limits_input *in, struct lpo_limits **out,
                      struct lpo_err *err)
{
    LPO_AUTO(lpo_limits) l = lpo_xcalloc(1, sizeof *l);
    struct joining j = { .in = in, .limits = l };
    int rc;

    l->arena = lpo_arena_create();
    rc = lpo_needed_read(l->arena, in->needed, &j.needed, err);
    if (rc < 0)
        return rc;
    copy_hardware(&j);
    j.meanings = lpo_arena_array(l->arena, in->nregions + 1, sizeof *j.meanings);
    j.steps = lpo_arena_array(l->arena, in->nregions + 1, sizeof *j.steps);
    for (size_t i = 0; i < in->nregions; i++) {
        j.meanings[i] = lpo_region_meaning(in->regions[i].path, in->mappings, in->nmappings);
        j.steps[i] = -1;
    }
    for (size_t i = 0; i < in->nregions; i++)
        join_row(&j, (uint32_t)i);
    add_up(l);
    rank(l);
    add_notes(&j);
    *out = l;
    l = NULL;
    return 0;
}

void lpo_limits_destroy(struct lpo_limits *l)
{
    if (!l)
        return;
    lpo_vec_free(&l->rows);
    lpo_vec_free(&l->notes);
    lpo_arena_destroy(l->arena);
    free(l);
}
