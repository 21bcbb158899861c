/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for machines. The members of docs/diff.md; totals are exact, in nanoseconds. */
#include <math.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/ladder/ladder.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"

static void put_verdict(struct lpo_record *r, const struct lpo_diff_verdict *v)
{
    struct lpo_record *n;

    lpo_doc_put_flag(r, "significant", v->significant);
    lpo_doc_put_text(r, "basis", lpo_diff_basis_name(v->basis));
    if (v->basis == LPO_DIFF_BY_NOTHING || v->basis == LPO_DIFF_BY_COUNT)
        lpo_doc_put_null(r, "p");
    else
        lpo_doc_put_real(r, "p", v->p);
    lpo_doc_put_real(r, "change", v->n[LPO_DIFF_A] ? v->change : NAN);
    lpo_doc_put_real(r, "change_low", v->low);
    lpo_doc_put_real(r, "change_high", v->high);
    n = lpo_doc_put_record(r, "n");
    lpo_doc_put_uint(n, "a", v->n[LPO_DIFF_A]);
    lpo_doc_put_uint(n, "b", v->n[LPO_DIFF_B]);
}

static void put_reasons(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *reasons = lpo_doc_put_list(to, "reasons");
    struct lpo_record *list;

    for (size_t i = 0; i < d->differences.len; i++)
        lpo_doc_put_text(reasons, NULL, lpo_report_diff_reason(d->arena, &d->differences.at[i]));
    list = lpo_doc_put_list(to, "differences");
    for (size_t i = 0; i < d->differences.len; i++) {
        const struct lpo_diff_difference *x = &d->differences.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "key", x->key);
        lpo_doc_put_text(r, "a", x->a);
        lpo_doc_put_text(r, "b", x->b);
        lpo_doc_put_flag(r, "fatal", x->fatal);
        lpo_doc_put_flag(r, "work", x->work);
    }
}

static void put_parts(struct lpo_record *to, const char *key, const int64_t *parts,
                      const int64_t *a, const int64_t *b)
{
    struct lpo_record *r = lpo_doc_put_record(to, key);

    for (size_t i = 0; i < LPO_DIFF_PARTS; i++)
        if (a[i] || b[i])
            lpo_doc_put_int(r, lpo_diff_part_name(i), parts ? parts[i] : b[i] - a[i]);
}

static void put_pauses(struct lpo_record *to, const struct lpo_diff_wall *w)
{
    struct lpo_record *r = lpo_doc_put_record(to, "pauses");

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        struct lpo_record *one = lpo_doc_put_record(r, side == LPO_DIFF_A ? "a" : "b");

        lpo_doc_put_uint(one, "count", w->pauses[side].count);
        lpo_doc_put_uint(one, "of", w->pauses[side].of);
        lpo_doc_put_real(one, "ns", w->pauses[side].ns);
    }
}

static void put_cause(struct lpo_record *list, const struct lpo_diff *d,
                      const struct lpo_diff_cause *c)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);
    bool bytes = c->kind == LPO_DIFF_CAUSE_MEMORY;

    lpo_doc_put_text(r, "kind", lpo_diff_cause_name(c->kind));
    lpo_doc_put_text(r, "what", lpo_report_diff_cause(d->arena, d, c));
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        struct lpo_record *one = lpo_doc_put_record(r, side == LPO_DIFF_A ? "a" : "b");

        lpo_doc_put_text(one, "name", *c->full[side] ? c->full[side] : NULL);
        lpo_doc_put_real(one, bytes ? "bytes" : "ns", c->value[side]);
        lpo_doc_put_real(one, "gpu_ns", c->busy[side] > 0 ? c->busy[side] : NAN);
        lpo_doc_put_real(one, "count", c->count[side]);
    }
    lpo_doc_put_real(r, bytes ? "delta_bytes" : "delta_ns",
                     c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A]);
    lpo_doc_put_text(r, "operator", *c->op ? c->op : NULL);
    lpo_doc_put_text(r, "region", *c->region ? c->region : NULL);
    lpo_doc_put_text(r, "member", *c->member ? c->member : NULL);
    lpo_doc_put_text(r, "python", *c->python ? c->python : NULL);
    lpo_doc_put_text(r, "late", *c->late ? c->late : NULL);
    if (c->group != UINT32_MAX)
        lpo_doc_put_uint(r, "group", c->group);
}

