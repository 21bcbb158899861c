#include "analysis/limits/run.h"

#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/limits/counters.h"
#include "analysis/limits/hardware.h"
#include "analysis/wall/timeline.h"
#include "hydra/compose.h"
#include "region/scope.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/dtype.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

static struct lpo_limits_region region_of(struct lpo_arena *a, const struct lpo_analysis *x,
                                          const struct lpo_region_scope *scope,
                                          const struct lpo_region_row *row)
{
    bool gpu = scope->coverage.total.launches > 0;
    struct lpo_limits_region r = {
        .parent = row->parent_row == LPO_NONE ? UINT32_MAX : row->parent_row,
        .visits = row->visits_known ? row->visits : 0,
        .gpu_ns = gpu && lpo_region_sum_known(&row->all) ? row->all.ns : -1,
        .host_ns = row->visits_known ? row->host_ns : -1,
    };
    LPO_STR path = { 0 };

    lpo_region_row_add_path(scope, row, &path);
    r.path = lpo_arena_strdup(a, lpo_str_text(&path));
    if (x->timeline && row->node != LPO_NODE_OUTSIDE && x->timeline->nodes) {
        const struct lpo_gaps *g = &x->timeline->nodes[row->node];

        r.host_gap_ns = g->by[LPO_GAP_HOST].ns;
        r.other_gap_ns = g->by[LPO_GAP_DEPENDENCY].ns + g->by[LPO_GAP_OTHER].ns;
    }
    r.counters = lpo_limits_region_counters(scope, row);
    return r;
}

void lpo_limits_regions_of(struct lpo_arena *a, const struct lpo_analysis *analysis,
                           struct lpo_region_selection *select, lpo_limits_regions *out)
{
    LPO_AUTO(lpo_region_scope)
    scope =
        lpo_region_scope_create(analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, select);

    for (size_t i = 0; i < scope->rows.len; i++)
        lpo_vec_push(out, region_of(a, analysis, scope, &scope->rows.at[i]));
}

typedef LPO_VEC(struct lpo_limits_mapping) mapping_vec;

/* report.mapping: { "generate/forward": prefill, … } */
static void read_mappings(struct lpo_arena *a, const struct lpo_node *config, mapping_vec *out)
{
    const struct lpo_node *map = lpo_settings_map(config, "report.mapping");

    if (!map)
        return;
    for (size_t i = 0; i < map->npairs; i++) {
        LPO_STR region = { 0 }, means = { 0 };

        lpo_yaml_py_add_str(&region, map->pairs[i].key); /* a range may be called 0 */
        lpo_yaml_py_add_str(&means, map->pairs[i].value);
        lpo_vec_push(out, (struct lpo_limits_mapping){
                              lpo_arena_strdup(a, lpo_str_text(&region)),
                              lpo_arena_strdup(a, lpo_str_text(&means)),
                          });
    }
}

/* The number format of the run's products, as its config has it. */
static enum lpo_dtype dtype_of(const struct lpo_node *config)
{
    const char *kind = lpo_settings_text(config, "workload.kind");
    const char *stated = lpo_settings_text(config, "infer.dtype");

    if (stated && lpo_dtype_parse(stated) != LPO_DTYPE_NONE)
        return lpo_dtype_parse(stated);
    if (lpo_streq(kind, "hf"))
        return lpo_dtype_parse(lpo_settings_text(config, "workload.hf.dtype"));
    return lpo_streq(kind, "toy") ? lpo_dtype_parse("fp32") : LPO_DTYPE_NONE; /* workloads/toy */
}

/* The folder's analysis and hardware, where it has them. */
static int read_artifacts(const struct lpo_rundir *d, const struct lpo_source *s,
                          struct lpo_limits_input *in, struct lpo_err *err)
{
    const char *path = lpo_path_join(d->arena, d->dir, "static_analysis/static_compute.json");

    if (lpo_path_exists(path) && lpo_json_read_file(d->arena, path, &in->needed, err) < 0)
        return lpo_ctx(err, "the static analysis cannot be read");
    return in->needed || in->stated.len ? lpo_limits_hardware(d, s, &in->hardware, err) : 0;
}

struct lpo_limits *lpo_limits_of_run(const struct lpo_rundir *d, const struct lpo_source *s,
                                     struct lpo_err *err)
{
    struct lpo_limits_input in = { .stated = d->stated, .dtype = dtype_of(d->config) };
    struct lpo_limits *limits = NULL;
    lpo_limits_regions regions = { 0 };
    mapping_vec mappings = { 0 };

    if (!s || !s->analysis || read_artifacts(d, s, &in, err) < 0)
        return NULL;
    read_mappings(d->arena, d->config, &mappings);
    if (!in.needed && !in.stated.len) {
        if (mappings.len)
            lpo_fail(err, LPO_E_NOTFOUND,
                     "report.mapping names parts of a model, but this run has no static analysis "
                     "of one");
        lpo_vec_free(&mappings);
        return NULL;
    }
    lpo_limits_regions_of(d->arena, s->analysis, s->select, &regions);
    in.regions = regions.at;
    in.nregions = regions.len;
    in.mappings = mappings.at;
    in.nmappings = mappings.len;
    /* the first token comes out of the prefill */
    in.steps = (uint64_t)fmax(0, (double)lpo_settings_int(d->config, "infer.max_new_tokens") - 1);
    lpo_limits_create(&in, &limits, err);
    lpo_vec_free(&regions);
    lpo_vec_free(&mappings);
    return limits;
}
