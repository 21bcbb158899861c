/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for machines. The members of docs/diff.md; totals are exact, in nanoseconds. */

#include "analysis/diff/diff.h"
#include "analysis/ladder/ladder.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"

static void put_verdict(struct lpo_record *r, const struct lpo_diff_verdict *v)
{
    bool tested = v->basis != LPO_DIFF_BY_NOTHING && v->basis != LPO_DIFF_BY_COUNT;

    lpo_doc_put(r, LPO_KV("significant", v->significant),
                LPO_KV("basis", lpo_diff_basis_name(v->basis)), LPO_KV("p", tested ? v->p : NAN),
                LPO_KV("change", v->n[LPO_DIFF_A] ? v->change : NAN), LPO_KV("change_low", v->low),
                LPO_KV("change_high", v->high));
    lpo_doc_put(lpo_doc_put_record(r, "n"), LPO_KV("a", v->n[LPO_DIFF_A]),
                LPO_KV("b", v->n[LPO_DIFF_B]));
}

static void put_reasons(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *reasons = lpo_doc_put_list(to, "reasons");
    struct lpo_record *list;

    for (size_t i = 0; i < d->differences.len; i++)
        lpo_doc_put(reasons, LPO_V(lpo_report_diff_reason(d->arena, &d->differences.at[i])));
    list = lpo_doc_put_list(to, "differences");
    for (size_t i = 0; i < d->differences.len; i++) {
        const struct lpo_diff_difference *x = &d->differences.at[i];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("key", x->key), LPO_KV("a", x->a),
                    LPO_KV("b", x->b), LPO_KV("fatal", x->fatal), LPO_KV("work", x->work));
    }
}

static void put_parts(struct lpo_record *to, const char *key, const int64_t *parts,
                      const int64_t *a, const int64_t *b)
{
    struct lpo_record *r = lpo_doc_put_record(to, key);

    for (size_t i = 0; i < LPO_DIFF_PARTS; i++)
        if (a[i] || b[i])
            lpo_doc_put(r, LPO_KV(lpo_diff_part_name(i), parts ? parts[i] : b[i] - a[i]));
}

static void put_pauses(struct lpo_record *to, const struct lpo_diff_wall *w)
{
    struct lpo_record *r = lpo_doc_put_record(to, "pauses");

    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        lpo_doc_put(lpo_doc_put_record(r, side == LPO_DIFF_A ? "a" : "b"),
                    LPO_KV("count", w->pauses[side].count), LPO_KV("of", w->pauses[side].of),
                    LPO_KV("ns", w->pauses[side].ns));
}

static void put_cause(struct lpo_record *list, const struct lpo_diff *d,
                      const struct lpo_diff_cause *c)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);
    bool bytes = c->kind == LPO_DIFF_CAUSE_MEMORY;

    lpo_doc_put(r, LPO_KV("kind", lpo_diff_cause_name(c->kind)),
                LPO_KV("what", lpo_report_diff_cause(d->arena, d, c)));
    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        lpo_doc_put(lpo_doc_put_record(r, side == LPO_DIFF_A ? "a" : "b"),
                    LPO_KV("name", *c->full[side] ? c->full[side] : NULL),
                    LPO_KV(bytes ? "bytes" : "ns", c->value[side]),
                    LPO_KV("gpu_ns", c->busy[side] > 0 ? c->busy[side] : NAN),
                    LPO_KV("count", c->count[side]));
    lpo_doc_put(
        r, LPO_KV(bytes ? "delta_bytes" : "delta_ns", c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A]),
        LPO_KV("operator", *c->op ? c->op : NULL), LPO_KV("region", *c->region ? c->region : NULL),
        LPO_KV("member", *c->member ? c->member : NULL),
        LPO_KV("python", *c->python ? c->python : NULL), LPO_KV("late", *c->late ? c->late : NULL),
        LPO_KV_IF(c->group != UINT32_MAX, "group", c->group));
}

static void put_work(struct lpo_record *to, const struct lpo_diff *d)
{
    static const char *const kinds[] = { "run", "step", "call", "launch" };
    struct lpo_record *r;

    lpo_doc_put(lpo_doc_put_record(to, "unit"), LPO_KV("kind", kinds[d->work.kind]),
                LPO_KV("name", d->work.name), LPO_KV("a", d->units[LPO_DIFF_A]),
                LPO_KV("b", d->units[LPO_DIFF_B]));
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

    lpo_doc_put(r, LPO_KV("a_ns", lpo_jv_int_if(w->known, w->ns[LPO_DIFF_A])),
                LPO_KV("b_ns", lpo_jv_int_if(w->known, w->ns[LPO_DIFF_B])),
                LPO_KV("delta_ns", lpo_jv_int_if(w->known, w->ns[LPO_DIFF_B] - w->ns[LPO_DIFF_A])));
    put_parts(r, "parts", w->parts, a, b);
    put_parts(r, "parts_a_ns", a, a, b);
    put_parts(r, "parts_b_ns", b, a, b);
    lpo_doc_put(r, LPO_KV("scope_a", w->known ? w->device[LPO_DIFF_A]->scope : NULL),
                LPO_KV("scope_b", w->known ? w->device[LPO_DIFF_B]->scope : NULL),
                LPO_KV("a_step_ns", w->unit_ns[LPO_DIFF_A]),
                LPO_KV("b_step_ns", w->unit_ns[LPO_DIFF_B]));
    put_verdict(r, &w->verdict);
    lpo_doc_put(r, LPO_KV("visible", w->visible > 0 ? w->visible : NAN));
    put_pauses(r, w);
}

