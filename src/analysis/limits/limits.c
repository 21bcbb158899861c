/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/limits/limits.h"

#include "analysis/limits/private.h"
#include "model/needs.h"

struct joining {
    const struct lpo_limits_input *in;
    struct lpo_needed needed;
    enum lpo_dtype dtype; /* of the run's products, where anything says so */
    struct lpo_limits *limits;
    struct lpo_meaning *meanings; /* per region */
    uint32_t *stated;             /* per region: which of in->stated, or LPO_NOT_STATED */
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
 * what the config says about the workload. 0: not known. */
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

/* The visits of the step that a region is or lies in; 0: it lies in none. A program may number its
 * steps, and then each of them is a region of its own. */
static double visits_of_step(const struct joining *j, uint32_t row)
{
    for (uint32_t r = row; r != UINT32_MAX; r = j->in->regions[r].parent)
        if (j->meanings[r].step)
            return (double)j->in->regions[r].visits;
    return 0;
}

static double runs_of(const struct joining *j, uint32_t row)
{
    double visits = visits_of_step(j, row);
    uint32_t phase = phase_row(j, row);

    if (visits > 0)
        return visits;
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
        image = lpo_limits_needed_of(&j->needed, m);
        lpo_limits_need_add(need, &image, (double)j->in->regions[i].visits);
    }
}

static struct lpo_measure known(double x)
{
    return isnan(x) ? lpo_measure_unknown() : lpo_measure_computed(x);
}

static void put_need(struct lpo_limit_row *out, const struct lpo_need *need,
                     const struct lpo_roof *roof)
{
    out->dtype = roof->dtype;
    out->peak = roof->peak;
    out->sheet_peak = roof->sheet_peak;
    out->needed_flops = known(need->flops);
    out->needed_bytes = known(need->bytes);
    out->limit_ns = known(need->seconds * 1e9);
    out->best_ns = known(need->best_seconds * 1e9);
    out->sheet_ns = known(need->sheet_seconds * 1e9);
    out->need_compute_ns = known(need->compute_seconds * 1e9).value;
    out->need_memory_ns = known(need->memory_seconds * 1e9).value;
}

/* The first source of needs: the model. */
static void set_model_need(struct joining *j, uint32_t row, struct lpo_limit_row *out)
{
    const struct lpo_meaning *m = &j->meanings[row];
    struct lpo_need one, need = { 0 };

    if (m->phase < 0)
        return;
    one = lpo_limits_needed_of(&j->needed, m);
    out->runs = runs_of(j, row);
    if (one.modules == 0 || out->runs <= 0)
        return;
    lpo_limits_need_add(&need, &one, out->runs);
    if (m->phase == LPO_PREFILL && m->is_phase)
        add_nested_vision(j, row, &need);
    put_need(out, &need, &j->needed.roof);
}

static enum lpo_dtype dtype_of(const struct joining *j, const struct lpo_stated_need *s)
{
    return s->dtype == LPO_DTYPE_NONE ? j->dtype : s->dtype;
}

/* The second: the user. */
static void set_stated_need(struct joining *j, uint32_t row, struct lpo_limit_row *out)
{
    const struct lpo_stated_need *s = &j->in->stated.at[j->stated[row]];
    struct lpo_roof roof = lpo_limits_roof_of(j->in->hardware, &j->needed, dtype_of(j, s));
    struct lpo_need one = lpo_limits_need_stated(s, &roof), need = { 0 };

    out->runs = (double)j->in->regions[row].visits;
    if (out->runs <= 0)
        return;
    lpo_limits_need_add(&need, &one, out->runs);
    put_need(out, &need, &roof);
}

