#include "report/regions_json.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/classes.h"
#include "region/scope.h"
#include "region/top.h"
#include "report/notes.h"
#include "trace/metric_rules.h"
#include "util/json_write.h"
#include "util/str.h"

/* null when no duration is known: that is not 0 */
static void write_ns(struct lpo_json_writer *w, const char *key, const struct lpo_sum *s)
{
    if (lpo_region_sum_known(s))
        lpo_jw_int(w, key, s->ns);
    else
        lpo_jw_null(w, key);
}

/* Launches whose time is a share of their CUDA graph's. */
static void write_shares(struct lpo_json_writer *w, const struct lpo_sum *s)
{
    if (s->shares)
        lpo_jw_uint(w, "launches_time_estimated", s->shares);
}

static void write_part(struct lpo_json_writer *w, const char *key, const struct lpo_sum *s)
{
    lpo_jw_object(w, key);
    lpo_jw_uint(w, "launches", s->launches);
    write_ns(w, "gpu_ns", s);
    write_shares(w, s);
    lpo_jw_end(w);
}

static void write_copies(struct lpo_json_writer *w, const char *key, const struct lpo_sum *s)
{
    lpo_jw_object(w, key);
    lpo_jw_uint(w, "count", s->launches);
    write_ns(w, "ns", s);
    lpo_jw_uint(w, "bytes", s->bytes);
    lpo_jw_end(w);
}