static void put_work(struct lpo_record *to, const struct lpo_diff *d)
{
    static const char *const kinds[] = { "run", "step", "call", "launch" };
    struct lpo_record *r = lpo_doc_put_record(to, "unit");

    lpo_doc_put_text(r, "kind", kinds[d->work.kind]);
    lpo_doc_put_text(r, "name", d->work.name);
    lpo_doc_put_real(r, "a", d->units[LPO_DIFF_A]);
    lpo_doc_put_real(r, "b", d->units[LPO_DIFF_B]);
    r = lpo_doc_put_list(to, "causes");
    for (size_t i = 0; i < d->causes.len; i++)
        put_cause(r, d, &d->causes.at[i]);
}

static void put_wall(struct lpo_record *to, const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;
    struct lpo_record *r = lpo_doc_put_record(to, "wall");
    static const int64_t none[LPO_DIFF_PARTS] = { 0 };
    const int64_t *a = w->known ? w->device[LPO_DIFF_A]->parts : none;
    const int64_t *b = w->known ? w->device[LPO_DIFF_B]->parts : none;

    lpo_doc_put_int_if(r, "a_ns", w->known, w->ns[LPO_DIFF_A]);
    lpo_doc_put_int_if(r, "b_ns", w->known, w->ns[LPO_DIFF_B]);
    lpo_doc_put_int_if(r, "delta_ns", w->known, w->ns[LPO_DIFF_B] - w->ns[LPO_DIFF_A]);
    put_parts(r, "parts", w->parts, a, b);
    put_parts(r, "parts_a_ns", a, a, b);
    put_parts(r, "parts_b_ns", b, a, b);
    lpo_doc_put_text(r, "scope_a", w->known ? w->device[LPO_DIFF_A]->scope : NULL);
    lpo_doc_put_text(r, "scope_b", w->known ? w->device[LPO_DIFF_B]->scope : NULL);
    lpo_doc_put_real(r, "a_step_ns", w->unit_ns[LPO_DIFF_A]);
    lpo_doc_put_real(r, "b_step_ns", w->unit_ns[LPO_DIFF_B]);
    put_verdict(r, &w->verdict);
    lpo_doc_put_real(r, "visible", w->visible > 0 ? w->visible : NAN);
    put_pauses(r, w);
}

static void put_compute(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *r = lpo_doc_put_record(to, "compute");

    lpo_doc_put_real(r, "a_step_ns", d->wall.compute_ns[LPO_DIFF_A]);
    lpo_doc_put_real(r, "b_step_ns", d->wall.compute_ns[LPO_DIFF_B]);
    lpo_doc_put_flag(r, "significant", d->wall.compute.significant);
    lpo_doc_put_real(r, "change", d->wall.compute.change);
}

static const struct lpo_diff_device *same_scope(const struct lpo_diff_digest *g, const char *scope)
{
    for (size_t i = 0; i < g->devices.len; i++)
        if (strcmp(g->devices.at[i].scope, scope) == 0)
            return &g->devices.at[i];
    return NULL;
}

/* Every GPU that both sides have, by its scope. */
static void put_devices(struct lpo_record *to, const struct lpo_diff *d)
{
    const struct lpo_diff_digest *ga = d->shown[LPO_DIFF_A], *gb = d->shown[LPO_DIFF_B];
    struct lpo_record *list = lpo_doc_put_list(to, "devices");

    for (size_t i = 0; i < ga->devices.len; i++) {
        const struct lpo_diff_device *a = &ga->devices.at[i], *b = same_scope(gb, a->scope);
        struct lpo_record *r;

        if (!b)
            continue;
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put_text(r, "scope", a->scope);
        lpo_doc_put_int(r, "a_ns", a->span_ns);
        lpo_doc_put_int(r, "b_ns", b->span_ns);
        put_parts(r, "parts", NULL, a->parts, b->parts);
    }
}

static void put_amount(struct lpo_record *to, const char *key, const struct lpo_diff *d,
                       const struct lpo_diff_row *row, enum lpo_diff_table table,
                       enum lpo_diff_side side)
{
    const struct lpo_diff_amount *m = &row->amount[side];
    struct lpo_record *r = lpo_doc_put_record(to, key);
    /* what is not there took no time; what is there without a time is not known */
    bool known = !m->there || m->known;

