/* SPDX-License-Identifier: Apache-2.0 */
/* Which collectives belong together. */

#include "analysis/ranks/private.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/private.h"
#include "region/tree.h"
#include "trace/host.h"

/* Kinds whose kernels end at different moments on different ranks: a sender need not wait. */
static const char *const alone[] = { "broadcast", "reduce", "send/receive", "gather", "scatter" };

static bool is_together(const char *kind)
{
    return !lpo_any(i, sizeof alone / sizeof *alone, strcmp(kind, alone[i]) == 0);
}

LPO_COMPARE(by_number, int64_t, LPO_UP_OF(*a, *b));

int64_t lpo_ranks_median(int64_t *values, size_t count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, by_number);
    return values[count / 2];
}

static int by_rank(const void *x, const void *y)
{
    int32_t a = ((const struct lpo_rank_row *)x)->rank, b = ((const struct lpo_rank_row *)y)->rank;

    return a < b ? -1 : a > b;
}

/* A row for each rank; the row of each device, LPO_NONE for one without a rank. */
static uint32_t *add_rows(const struct lpo_trace *t, struct lpo_ranks *r)
{
    uint32_t *rows = lpo_xrealloc(NULL, t->devices.len + 1, sizeof *rows);
    LPO_AUTO(lpo_map_u64) seen = lpo_map_u64_create(0);
    bool fresh;

    for (size_t i = 0; i < t->devices.len; i++)
        if (t->devices.at[i].rank >= 0) {
            lpo_map_u64_put(seen, (uint64_t)t->devices.at[i].rank, &fresh);
            if (fresh)
                lpo_vec_push(&r->rows, (struct lpo_rank_row){ .rank = t->devices.at[i].rank });
        }
    lpo_vec_sort(&r->rows, by_rank);
    for (size_t i = 0; i < r->rows.len; i++)
        *lpo_map_u64_put(seen, (uint64_t)r->rows.at[i].rank, NULL) = (uint32_t)i;
    for (size_t i = 0; i < t->devices.len; i++)
        rows[i] = t->devices.at[i].rank < 0
                      ? LPO_NONE
                      : *lpo_map_u64_find(seen, (uint64_t)t->devices.at[i].rank);
    return rows;
}

/* Zeroed, because it is compared as bytes. */
struct key {
    uint64_t kind_or_name, dtype, group, members, ranks;
    int64_t in, out;
    int64_t from, to; /* ranks of a send; LPO_NO_TIME: not said */
};

struct matcher {
    const struct lpo_trace *t;
    ranks_families *out;
    struct lpo_map *families;
    struct lpo_map_pair series;  /* (family, rank) */
    LPO_VEC(uint32_t) series_at; /* its place in the family */
    const char **kinds;          /* by name; NULL: not looked up yet */
};

static const char *kind_of(struct matcher *m, uint32_t name)
{
    if (!m->kinds[name])
        m->kinds[name] = lpo_wall_collective_kind(lpo_trace_text(m->t, name));
    return m->kinds[name];
}

/* What is equal on all ranks of one collective. In an all-to-all each rank has a size of its own; a
 * send of one rank is a receive of another. */
static struct key key_of(const struct matcher *m, const char *kind, const struct lpo_gpu_op *op,
                         const struct lpo_collective *said)
{
    struct key key = { op->name, LPO_NONE, LPO_NONE, LPO_NONE, 0, 0, 0, LPO_NO_TIME, LPO_NO_TIME };
    int64_t own = m->t->devices.at[op->device].rank;
    struct lpo_slice s;

    if (!said) { /* "nccl:all_to_all" is a range; groups have a stream each */
        key.ranks = op->stream;
        if (lpo_host_around(m->t, op->launch, LPO_HOST_RANGE, &s) && s.name != LPO_NONE &&
            lpo_str_starts(lpo_trace_text(m->t, s.name), "nccl:"))
            key.group = s.name;
        return key;
    }
    key.kind_or_name = said->kind;
    key.dtype = said->dtype;
    key.group = said->group;
    key.members = said->members;
    key.ranks = said->ranks;
    key.in = said->in_count;
    key.out = said->out_count;
    if (strcmp(kind, "all-to-all") == 0)
        key.in = key.out = 0;
    if (strcmp(kind, "send/receive") == 0 && said->peer != LPO_NO_TIME) {
        bool sends = strcasestr(lpo_trace_text(m->t, said->kind), "send") != NULL;

        key.kind_or_name = LPO_NONE;
        key.from = sends ? own : said->peer;
        key.to = sends ? said->peer : own;
    }
    return key;
}