static void set_measured(const struct lpo_limits_region *r, struct lpo_limit_row *out)
{
    int64_t idle = r->host_gap_ns + r->other_gap_ns;

    out->counters = r->counters;
    out->host_gap_ns = (double)r->host_gap_ns;
    out->other_gap_ns = (double)r->other_gap_ns;
    if (r->gpu_ns > 0) {
        out->busy_ns = lpo_measure_measured((double)r->gpu_ns);
        out->all_busy_ns = (double)r->gpu_ns;
        out->idle_ns = lpo_measure_measured((double)idle);
        out->measured_ns = lpo_measure_measured((double)(r->gpu_ns + idle));
    } else if (r->gpu_ns < 0 && r->host_ns > 0) {
        out->measured_ns = lpo_measure_measured((double)r->host_ns);
    }
}

static const char *describe(struct lpo_limits *l, const struct lpo_meaning *m)
{
    LPO_STR s = { 0 };

    if (m->phase < 0)
        return NULL;
    lpo_str_addf(&s, "%s", lpo_model_phase_name((enum lpo_phase_kind)m->phase));
    if (m->part && strcmp(m->part, "vision") != 0)
        lpo_str_addf(&s, "/%s", m->part);
    if (m->layer >= 0)
        lpo_str_addf(&s, "/layer%d", m->layer);
    if (m->block)
        lpo_str_addf(&s, "/%s", m->block);
    return lpo_arena_strdup(l->arena, lpo_str_text(&s));
}

/* Does the model or the user say what this region needs? */
static bool has_source(const struct joining *j, uint32_t row)
{
    return j->stated[row] != LPO_NOT_STATED || (j->in->needed && j->meanings[row].phase >= 0);
}

static bool is_top(const struct joining *j, uint32_t row)
{
    if (!has_source(j, row))
        return false;
    for (uint32_t r = j->in->regions[row].parent; r != UINT32_MAX; r = j->in->regions[r].parent)
        if (has_source(j, r))
            return false;
    return true;
}

static void join_row(struct joining *j, uint32_t row)
{
    const struct lpo_limits_region *m = &j->in->regions[row];
    struct lpo_limits *l = j->limits;
    struct lpo_limit_row r = {
        .path = lpo_arena_strdup(l->arena, m->path),
        .parent = m->parent,
        .phase = j->meanings[row].phase,
        .stated = j->stated[row] != LPO_NOT_STATED,
        .top = is_top(j, row),
    };

    r.means = r.stated ? NULL : describe(l, &j->meanings[row]);
    if (r.stated)
        set_stated_need(j, row, &r);
    else
        set_model_need(j, row, &r);
    set_measured(m, &r);
    if (r.counters.sampled && l->bandwidth > 0 && !lpo_measure_known(r.counters.dram_percent))
        r.counters.dram_percent =
            lpo_measure_computed(100 * r.counters.dram_rate.value / l->bandwidth);
    lpo_vec_push(&l->rows, r);
}

static void note(struct lpo_limits *l, enum lpo_limits_note_kind kind, const char *region)
{
    lpo_vec_push(&l->notes,
                 (struct lpo_limits_note){
                     .kind = kind, .region = region ? lpo_arena_strdup(l->arena, region) : NULL });
}

static void note_stated(struct joining *j, const struct lpo_stated_need *s, uint32_t entry)
{
    struct lpo_limits *l = j->limits;
    bool matched = false, visited = false;

    for (size_t i = 0; i < j->in->nregions; i++) {
        matched |= j->stated[i] == entry;
        visited |= j->stated[i] == entry && j->in->regions[i].visits > 0;
    }
    if (!matched)
        lpo_vec_push(&l->notes, lpo_limits_region_unmatched(l->arena, false, s->region,
                                                            j->in->regions, j->in->nregions));
    else if (!visited)
        note(l, LPO_LIMITS_NO_VISITS, s->region);
    else if (lpo_measure_known(s->flops) && dtype_of(j, s) == LPO_DTYPE_NONE)
        note(l, LPO_LIMITS_NO_DTYPE, s->region);
}

