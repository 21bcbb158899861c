/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/diff.h"

#include "analysis/diff/private.h"

LPO_NAMES(lpo_diff_kind_name, enum lpo_diff_kind, "same", "changed", "added", "removed");

/* --- figures of speed, memory and energy ---------------------------------------------------- */

static void gather_values(const struct lpo_diff_runs *runs, const char *key, bool logs, double *out,
                          size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < runs->len; i++)
        for (size_t k = 0; k < runs->at[i]->figures.len; k++) {
            const struct lpo_diff_figure *f = &runs->at[i]->figures.at[k];

            for (size_t v = 0; strcmp(f->key, key) == 0 && v < f->values.len; v++) {
                if (out)
                    out[*count] = logs ? log(f->values.at[v]) : f->values.at[v];
                ++*count;
            }
        }
}

bool lpo_diff_more_is_better(const char *key)
{
    static const char *const words[] = { "_per_s",  "throughput", "per_second",
                                         "goodput", "completed",  "mfu" };

    return lpo_any(i, sizeof words / sizeof *words, strstr(key, words[i]));
}

static void compare_figure(struct lpo_diff *d, const char *key)
{
    /* a figure has its own spread alone; one value a side is held to 2 % */
    static const struct lpo_diff_prior prior = { 0.02 * 0.02, 10 };
    struct lpo_diff_figure_row row = { .key = key, .more_is_better = lpo_diff_more_is_better(key) };
    struct lpo_diff_evidence e = { 0 };
    double *values[LPO_DIFF_SIDES] = { NULL, NULL };
    size_t n[LPO_DIFF_SIDES];

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        gather_values(&d->side[side], key, true, NULL, &n[side]);
        values[side] = lpo_xcalloc(n[side] + 1, sizeof **values);
        gather_values(&d->side[side], key, false, values[side], &n[side]);
        row.value[side] = lpo_diff_median(values[side], n[side]);
        gather_values(&d->side[side], key, true, values[side], &n[side]);
    }
    lpo_diff_evidence_add_values(&e, values[0], n[0], values[1], n[1]);
    row.verdict = (struct lpo_diff_verdict){ .p = lpo_diff_p_repeats(&e, &prior),
                                             .change = lpo_diff_evidence_change(&e),
                                             .basis = LPO_DIFF_BY_RUNS,
                                             .low = NAN,
                                             .high = NAN,
                                             .n = { n[0], n[1] } };
    row.verdict.significant =
        row.verdict.p <= LPO_DIFF_LEVEL_ROWS && fabs(row.verdict.change) > LPO_DIFF_LEAST;
    lpo_vec_push(&d->figures, row);
    free(values[0]);
    free(values[1]);
}

static bool has_figure(const struct lpo_diff *d, const char *key)
{
    return lpo_any(i, d->figures.len, strcmp(d->figures.at[i].key, key) == 0);
}

static void compare_figures(struct lpo_diff *d)
{
    for (size_t i = 0; i < d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len; i++) {
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, i);

        for (size_t k = 0; k < g->figures.len; k++)
            if (!has_figure(d, g->figures.at[k].key))
                compare_figure(d, g->figures.at[k].key);
    }
}

const struct lpo_diff_figure_row *lpo_diff_peak(const struct lpo_diff *d)
{
    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];

        if (strcmp(f->key, LPO_DIFF_SNAPSHOT_PEAK) == 0 && f->value[LPO_DIFF_A] > 0 &&
            f->value[LPO_DIFF_B] > 0 && d->wall.unit_ns[LPO_DIFF_A] == 0 &&
            d->wall.unit_ns[LPO_DIFF_B] == 0)
            return f;
    }
    return NULL;
}

/* --- findings ------------------------------------------------------------------------------- */

static const struct lpo_diff_finding *find_in(const struct lpo_diff_digest *g,
                                              const struct lpo_diff_finding *f)
{
    for (size_t i = 0; i < g->findings.len; i++) {
        const struct lpo_diff_finding *x = &g->findings.at[i];

        if (x->kind == f->kind && strcmp(x->where, f->where) == 0 && strcmp(x->call, f->call) == 0)
            return x;
    }
    return NULL;
}