    if (table == LPO_DIFF_KERNELS)
        lpo_doc_put_uint(r, "launches", m->launches);
    else {
        lpo_doc_put_uint(r, table == LPO_DIFF_REGIONS ? "visits" : "calls", m->count);
        lpo_doc_put_uint(r, "launches", m->launches);
        lpo_doc_put_int_if(r, "host_ns", m->host_ns >= 0, m->host_ns);
        lpo_doc_put_int_if(r, "gpu_ns_self", known && !d->by_host, m->self_ns);
    }
    lpo_doc_put_int_if(r, "gpu_ns", known && !d->by_host, m->ns);
    lpo_doc_put_real(r, "median_ns", m->median_ns);
    if (d->unit) {
        lpo_doc_put_real(r, "step_ns", m->step_ns);
        lpo_doc_put_real(r, "step_count", m->step_count);
    }
}

static void put_shapes(struct lpo_record *to, const struct lpo_diff_row *row)
{
    struct lpo_record *list = lpo_doc_put_list(to, "shapes");

    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        for (size_t i = 0; row->item[side] && i < row->item[side]->strata.len && i < 64; i++) {
            const struct lpo_diff_stratum *s = &row->item[side]->strata.at[i];
            struct lpo_record *r = lpo_doc_put_record(list, NULL), *v;

            lpo_doc_put_text(r, "side", side == LPO_DIFF_A ? "a" : "b");
            v = lpo_doc_put_list(r, "grid");
            for (int k = 0; k < 3; k++)
                lpo_doc_put_uint(v, NULL, s->grid[k]);
            v = lpo_doc_put_list(r, "block");
            for (int k = 0; k < 3; k++)
                lpo_doc_put_uint(v, NULL, s->block[k]);
            lpo_doc_put_uint(r, "launches", s->count);
            lpo_doc_put_int(r, "gpu_ns", s->ns);
        }
}

static void put_row(struct lpo_record *list, const struct lpo_diff *d,
                    const struct lpo_diff_row *row, enum lpo_diff_table table)
{
    const struct lpo_diff_item *item = row->item[row->item[LPO_DIFF_B] ? LPO_DIFF_B : LPO_DIFF_A];
    struct lpo_record *r = lpo_doc_put_record(list, NULL);

    lpo_doc_put_text(r, table == LPO_DIFF_REGIONS ? "path" : "name", item->name);
    if (table == LPO_DIFF_KERNELS) {
        lpo_doc_put_text(r, "class", lpo_region_class_name(item->class));
        lpo_doc_put_text(r, "short_name", item->detail);
    } else if (table == LPO_DIFF_OPERATORS) {
        lpo_doc_put_text(r, "shapes", item->detail);
        lpo_doc_put_text(r, "dtypes", item->linker);
    }
    lpo_doc_put_text(r, "kind", lpo_diff_kind_name(row->kind));
    put_amount(r, "a", d, row, table, LPO_DIFF_A);
    put_amount(r, "b", d, row, table, LPO_DIFF_B);
    lpo_doc_put_int(r, "delta_ns", row->delta_ns);
    if (d->unit)
        lpo_doc_put_real(r, "delta_step_ns", row->delta_step_ns);
    put_verdict(r, &row->verdict);
    if (table != LPO_DIFF_KERNELS)
        return;
    if (row->group != UINT32_MAX)
        lpo_doc_put_uint(r, "group", row->group);
    put_shapes(r, row);
}

static void put_rows(struct lpo_record *to, const char *key, const struct lpo_diff *d,
                     enum lpo_diff_table table)
{
    struct lpo_record *list = lpo_doc_put_list(to, key);

    for (size_t i = 0; i < d->rows[table].len; i++)
        put_row(list, d, &d->rows[table].at[i], table);
}

static void put_names(struct lpo_record *to, const char *key, const struct lpo_diff *d,
                      const uint32_t *rows, size_t count)
{
    struct lpo_record *list = lpo_doc_put_list(to, key);

    for (size_t i = 0; i < count; i++) {
        const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[rows[i]];

        lpo_doc_put_text(list, NULL, r->item[r->item[LPO_DIFF_B] ? 1 : 0]->name);
    }
}

