/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/balance.h"

#include "analysis/numbers/numbers.h"
#include "analysis/wall/collectives.h"
#include "region/scope.h"

/* One number, on the clock of its rank. */
struct call {
    int64_t at_ns;
    double value;
};

/* Of one row on one rank. */
struct share {
    uint32_t row;
    int32_t rank;
    uint64_t count;
    double sum;
    bool summed; /* the source has no single calls */
    LPO_VEC(struct call) calls;
};

struct key { /* zeroed, because it is compared as bytes */
    uint64_t kind, node, name, group;
};

struct balance {
    const struct lpo_region_tree *tree;
    struct lpo_ranks_balance *out;
    struct lpo_map *rows;
    struct lpo_map_pair pairs; /* (row, rank) */
    LPO_VEC(struct share) shares;
};

static void add(struct balance *b, const struct key *key, int32_t rank, const struct call *call,
                uint64_t count)
{
    bool fresh;
    uint64_t *row = lpo_map_put(b->rows, (const char *)key, sizeof *key, &fresh);
    struct share *s;
    uint32_t at;

    if (fresh) {
        *row = b->out->rows.len;
        lpo_vec_push(&b->out->rows,
                     (struct lpo_rank_balance){ .kind = (enum lpo_rank_balance_kind)key->kind,
                                                .node = (uint32_t)key->node,
                                                .name = (uint32_t)key->name,
                                                .group = (uint32_t)key->group });
    }
    at = lpo_map_pair_put(&b->pairs, *row, (uint64_t)rank, &fresh);
    if (fresh)
        lpo_vec_push(&b->shares, (struct share){ .row = (uint32_t)*row, .rank = rank });
    s = &b->shares.at[at];
    s->sum += call->value;
    s->count += count;
    s->summed |= count != 1;
    if (count == 1)
        lpo_vec_push(&s->calls, *call);
}

static void add_numbers(struct balance *b)
{
    const struct lpo_trace *t = b->tree->trace;

    for (size_t i = 0; i < t->numbers.len; i++) {
        const struct lpo_number *n = &t->numbers.at[i];
        const struct lpo_capture *c = n->capture == LPO_NONE ? NULL : &t->captures.at[n->capture];
        uint32_t place = c ? b->tree->capture_place[n->capture] : LPO_NONE;
        struct key key = { LPO_BALANCE_NUMBER, LPO_NODE_OUTSIDE, n->name, LPO_NONE };
        int32_t rank;

        if (!c || c->thread == LPO_NONE)
            continue; /* whose it is, is not known */
        rank = t->processes.at[t->threads.at[c->thread].process].rank;
        if (place != LPO_NONE && b->tree->places.at[place].leaf != LPO_NONE)
            key.node = b->tree->places.at[place].leaf;
        if (rank >= 0)
            add(b, &key, rank, &(struct call){ c->ns, n->sum }, n->count);
    }
}

static void add_all_to_alls(struct balance *b)
{
    const struct lpo_trace *t = b->tree->trace;
    uint32_t last = LPO_NONE;
    bool wanted = false;

    for (size_t i = 0; i < t->collectives.len; i++) {
        const struct lpo_collective *c = &t->collectives.at[i];
        const struct lpo_gpu_op *op = &t->gpu_ops.at[c->op];
        int32_t rank = t->devices.at[op->device].rank;
        uint32_t group = c->members != LPO_NONE ? c->members : c->group;

        if (c->kind != last)
            wanted =
                strcmp(lpo_wall_collective_kind(lpo_trace_text(t, c->kind)), "all-to-all") == 0;
        last = c->kind;
        if (!wanted || rank < 0)
            continue;
        for (int sent = 0; sent < 2; sent++) {
            int64_t count = sent ? c->in_count : c->out_count;
            struct key key = { sent ? LPO_BALANCE_SENT : LPO_BALANCE_RECEIVED, LPO_NONE, LPO_NONE,
                               group };

            if (count != LPO_NO_TIME)
                add(b, &key, rank, &(struct call){ op->start_ns, (double)count }, 1);
        }
    }
}

LPO_COMPARE(by_row, struct share, LPO_UP(row) ?: LPO_UP(rank));