static void add_findings(struct lpo_diff *d, enum lpo_diff_side side, bool both)
{
    const struct lpo_diff_digest *mine = d->shown[side], *other = d->shown[!side];

    for (size_t i = 0; i < mine->findings.len; i++) {
        struct lpo_diff_finding_row row = { { NULL, NULL } };

        row.side[side] = &mine->findings.at[i];
        row.side[!side] = find_in(other, &mine->findings.at[i]);
        if ((row.side[!side] != NULL) == both)
            lpo_vec_push(&d->findings, row);
    }
}

static void compare_findings(struct lpo_diff *d)
{
    add_findings(d, LPO_DIFF_B, false);
    add_findings(d, LPO_DIFF_A, false);
    add_findings(d, LPO_DIFF_B, true);
}

/* --- counters and limits -------------------------------------------------------------------- */

static const char *measure_key(struct lpo_diff *d, const struct lpo_diff_digest *g,
                               const struct lpo_diff_measure *m)
{
    return lpo_arena_printf(d->arena, "%s %s %s",
                            m->region == UINT32_MAX ? ""
                                                    : g->items[LPO_DIFF_REGIONS].at[m->region].key,
                            m->name, m->unit);
}

static int by_weight(const void *a, const void *b)
{
    const struct lpo_diff_measure_row *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (strcmp(x->path, y->path) != 0)
        return strcmp(x->path, y->path);
    return strcmp(x->side[LPO_DIFF_A]->name, y->side[LPO_DIFF_A]->name);
}

static void compare_measures(struct lpo_diff *d)
{
    const struct lpo_diff_digest *a = d->shown[LPO_DIFF_A], *b = d->shown[LPO_DIFF_B];
    LPO_AUTO(lpo_map) of_a = lpo_map_create();

    for (size_t i = 0; i < a->measures.len; i++) {
        const char *key = measure_key(d, a, &a->measures.at[i]);

        *lpo_map_put(of_a, key, strlen(key), NULL) = i + 1;
    }
    for (size_t i = 0; i < b->measures.len; i++) {
        const struct lpo_diff_measure *m = &b->measures.at[i];
        int64_t ns =
            m->region == UINT32_MAX ? b->gpu_ns : b->items[LPO_DIFF_REGIONS].at[m->region].ns;
        const char *key = measure_key(d, b, m);
        const uint64_t *at = lpo_map_find(of_a, key, strlen(key));

        if (at)
            lpo_vec_push(&d->measures,
                         (struct lpo_diff_measure_row){ { &a->measures.at[*at - 1], m },
                                                        lpo_diff_measure_path(b, m),
                                                        (double)ns });
    }
    lpo_vec_sort(&d->measures, by_weight);
}

/* --- all ------------------------------------------------------------------------------------ */

struct lpo_diff *lpo_diff_create(struct lpo_diff_runs a, struct lpo_diff_runs b)
{
    struct lpo_diff *d = lpo_xcalloc(1, sizeof *d);

    d->arena = lpo_arena_create();
    d->side[LPO_DIFF_A] = a;
    d->side[LPO_DIFF_B] = b;
    d->by_host = true;
    for (size_t i = 0; i < a.len + b.len; i++)
        d->by_host &= lpo_diff_run_at(d, i)->launches == 0;
    lpo_diff_match(d);
    lpo_diff_compare_facts(d);
    lpo_diff_compare_lengths(d);
    lpo_diff_compare_rows(d);
    lpo_diff_compare_wall(d);
    lpo_diff_judge(d);
    lpo_diff_compare_groups(d);
    compare_figures(d);
    compare_findings(d);
    lpo_diff_find_causes(d);
    lpo_diff_judge_causes(d);
    compare_measures(d);
    return d;
}

void lpo_diff_destroy(struct lpo_diff *d)
{
    if (!d)
        return;
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        lpo_vec_free(&d->rows[t]);
    for (size_t i = 0; i < d->groups.len; i++) {
        lpo_vec_free(&d->groups.at[i].gone);
        lpo_vec_free(&d->groups.at[i].come);
    }
    lpo_vec_free(&d->groups);
    lpo_vec_free(&d->causes);
    lpo_vec_free(&d->differences);
    lpo_vec_free(&d->figures);
    lpo_vec_free(&d->findings);
    lpo_vec_free(&d->measures);
    lpo_arena_destroy(d->arena);
    free(d);
}