static void write_metrics(struct lpo_json_writer *w, const struct lpo_region_scope *s,
                          const struct lpo_region_row *row)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    lpo_jw_object(w, "metrics");
    for (size_t i = 0; row->metrics != LPO_NONE && i < t->metrics.len; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];
        const struct lpo_metric_sum *sum =
            &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + i];

        if (sum->weight == 0)
            continue;
        lpo_jw_object(w, lpo_trace_text(t, m->name));
        lpo_jw_real(w, "value", lpo_region_metric_value(m->combine, sum));
        lpo_jw_text(w, "unit", m->unit == LPO_NONE ? NULL : lpo_trace_text(t, m->unit));
        lpo_jw_text(w, "how", lpo_trace_combine_name(m->combine));
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_name(struct lpo_json_writer *w, const struct lpo_trace *t, uint32_t name)
{
    lpo_jw_textn(w, "name", lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

/* Sources spell a demangled name each in its own way; this one is the same in all. */
static void write_linker(struct lpo_json_writer *w, const struct lpo_trace *t, uint32_t name,
                         uint32_t linker)
{
    if (linker && linker != name)
        lpo_jw_textn(w, "linker", lpo_trace_text(t, linker), lpo_trace_text_len(t, linker));
}

static void write_extremes(struct lpo_json_writer *w, const struct lpo_sum *s)
{
    if (s->launches > s->unknown && s->min_ns != LPO_NO_TIME) {
        lpo_jw_int(w, "min_ns", s->min_ns);
        lpo_jw_int(w, "max_ns", s->max_ns);
    } else {
        lpo_jw_null(w, "min_ns");
        lpo_jw_null(w, "max_ns");
    }
}

static void write_kernels(struct lpo_json_writer *w, const struct lpo_region_scope *s,
                          const struct lpo_region_row *row)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    lpo_jw_array(w, "kernels");
    for (uint32_t i = 0; i < row->nkernels; i++) {
        const struct lpo_kernel_row *k = &s->kernels.at[row->kernels + i];

        lpo_jw_object(w, NULL);
        write_name(w, t, k->name);
        write_linker(w, t, k->name, lpo_region_cells_linker(s->cells, k->name));
        lpo_jw_uint(w, "launches", k->all.launches);
        write_ns(w, "gpu_ns", &k->all);
        write_extremes(w, &k->all);
        lpo_jw_uint(w, "launches_exclusive", k->self.launches);
        write_ns(w, "gpu_ns_exclusive", &k->self);
        write_shares(w, &k->all);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_gaps(struct lpo_json_writer *w, const char *key, const struct lpo_gaps *g)
{
    lpo_jw_object(w, key);
    for (int i = 0; i < LPO_GAP_CAUSES; i++) {
        lpo_jw_object(w, lpo_wall_gap_name(i));
        lpo_jw_uint(w, "count", g->by[i].count);
        lpo_jw_int(w, "ns", g->by[i].ns);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_visits(struct lpo_json_writer *w, const struct lpo_region_row *row)
{
    if (row->visits_known) {
        lpo_jw_uint(w, "visits", row->visits);
    } else {
        lpo_jw_null(w, "visits");
    }
}

static void write_host(struct lpo_json_writer *w, const struct lpo_region_row *row)
{
    if (row->visits_known) {
        lpo_jw_int(w, "host_ns", row->host_ns);
        lpo_jw_int(w, "host_ns_exclusive", row->host_self_ns);
    } else {
        lpo_jw_null(w, "host_ns");
        lpo_jw_null(w, "host_ns_exclusive");
    }
}

static void write_paths(struct lpo_json_writer *w, const struct lpo_region_scope *s,
                        const struct lpo_region_row *row)
{
    LPO_STR path = { 0 };
    uint32_t parent =
        row->node == LPO_NODE_OUTSIDE ? LPO_NONE : s->cells->tree->nodes.at[row->node].parent;

    lpo_region_row_add_path(s, row, &path);
    lpo_jw_textn(w, "path", lpo_str_text(&path), path.len);
    if (parent == LPO_NONE) {
        lpo_jw_null(w, "parent");
        return;
    }
    lpo_str_clear(&path);
    lpo_region_add_path(s->cells->tree, parent, &path);
    lpo_jw_textn(w, "parent", lpo_str_text(&path), path.len);
}

static void write_region(struct lpo_json_writer *w, const struct lpo_analysis *a,
                         const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    lpo_jw_object(w, NULL);
    write_paths(w, s, row);
    lpo_jw_uint(w, "depth", lpo_region_row_depth(s, row));
    lpo_jw_text(w, "kind", lpo_region_row_kind(s, row));
    write_visits(w, row);
    lpo_jw_uint(w, "launches", row->all.launches);
    lpo_jw_uint(w, "launches_exclusive", row->self.launches);
    write_host(w, row);
    write_ns(w, "gpu_ns_inclusive", &row->all);
    write_ns(w, "gpu_ns_exclusive", &row->self);
    if (s->cells->left_out || row->copies.shares) /* else the shares are whole graphs again */
        write_shares(w, &row->all);
    lpo_jw_uint(w, "distinct_kernels", row->nkernels);
    if (row->open)
        lpo_jw_uint(w, "never_closed", row->open);
    if (row->copies.launches)
        write_copies(w, "copies", &row->copies);
    if (row->captured.launches)
        write_part(w, "captured_here", &row->captured);
    /* gaps belong to streams, so only the scope that holds every stream tells them */
    if (s->id.kind == LPO_SCOPE_ALL && row->node != LPO_NODE_OUTSIDE &&
        lpo_wall_gaps_ns(&a->timeline->nodes[row->node]))
        write_gaps(w, "idle", &a->timeline->nodes[row->node]);
    if (row->metrics != LPO_NONE) {
        lpo_jw_uint(w, "kernels_measured", row->measured);
        lpo_jw_uint(w, "kernels_estimated", row->estimated);
    }
    write_metrics(w, s, row);
    write_kernels(w, s, row);
    lpo_jw_end(w);
}

static void write_coverage(struct lpo_json_writer *w, const struct lpo_coverage *c)
{
    lpo_jw_object(w, "coverage");
    write_part(w, "in_regions", &c->in_region);
    write_part(w, "outside", &c->outside);
    write_part(w, "no_launch_record", &c->no_launch);
    lpo_jw_uint(w, "kernels_without_duration", c->total.unknown);
    lpo_jw_uint(w, "kernels_measured", c->measured);
    lpo_jw_uint(w, "kernels_estimated", c->estimated);
    lpo_jw_end(w);
    write_copies(w, "copies", &c->copies);
    write_copies(w, "sets", &c->sets);
}

static void write_scope(struct lpo_json_writer *w, const struct lpo_analysis *a,
                        struct lpo_scope_id id, struct lpo_region_selection *select)
{
    LPO_AUTO(lpo_region_scope) s = lpo_region_scope_create(a->cells, id, select);
    LPO_STR name = { 0 };

    lpo_region_scope_add_name(a->trace, id, &name);
    lpo_jw_object(w, NULL);
    lpo_jw_text(w, "scope", lpo_str_text(&name));
    write_ns(w, "gpu_ns", &s->coverage.total);
    if (lpo_region_cells_parted(s->cells))
        write_shares(w, &s->coverage.total);
    lpo_jw_uint(w, "launches", s->coverage.total.launches);
    write_coverage(w, &s->coverage);
    lpo_jw_array(w, "regions");
    for (size_t i = 0; i < s->rows.len; i++)
        write_region(w, a, s, &s->rows.at[i]);
    lpo_jw_end(w);
    lpo_jw_end(w);
}

void lpo_report_scopes_json(struct lpo_json_writer *w, const char *key,
                            const struct lpo_analysis *a, struct lpo_region_selection *select,
                            bool aggregate)
{
    lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    lpo_jw_array(w, key);
    for (size_t i = 0; i < ids.len; i++)
        if (aggregate || ids.at[i].kind != LPO_SCOPE_ALL)
            write_scope(w, a, ids.at[i], select);
    lpo_jw_end(w);
    lpo_vec_free(&ids);
}

static void write_streams(struct lpo_json_writer *w, const struct lpo_wall_timeline *t,
                          uint16_t device)
{
    lpo_jw_array(w, "streams");
    for (size_t i = 0; i < t->streams.len; i++) {
        const struct lpo_stream_time *s = &t->streams.at[i];

        if (s->device != device)
            continue;
        lpo_jw_object(w, NULL);
        lpo_jw_uint(w, "stream", s->stream);
        lpo_jw_uint(w, "works", s->gpu_ops);
        lpo_jw_int(w, "span_ns", s->end_ns - s->start_ns);
        lpo_jw_int(w, "busy_ns", s->busy_ns);
        lpo_jw_int(w, "idle_ns", lpo_wall_gaps_ns(&s->gaps));
        write_gaps(w, "gaps", &s->gaps);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_overlap(struct lpo_json_writer *w, const struct lpo_device_time *d,
                          const char *key, int64_t ns)
{
    if (d->overlap_unknown)
        lpo_jw_null(w, key);
    else
        lpo_jw_int(w, key, ns);
}

void lpo_report_devices_json(struct lpo_json_writer *w, const char *key,
                             const struct lpo_analysis *a)
{
    lpo_jw_array(w, key);
    for (size_t i = 0; i < a->timeline->devices.len; i++) {
        const struct lpo_device_time *d = &a->timeline->devices.at[i];
        const struct lpo_device *device = &a->trace->devices.at[d->device];

        lpo_jw_object(w, NULL);
        lpo_jw_int(w, "device", device->id);
        if (device->rank >= 0)
            lpo_jw_int(w, "rank", device->rank);
        else
            lpo_jw_null(w, "rank");
        lpo_jw_text(w, "name",
                    device->name == LPO_NONE ? NULL : lpo_trace_text(a->trace, device->name));
        lpo_jw_uint(w, "works", d->gpu_ops);
        lpo_jw_int(w, "span_ns", d->span_ns);
        lpo_jw_int(w, "busy_ns", d->busy_ns);
        lpo_jw_int(w, "idle_ns", d->idle_ns);
        write_overlap(w, d, "compute_ns", d->compute_ns);
        write_overlap(w, d, "communication_ns", d->communication_ns);
        write_overlap(w, d, "exposed_communication_ns", d->exposed_ns);
        write_overlap(w, d, "hidden_communication_ns", d->communication_ns - d->exposed_ns);
        lpo_jw_int(w, "other_collectives_ns", d->collectives_ns);
        write_gaps(w, "gaps", &d->gaps);
        write_streams(w, a->timeline, d->device);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

void lpo_report_top_json(struct lpo_json_writer *w, const char *key,
                         const struct lpo_region_cells *cells, const struct lpo_top_row *rows,
                         size_t count)
{
    const struct lpo_trace *t = cells->tree->trace;

    lpo_jw_array(w, key);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_top_row *r = &rows[i];

        lpo_jw_object(w, NULL);
        write_name(w, t, r->name);
        lpo_jw_uint(w, "launches", r->sum.launches);
        write_ns(w, "gpu_ns", &r->sum);
        write_extremes(w, &r->sum);
        write_shares(w, &r->sum);
        if (lpo_region_sum_known(&r->sum))
            lpo_jw_real(w, "share", r->share);
        else
            lpo_jw_null(w, "share");
        lpo_jw_text(w, "class", lpo_region_class_name(lpo_region_cells_class(cells, r->name)));
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void say_json(void *ctx, bool warning, const char *text)
{
    lpo_jw_object(ctx, NULL);
    lpo_jw_text(ctx, "level", warning ? "warning" : "info");
    lpo_jw_text(ctx, "text", text);
    lpo_jw_end(ctx);
}

void lpo_report_notes_json(struct lpo_json_writer *w, const char *key, const struct lpo_analysis *a,
                           const struct lpo_region_selection *select)
{
    lpo_jw_array(w, key);
    lpo_report_notes_each(a, select, say_json, w);
    lpo_jw_end(w);
}