static struct ranks_family *family_of(struct matcher *m, const struct lpo_gpu_op *op,
                                      const struct lpo_collective *said)
{
    const char *kind = kind_of(m, said ? said->kind : op->name);
    struct key key = key_of(m, kind, op, said);
    bool fresh;
    uint64_t *at = lpo_map_put(m->families, (const char *)&key, sizeof key, &fresh);

    if (fresh) {
        *at = m->out->len;
        lpo_vec_push(m->out, (struct ranks_family){
                                 .kind = kind,
                                 .together = is_together(kind),
                                 .guessed = !said,
                                 .bytes = lpo_wall_collective_bytes(m->t, said),
                                 .group_ranks = said ? said->ranks : 0,
                             });
    } else if (said && !key.in && !key.out && lpo_measure_known(m->out->at[*at].bytes)) {
        struct lpo_measure bytes = lpo_wall_collective_bytes(m->t, said);

        if (!lpo_measure_known(bytes) || bytes.value != m->out->at[*at].bytes.value)
            m->out->at[*at].bytes = lpo_measure_unknown(); /* one size for all there is not */
    }
    return &m->out->at[*at];
}

/* Sends are counted by each rank for itself. */
static int64_t number_of(const struct ranks_family *f, const struct lpo_collective *said)
{
    return said && strcmp(f->kind, "send/receive") != 0 ? said->number : LPO_NO_TIME;
}

static void add_event(struct matcher *m, uint32_t rank, uint32_t row)
{
    const struct lpo_gpu_op *op = &m->t->gpu_ops.at[row];
    const struct lpo_collective *said = lpo_wall_collective_said(m->t, row);
    struct ranks_family *f = family_of(m, op, said);
    bool fresh;
    uint32_t n = lpo_map_pair_put(&m->series, (uint64_t)(f - m->out->at), rank, &fresh);

    if (fresh) {
        lpo_vec_push(&m->series_at, (uint32_t)f->series.len);
        lpo_vec_push(&f->series, (struct ranks_series){ .rank = rank });
    }
    lpo_vec_push(
        &f->series.at[m->series_at.at[n]].events,
        (struct ranks_event){ op->start_ns, op->end_ns, number_of(f, said), row, LPO_NONE });
}

LPO_COMPARE(by_end, struct ranks_event, LPO_UP(end_ns) ?: LPO_UP(op));

static int by_series_rank(const void *x, const void *y)
{
    uint32_t a = ((const struct ranks_series *)x)->rank, b = ((const struct ranks_series *)y)->rank;

    return a < b ? -1 : a > b;
}

void lpo_ranks_families(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                        ranks_families *out)
{
    const struct lpo_trace *t = tree->trace;
    struct matcher m = { .t = t, .out = out, .families = lpo_map_create() };
    LPO_FREED uint32_t *rows = add_rows(t, r);

    m.kinds = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *m.kinds);
    for (size_t i = 0; r->rows.len > 1 && i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->kind != LPO_KERNEL || rows[op->device] == LPO_NONE ||
            (op->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH | LPO_GPU_OP_SHARE)) ||
            !lpo_wall_communicates(tree, op->name))
            continue;
        r->rows.at[rows[op->device]].collectives++;
        add_event(&m, rows[op->device], (uint32_t)i);
    }
    for (size_t i = 0; i < out->len; i++) {
        struct ranks_family *f = &out->at[i];

        lpo_vec_sort(&f->series, by_series_rank);
        for (size_t k = 0; k < f->series.len; k++)
            lpo_vec_sort(&f->series.at[k].events, by_end);
    }
    free(m.kinds);
    lpo_vec_free(&m.series_at);
    lpo_map_pair_free(&m.series);
    lpo_map_destroy(m.families);
}

void lpo_ranks_families_free(ranks_families *f)
{
    for (size_t i = 0; i < f->len; i++) {
        for (size_t k = 0; k < f->at[i].series.len; k++)
            lpo_vec_free(&f->at[i].series.at[k].events);
        lpo_vec_free(&f->at[i].series);
    }
    lpo_vec_free(f);
}