static void add_notes(struct joining *j)
{
    struct lpo_limits *l = j->limits;
    bool steps_unknown = false, mapped = false;

    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        mapped |= r->phase >= 0;
        steps_unknown |= !r->stated && r->phase == LPO_DECODE && r->runs <= 0;
    }
    for (uint32_t i = 0; i < j->in->stated.len; i++)
        note_stated(j, &j->in->stated.at[i], i);
    for (size_t i = 0; j->in->needed && i < j->in->mappings.len; i++) {
        struct lpo_limits_note fault;

        if (lpo_limits_mapping_fault(l->arena, &j->in->mappings.at[i], j->in->regions,
                                     j->in->nregions, &fault))
            lpo_vec_push(&l->notes, fault);
    }
    if (j->in->needed && !mapped && !j->in->stated.len)
        note(l, LPO_LIMITS_NO_NAMED_REGION, NULL);
    if (j->in->needed && steps_unknown)
        note(l, LPO_LIMITS_NO_STEPS, NULL);
    if (!l->hardware)
        note(l, LPO_LIMITS_NO_HARDWARE, NULL);
}

/* The ceilings that the chapter names first: the model's, else those of what is stated first. */
static void set_hardware(struct joining *j)
{
    const struct lpo_needed *n = &j->needed;
    const struct lpo_hardware *hw = j->in->hardware;
    const char *label = n->hardware ? n->hardware : hw ? hw->label : NULL;
    const char *source = n->hardware ? n->source : hw ? hw->source : NULL;
    enum lpo_dtype dtype = LPO_DTYPE_NONE;
    struct lpo_limits *l = j->limits;
    struct lpo_roof roof;

    for (size_t i = 0; i < j->in->stated.len && dtype == LPO_DTYPE_NONE; i++)
        if (lpo_measure_known(j->in->stated.at[i].flops))
            dtype = dtype_of(j, &j->in->stated.at[i]);
    roof = n->hardware ? n->roof : lpo_limits_roof_of(hw, n, dtype);
    l->hardware = label ? lpo_arena_strdup(l->arena, label) : NULL;
    l->source = source ? lpo_arena_strdup(l->arena, source) : NULL;
    l->dtype = roof.dtype ? lpo_arena_strdup(l->arena, roof.dtype) : NULL;
    l->peak = roof.peak;
    l->sheet_peak = roof.sheet_peak;
    l->bandwidth = roof.bandwidth;
}

int lpo_limits_create(const struct lpo_limits_input *in, struct lpo_limits **out,
                      struct lpo_err *err)
{
    LPO_AUTO(lpo_limits) l = lpo_xcalloc(1, sizeof *l);
    struct joining j = { .in = in, .limits = l };
    int rc;

    l->arena = lpo_arena_create();
    rc = lpo_limits_needed_read(l->arena, in->needed, &j.needed, err);
    if (rc < 0)
        return rc;
    l->has_model = in->needed != NULL;
    j.dtype = in->dtype == LPO_DTYPE_NONE && j.needed.roof.dtype
                  ? lpo_dtype_parse(j.needed.roof.dtype)
                  : in->dtype;
    set_hardware(&j);
    j.meanings = lpo_arena_array(l->arena, in->nregions + 1, sizeof *j.meanings);
    j.stated = lpo_limits_stated_match(l->arena, &in->stated, in->regions, in->nregions);
    j.steps = lpo_arena_array(l->arena, in->nregions + 1, sizeof *j.steps);
    for (size_t i = 0; i < in->nregions; i++) {
        j.meanings[i] = lpo_limits_region_meaning(in->regions[i].path, &in->mappings);
        j.steps[i] = -1;
    }
    for (size_t i = 0; i < in->nregions; i++)
        join_row(&j, (uint32_t)i);
    lpo_limits_first_calls(l, in->regions);
    for (size_t i = 0; i < l->rows.len; i++)
        lpo_limits_row_judge(l, &l->rows.at[i]);
    lpo_limits_sum(l);
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