static void put_compute(struct lpo_record *to, const struct lpo_diff *d)
{
    lpo_doc_put(lpo_doc_put_record(to, "compute"),
                LPO_KV("a_step_ns", d->wall.compute_ns[LPO_DIFF_A]),
                LPO_KV("b_step_ns", d->wall.compute_ns[LPO_DIFF_B]),
                LPO_KV("significant", d->wall.compute.significant),
                LPO_KV("change", d->wall.compute.change));
}

static const struct lpo_diff_device *same_scope(const struct lpo_diff_digest *g, const char *scope)
{
    return lpo_find(i, g->devices.at, g->devices.len, strcmp(g->devices.at[i].scope, scope) == 0);
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
        lpo_doc_put(r, LPO_KV("scope", a->scope), LPO_KV("a_ns", a->span_ns),
                    LPO_KV("b_ns", b->span_ns));
        put_parts(r, "parts", NULL, a->parts, b->parts);
    }
}

static void put_amount(struct lpo_record *to, const char *key, const struct lpo_diff *d,
                       const struct lpo_diff_row *row, enum lpo_diff_table table,
                       enum lpo_diff_side side)
{
    const struct lpo_diff_amount *m = &row->amount[side];
    /* what is not there took no time; what is there without a time is not known */
    bool known = (!m->there || m->known) && !d->by_host, host = table != LPO_DIFF_KERNELS;

    lpo_doc_put(lpo_doc_put_record(to, key),
                LPO_KV_IF(host, table == LPO_DIFF_REGIONS ? "visits" : "calls", m->count),
                LPO_KV("launches", m->launches),
                LPO_KV_IF(host, "host_ns", lpo_jv_int_if(m->host_ns >= 0, m->host_ns)),
                LPO_KV_IF(host, "gpu_ns_self", lpo_jv_int_if(known, m->self_ns)),
                LPO_KV("gpu_ns", lpo_jv_int_if(known, m->ns)), LPO_KV("median_ns", m->median_ns),
                LPO_KV_IF(d->unit, "step_ns", m->step_ns),
                LPO_KV_IF(d->unit, "step_count", m->step_count));
}

static void put_shapes(struct lpo_record *to, const struct lpo_diff_row *row)
{
    struct lpo_record *list = lpo_doc_put_list(to, "shapes");

    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        for (size_t i = 0; row->item[side] && i < row->item[side]->strata.len && i < 64; i++) {
            const struct lpo_diff_stratum *s = &row->item[side]->strata.at[i];
            struct lpo_record *r = lpo_doc_put_record(list, NULL);

            lpo_doc_put(r, LPO_KV("side", side == LPO_DIFF_A ? "a" : "b"));
            lpo_doc_put(lpo_doc_put_list(r, "grid"), LPO_V(s->grid[0]), LPO_V(s->grid[1]),
                        LPO_V(s->grid[2]));
            lpo_doc_put(lpo_doc_put_list(r, "block"), LPO_V(s->block[0]), LPO_V(s->block[1]),
                        LPO_V(s->block[2]));
            lpo_doc_put(r, LPO_KV("launches", s->count), LPO_KV("gpu_ns", s->ns));
        }
}

static void put_row(struct lpo_record *list, const struct lpo_diff *d,
                    const struct lpo_diff_row *row, enum lpo_diff_table table)
{
    const struct lpo_diff_item *item = row->item[row->item[LPO_DIFF_B] ? LPO_DIFF_B : LPO_DIFF_A];
    struct lpo_record *r = lpo_doc_put_record(list, NULL);

    bool kernel = table == LPO_DIFF_KERNELS, op = table == LPO_DIFF_OPERATORS;

    lpo_doc_put(r, LPO_KV(table == LPO_DIFF_REGIONS ? "path" : "name", item->name),
                LPO_KV_IF(kernel, "class", lpo_region_class_name(item->class)),
                LPO_KV_IF(kernel, "short_name", item->detail),
                LPO_KV_IF(op, "shapes", item->detail), LPO_KV_IF(op, "dtypes", item->linker),
                LPO_KV("kind", lpo_diff_kind_name(row->kind)));
    put_amount(r, "a", d, row, table, LPO_DIFF_A);
    put_amount(r, "b", d, row, table, LPO_DIFF_B);
    lpo_doc_put(r, LPO_KV("delta_ns", row->delta_ns),
                LPO_KV_IF(d->unit, "delta_step_ns", row->delta_step_ns));
    put_verdict(r, &row->verdict);
    lpo_doc_put(r, LPO_KV_IF(kernel && row->group != UINT32_MAX, "group", row->group));
    if (kernel)
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

        lpo_doc_put(list, LPO_V(r->item[r->item[LPO_DIFF_B] ? 1 : 0]->name));
    }
}