static int by_time(const void *x, const void *y)
{
    int64_t a = ((const struct call *)x)->at_ns, b = ((const struct call *)y)->at_ns;

    return a < b ? -1 : a > b;
}

/* The largest of each call, summed, over the sum of the means. */
static struct lpo_measure call_ratio(struct share *s, size_t ranks)
{
    double most = 0, mean = 0;

    for (size_t k = 0; k < ranks; k++)
        if (s[k].summed || s[k].count != s[0].count)
            return lpo_measure_unknown();
        else
            lpo_vec_sort(&s[k].calls, by_time);
    for (size_t i = 0; i < s[0].calls.len; i++) {
        double largest = s[0].calls.at[i].value;

        for (size_t k = 0; k < ranks; k++) {
            double v = s[k].calls.at[i].value;

            largest = v > largest ? v : largest;
            mean += v;
        }
        most += largest;
    }
    return mean > 0 ? lpo_measure_computed(most * (double)ranks / mean) : lpo_measure_unknown();
}

static void judge(struct lpo_rank_balance *r, struct share *s, size_t ranks)
{
    r->ranks = (uint32_t)ranks;
    for (size_t k = 0; k < ranks; k++) {
        r->per_call |= s[k].count != s[0].count;
        r->calls = s[k].count > r->calls ? s[k].count : r->calls;
    }
    for (size_t k = 0; k < ranks; k++) {
        double v = r->per_call ? s[k].sum / (double)s[k].count : s[k].sum;

        r->mean += v;
        if (!k || v > r->most) {
            r->most = v;
            r->most_rank = s[k].rank;
        }
        if (!k || v < r->least) {
            r->least = v;
            r->least_rank = s[k].rank;
        }
    }
    r->mean /= (double)ranks;
    r->ratio = r->mean > 0 ? r->most / r->mean : 0;
    r->call_ratio = call_ratio(s, ranks);
}

LPO_COMPARE(largest_first, struct lpo_rank_balance, LPO_DOWN(ratio) ?: LPO_UP(kind) ?: LPO_UP(node) ?: LPO_UP(name) ?: LPO_UP(group));

/* Rows of one rank alone, of nothing and of numbers below 0 say nothing about balance. */
static void keep_rows(struct balance *b)
{
    size_t kept = 0;

    lpo_vec_sort(&b->shares, by_row);
    for (size_t i = 0; i < b->shares.len;) {
        struct lpo_rank_balance *r = &b->out->rows.at[b->shares.at[i].row];
        size_t end = i;

        while (end < b->shares.len && b->shares.at[end].row == b->shares.at[i].row)
            end++;
        judge(r, &b->shares.at[i], end - i);
        i = end;
    }
    for (size_t i = 0; i < b->out->rows.len; i++)
        if (b->out->rows.at[i].ranks > 1 && b->out->rows.at[i].mean > 0 &&
            b->out->rows.at[i].least >= 0)
            b->out->rows.at[kept++] = b->out->rows.at[i];
    b->out->rows.len = kept;
    if (kept)
        qsort(b->out->rows.at, kept, sizeof *b->out->rows.at, largest_first);
}

struct lpo_ranks_balance *lpo_ranks_balance_create(const struct lpo_region_tree *tree)
{
    LPO_AUTO(lpo_ranks_balance) out = lpo_xcalloc(1, sizeof *out);
    struct balance b = { .tree = tree, .out = out, .rows = lpo_map_create() };
    struct lpo_ranks_balance *done = NULL;

    add_numbers(&b);
    add_all_to_alls(&b);
    keep_rows(&b);
    for (size_t i = 0; i < b.shares.len; i++)
        lpo_vec_free(&b.shares.at[i].calls);
    lpo_vec_free(&b.shares);
    lpo_map_pair_free(&b.pairs);
    lpo_map_destroy(b.rows);
    if (!out->rows.len)
        return NULL;
    done = out;
    out = NULL;
    return done;
}

void lpo_ranks_balance_destroy(struct lpo_ranks_balance *b)
{
    if (!b)
        return;
    lpo_vec_free(&b->rows);
    free(b);
}