static void put_groups(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "groups");

    for (size_t i = 0; i < d->groups.len; i++) {
        const struct lpo_diff_group *g = &d->groups.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL), *side;

        lpo_doc_put_text(r, "region", g->region);
        lpo_doc_put_text(r, "operator", *g->op ? g->op : NULL);
        lpo_doc_put_text(r, "kind", g->fused ? "fused" : "replaced");
        side = lpo_doc_put_record(r, "a");
        put_names(side, "kernels", d, g->gone.at, g->gone.len);
        lpo_doc_put_uint(side, "launches", g->gone_launches);
        lpo_doc_put_int(side, "gpu_ns", g->gone_ns);
        side = lpo_doc_put_record(r, "b");
        put_names(side, "kernels", d, g->come.at, g->come.len);
        lpo_doc_put_uint(side, "launches", g->come_launches);
        lpo_doc_put_int(side, "gpu_ns", g->come_ns);
        lpo_doc_put_int(r, "delta_ns", g->come_ns - g->gone_ns);
    }
}

static void put_findings(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "findings");

    for (size_t i = 0; i < d->findings.len; i++) {
        const struct lpo_diff_finding_row *f = &d->findings.at[i];
        const struct lpo_diff_finding *any = f->side[f->side[LPO_DIFF_B] ? 1 : 0];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "id", lpo_ladder_id(any->kind));
        lpo_doc_put_text(r, "where", any->where);
        lpo_doc_put_text(r, "call", *any->call ? any->call : NULL);
        lpo_doc_put_text(r, "kind",
                         !f->side[LPO_DIFF_A]   ? "b only"
                         : !f->side[LPO_DIFF_B] ? "a only"
                                                : "both");
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            lpo_doc_put_int_if(r, side == LPO_DIFF_A ? "a_saving_ns" : "b_saving_ns",
                               f->side[side] != NULL, f->side[side] ? f->side[side]->saving_ns : 0);
    }
}

static void put_figures(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "figures");

    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "name", f->key);
        lpo_doc_put_real(r, "a", f->value[LPO_DIFF_A]);
        lpo_doc_put_real(r, "b", f->value[LPO_DIFF_B]);
        put_verdict(r, &f->verdict);
    }
}

static void put_measures(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "measures");

    for (size_t i = 0; i < d->measures.len; i++) {
        const struct lpo_diff_measure_row *m = &d->measures.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "path", m->path);
        lpo_doc_put_text(r, "name", m->side[LPO_DIFF_A]->name);
        lpo_doc_put_text(r, "unit", *m->side[LPO_DIFF_A]->unit ? m->side[LPO_DIFF_A]->unit : NULL);
        lpo_doc_put_real(r, "a", m->side[LPO_DIFF_A]->value);
        lpo_doc_put_real(r, "b", m->side[LPO_DIFF_B]->value);
    }
}

static void put_runs(struct lpo_record *to, const struct lpo_diff *d)
{
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        struct lpo_record *list = lpo_doc_put_list(to, side == LPO_DIFF_A ? "a" : "b");

        for (size_t i = 0; i < d->side[side].len; i++)
            lpo_doc_put_text(list, NULL, d->side[side].at[i]->label);
    }
}

void lpo_report_diff_put(struct lpo_record *to, const struct lpo_diff *d,
                         const struct lpo_report_diff_options *o)
{
    struct lpo_record *r;

    lpo_doc_put_flag(to, "comparable", d->comparable);
    put_reasons(to, d);
    lpo_doc_put_text(to, "verdict", lpo_report_diff_verdict(d));
    lpo_doc_put_flag(to, "unsure", d->wall.unsure);
    lpo_doc_put_text(to, "sentence", lpo_report_diff_sentence(d->arena, d));
    lpo_doc_put_real(to, "regression", lpo_diff_regression(d));
    lpo_doc_put_real(to, "fail_over", o->fail_over < 0 ? NAN : o->fail_over);
    lpo_report_diff_put_checks(to, o);
    put_runs(lpo_doc_put_record(to, "runs"), d);
    r = lpo_doc_put_record(to, "length");
    lpo_doc_put_text(r, "unit", d->unit);
    lpo_doc_put_flag(r, "inferred", d->unit && d->work.inferred);
    lpo_doc_put_real(r, "a", d->length[LPO_DIFF_A]);
    lpo_doc_put_real(r, "b", d->length[LPO_DIFF_B]);
    put_work(to, d);
    put_wall(to, d);
    put_compute(to, d);
    put_devices(to, d);
    put_findings(to, d);
    put_figures(to, d);
    put_measures(to, d);
    put_groups(to, d);
    put_rows(to, "regions", d, LPO_DIFF_REGIONS);
    put_rows(to, "operators", d, LPO_DIFF_OPERATORS);
    put_rows(to, "kernels", d, LPO_DIFF_KERNELS);
}