static void put_groups(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "groups");

    for (size_t i = 0; i < d->groups.len; i++) {
        const struct lpo_diff_group *g = &d->groups.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL), *side;

        lpo_doc_put(r, LPO_KV("region", g->region), LPO_KV("operator", *g->op ? g->op : NULL),
                    LPO_KV("kind", g->fused ? "fused" : "replaced"));
        side = lpo_doc_put_record(r, "a");
        put_names(side, "kernels", d, g->gone.at, g->gone.len);
        lpo_doc_put(side, LPO_KV("launches", g->gone_launches), LPO_KV("gpu_ns", g->gone_ns));
        side = lpo_doc_put_record(r, "b");
        put_names(side, "kernels", d, g->come.at, g->come.len);
        lpo_doc_put(side, LPO_KV("launches", g->come_launches), LPO_KV("gpu_ns", g->come_ns));
        lpo_doc_put(r, LPO_KV("delta_ns", g->come_ns - g->gone_ns));
    }
}

static void put_findings(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "findings");

    for (size_t i = 0; i < d->findings.len; i++) {
        const struct lpo_diff_finding_row *f = &d->findings.at[i];
        const struct lpo_diff_finding *any = f->side[f->side[LPO_DIFF_B] ? 1 : 0];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("id", lpo_ladder_ids[any->kind]), LPO_KV("where", any->where),
                    LPO_KV("call", *any->call ? any->call : NULL),
                    LPO_KV("kind", !f->side[LPO_DIFF_A]   ? "b only"
                                   : !f->side[LPO_DIFF_B] ? "a only"
                                                          : "both"));
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            lpo_doc_put(r, LPO_KV(side == LPO_DIFF_A ? "a_saving_ns" : "b_saving_ns",
                                  lpo_jv_int_if(f->side[side] != NULL,
                                                f->side[side] ? f->side[side]->saving_ns : 0)));
    }
}

static void put_figures(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "figures");

    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("name", f->key), LPO_KV("a", f->value[LPO_DIFF_A]),
                    LPO_KV("b", f->value[LPO_DIFF_B]));
        put_verdict(r, &f->verdict);
    }
}

static void put_measures(struct lpo_record *to, const struct lpo_diff *d)
{
    struct lpo_record *list = lpo_doc_put_list(to, "measures");

    for (size_t i = 0; i < d->measures.len; i++) {
        const struct lpo_diff_measure_row *m = &d->measures.at[i];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("path", m->path),
                    LPO_KV("name", m->side[LPO_DIFF_A]->name),
                    LPO_KV("unit", *m->side[LPO_DIFF_A]->unit ? m->side[LPO_DIFF_A]->unit : NULL),
                    LPO_KV("a", m->side[LPO_DIFF_A]->value),
                    LPO_KV("b", m->side[LPO_DIFF_B]->value));
    }
}

static void put_runs(struct lpo_record *to, const struct lpo_diff *d)
{
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        struct lpo_record *list = lpo_doc_put_list(to, side == LPO_DIFF_A ? "a" : "b");

        for (size_t i = 0; i < d->side[side].len; i++)
            lpo_doc_put(list, LPO_V(d->side[side].at[i]->label));
    }
}

void lpo_report_diff_put(struct lpo_record *to, const struct lpo_diff *d,
                         const struct lpo_report_diff_options *o)
{
    lpo_doc_put(to, LPO_KV("comparable", d->comparable));
    put_reasons(to, d);
    lpo_doc_put(to, LPO_KV("verdict", lpo_report_diff_verdict(d)), LPO_KV("unsure", d->wall.unsure),
                LPO_KV("sentence", lpo_report_diff_sentence(d->arena, d)),
                LPO_KV("regression", lpo_diff_regression(d)),
                LPO_KV("fail_over", o->fail_over < 0 ? NAN : o->fail_over));
    lpo_report_diff_put_checks(to, o);
    put_runs(lpo_doc_put_record(to, "runs"), d);
    lpo_doc_put(lpo_doc_put_record(to, "length"), LPO_KV("unit", d->unit),
                LPO_KV("inferred", lpo_jv_flag(d->unit && d->work.inferred)),
                LPO_KV("a", d->length[LPO_DIFF_A]), LPO_KV("b", d->length[LPO_DIFF_B]));
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
