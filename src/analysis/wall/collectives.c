/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/collectives.h"

#include <ctype.h>

#include "analysis/wall/computing.h"
#include "analysis/wall/private.h"
#include "reference/reference.h"
#include "region/tree.h"

/* How the bytes of a message become bytes on the busiest link, of n ranks. */
enum traffic { ONCE, RING, TWICE_RING };

/* The first word that is in the text decides, so a longer one stands before its part. */
static const struct kind {
    const char *word, *name;
    enum traffic traffic;
    bool received;        /* the message is what a rank receives */
    const char *measured; /* its name in a reference; NULL: it is in none */
} kinds[] = {
    { "allreduce", "all-reduce", TWICE_RING, false, "all_reduce" },
    { "reducescatter", "reduce-scatter", RING, false, "reduce_scatter" },
    { "allgather", "all-gather", RING, true, "all_gather" },
    { "alltoall", "all-to-all", RING, false, "alltoall" },
    { "sendrecv", "send/receive", ONCE, false },
    { "broadcast", "broadcast", ONCE, false },
    { "crossdevicereduce", "all-reduce", TWICE_RING, false },
    { "barrier", "barrier", ONCE, false },
    { "gather", "gather", ONCE, true },
    { "scatter", "scatter", ONCE, false },
    { "reduce", "reduce", ONCE, false },
    { "send", "send/receive", ONCE, false },
    { "recv", "send/receive", ONCE, true },
    { NULL, "other", ONCE, false },
};

enum { LONGEST_NAME = 256 };

static const struct kind *kind_of(const char *text)
{
    char plain[LONGEST_NAME + 1];
    const struct kind *k = kinds;
    size_t n = 0;

    for (size_t i = 0; text[i] && n < LONGEST_NAME; i++)
        if (text[i] != '_' && text[i] != '-' && text[i] != ' ')
            plain[n++] = (char)tolower((unsigned char)text[i]);
    plain[n] = '\0';
    while (k->word && !strstr(plain, k->word))
        k++;
    return k;
}

const char *lpo_wall_collective_kind(const char *text)
{
    return kind_of(text)->name;
}

bool lpo_wall_collective_best(const struct lpo_reference *r, const char *kind, uint32_t ranks,
                              struct lpo_measure bytes, struct lpo_reference_answer *out)
{
    struct lpo_reference_work w = { LPO_REF_NCCL, .ranks = ranks, .bytes = bytes.value };
    const struct kind *k = kinds;

    while (k->word && strcmp(k->name, kind) != 0)
        k++;
    w.collective = k->measured;
    return r && w.collective && ranks > 1 && lpo_measure_known(bytes) &&
           lpo_reference_best(r, &w, out) && out->inside;
}

/* --- what hides behind what: each moment in which a collective runs beside computing kernels of
 * its GPU belongs to one of them, the one that began first --- */

/* Pieces that all collectives together may be compared with; a real trace stays far below. */
enum { MOST_STEPS = 1 << 26 };

/* A time that belongs to one computing kernel; pieces do not overlap and stand in order. */
struct piece {
    int64_t start_ns, end_ns;
    uint32_t op;
};

struct hiding {
    const struct lpo_region_tree *tree;
    LPO_VEC(struct piece) pieces;
    int64_t covered_to;
    struct lpo_map *rows;
    struct lpo_wall_hiding out;
    uint64_t steps;
};

static struct hiding *hiding_begin(const struct lpo_region_tree *tree)
{
    struct hiding *b = lpo_xcalloc(1, sizeof *b);

    b->tree = tree;
    b->rows = lpo_map_create();
    b->covered_to = INT64_MIN;
    return b;
}

static void hiding_device(struct hiding *b)
{
    b->pieces.len = 0;
    b->covered_to = INT64_MIN;
}

static void hiding_compute(struct hiding *b, uint32_t op)
{
    const struct lpo_gpu_op *w = &b->tree->trace->gpu_ops.at[op];
    int64_t start = w->start_ns > b->covered_to ? w->start_ns : b->covered_to;

    if (w->end_ns <= start)
        return; /* all of it belongs to others */
    lpo_vec_push(&b->pieces, (struct piece){ start, w->end_ns, op });
    b->covered_to = w->end_ns;
}

/* The first piece that ends behind `ns`. */
static size_t first_piece_after(const struct hiding *b, int64_t ns)
{
    size_t low = 0, high = b->pieces.len;

    lpo_search(low, high, middle, b->pieces.at[middle].end_ns <= ns);
    return low;
}

static void add_hidden(struct hiding *b, const char *kind, uint32_t op, int64_t ns)
{
    const struct lpo_gpu_op *w = &b->tree->trace->gpu_ops.at[op];
    uint32_t region = b->tree->places.at[lpo_region_place(b->tree, w)].leaf;
    uint32_t forward = b->tree->links.at[lpo_region_links_of(b->tree, w)].forward;
    bool backward = region == LPO_NONE && forward != LPO_NONE;
    uintptr_t key[4] = { (uintptr_t)kind, w->name, backward ? forward : region, backward };
    bool fresh;
    uint64_t *row = lpo_map_put(b->rows, (const char *)key, sizeof key, &fresh);

    if (fresh) {
        *row = b->out.rows.len;
        lpo_vec_push(&b->out.rows,
                     (struct lpo_wall_hiding_row){ .kind = kind,
                                                   .kernel = w->name,
                                                   .region = backward ? forward : region,
                                                   .backward = backward });
    }
    b->out.rows.at[*row].ns += ns;
    b->out.rows.at[*row].overlaps++;
}

static void hiding_collective(struct hiding *b, uint32_t op, const char *kind)
{
    const struct lpo_gpu_op *c = &b->tree->trace->gpu_ops.at[op];

    if (c->flags & LPO_GPU_OP_SHARE) /* when it ran inside its graph is not known */
        return;
    if (b->steps > MOST_STEPS) {
        b->out.left_out++;
        return;
    }
    for (size_t i = first_piece_after(b, c->start_ns);
         i < b->pieces.len && b->pieces.at[i].start_ns < c->end_ns; i++) {
        const struct piece *p = &b->pieces.at[i];
        int64_t from = p->start_ns > c->start_ns ? p->start_ns : c->start_ns;
        int64_t to = p->end_ns < c->end_ns ? p->end_ns : c->end_ns;

        b->steps++;
        if (to > from)
            add_hidden(b, kind, p->op, to - from);
    }
}

static int most_hidden_first(const void *x, const void *y)
{
    const struct lpo_wall_hiding_row *a = x, *b = y;
    int kind = strcmp(a->kind, b->kind);

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (kind)
        return kind;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return (int)a->backward - (int)b->backward;
}

static void hiding_end(struct hiding *b, struct lpo_wall_hiding *out)
{
    *out = b->out;
    lpo_vec_sort(&out->rows, most_hidden_first);
    lpo_vec_free(&b->pieces);
    lpo_map_destroy(b->rows);
    free(b);
}

/* --- rows of collectives --- */

struct builder {
    const struct lpo_trace *t;
    struct lpo_wall_collectives *out;
    const struct lpo_region_tree *tree;
    struct hiding *hiding;
    const struct kind **by_name; /* per name of the trace; NULL: not looked up yet */
    struct lpo_map *rows;
};

static const struct kind *kind_of_name(struct builder *b, uint32_t name)
{
    if (!b->by_name[name])
        b->by_name[name] = kind_of(lpo_trace_text(b->t, name));
    return b->by_name[name];
}

static int by_op(const void *key, const void *row)
{
    uint32_t op = *(const uint32_t *)key, at = ((const struct lpo_collective *)row)->op;

    return op < at ? -1 : op > at;
}

const struct lpo_collective *lpo_wall_collective_said(const struct lpo_trace *t, uint32_t op)
{
    return t->collectives.len ? bsearch(&op, t->collectives.at, t->collectives.len,
                                        sizeof *t->collectives.at, by_op)
                              : NULL;
}

static struct lpo_measure message(const struct lpo_trace *t, const struct lpo_collective *c,
                                  const struct kind *k)
{
    int64_t count = k->received ? c->out_count : c->in_count;
    double each =
        c->dtype == LPO_NONE ? 0 : lpo_dtype_bytes(lpo_dtype_parse(lpo_trace_text(t, c->dtype)));

    if (count == LPO_NO_TIME || each <= 0)
        return lpo_measure_unknown();
    return lpo_measure_measured((double)count * each);
}

struct lpo_measure lpo_wall_collective_bytes(const struct lpo_trace *t,
                                             const struct lpo_collective *said)
{
    return said ? message(t, said, kind_of(lpo_trace_text(t, said->kind))) : lpo_measure_unknown();
}

/* What makes two collectives the same line. Zeroed, because it is compared as bytes. */
struct key {
    const struct kind *kind;
    double bytes;
    uint64_t ranks; /* above all: is the size known? */
    uint64_t dtype, group;
};

static const uint64_t size_known = (uint64_t)1 << 63;

/* `said` may be NULL. */
static struct lpo_collective_row *row_of(struct builder *b, const struct kind *kind,
                                         struct lpo_measure bytes,
                                         const struct lpo_collective *said)
{
    bool known = lpo_measure_known(bytes), fresh;
    uint32_t ranks = said ? said->ranks : 0, dtype = said ? said->dtype : LPO_NONE;
    uint32_t group = said ? said->group : LPO_NONE;
    struct key key = { kind, known ? bytes.value : 0, ranks | (known ? size_known : 0), dtype,
                       group };
    uint64_t *row = lpo_map_put(b->rows, (const char *)&key, sizeof key, &fresh);

    if (fresh) {
        *row = b->out->rows.len;
        lpo_vec_push(&b->out->rows,
                     (struct lpo_collective_row){ .kind = kind->name,
                                                  .bytes = bytes,
                                                  .ranks = ranks,
                                                  .dtype = dtype,
                                                  .group = group,
                                                  .min_ns = INT64_MAX,
                                                  .rate = lpo_measure_unknown(),
                                                  .bus_rate = lpo_measure_unknown(),
                                                  .best_bus_rate = lpo_measure_unknown() });
    }
    return &b->out->rows.at[*row];
}

static void add_collective(struct builder *b, uint32_t op, const struct lpo_wall_computing *c)
{
    const struct lpo_trace *t = b->t;
    const struct lpo_gpu_op *w = &t->gpu_ops.at[op];
    const struct lpo_collective *said = lpo_wall_collective_said(t, op);
    const struct kind *kind = kind_of_name(b, said ? said->kind : w->name);
    struct lpo_measure bytes = said ? message(t, said, kind) : lpo_measure_unknown();
    struct lpo_collective_row *r = row_of(b, kind, bytes, said);
    int64_t ns = lpo_trace_gpu_op_ns(w);

    r->calls++;
    r->ns += ns;
    r->min_ns = ns < r->min_ns ? ns : r->min_ns;
    r->max_ns = ns > r->max_ns ? ns : r->max_ns;
    r->exposed_ns +=
        ns - (lpo_wall_computed_before(c, w->end_ns) - lpo_wall_computed_before(c, w->start_ns));
    r->exposed_unknown |= (w->flags & LPO_GPU_OP_SHARE) != 0;
    hiding_collective(b->hiding, op, kind->name);
}

/* rows[0, count) are the operations of one device in order. */
static void add_device(struct builder *b, const uint32_t *rows, size_t count)
{
    struct lpo_wall_computing c = { 0 };

    hiding_device(b->hiding);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[rows[i]];

        if (op->kind == LPO_KERNEL && !lpo_wall_communicates(b->tree, op->name)) {
            lpo_wall_computing_add(&c, op);
            hiding_compute(b->hiding, rows[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[rows[i]];

        if (op->kind == LPO_KERNEL && lpo_wall_communicates(b->tree, op->name))
            add_collective(b, rows[i], &c);
    }
    lpo_wall_computing_free(&c);
}

double lpo_wall_collective_traffic(const char *kind, uint32_t ranks)
{
    static const double times[] = { [ONCE] = 0, [RING] = 1, [TWICE_RING] = 2 };
    const struct kind *k = kind_of(kind);
    double n = ranks;

    return k->traffic == ONCE ? 1 : times[k->traffic] * (n - 1) / n;
}

static void put_rate(struct lpo_collective_row *r)
{
    const struct kind *k = kind_of(r->kind);
    double factor = lpo_wall_collective_traffic(r->kind, r->ranks);

    if (lpo_measure_known(r->bytes) && r->bytes.value > 0 && r->ns > 0 && k->word)
        r->rate = lpo_measure_measured(r->bytes.value * (double)r->calls / ((double)r->ns * 1e-9));
    if (lpo_measure_known(r->bytes) && r->bytes.value > 0 && r->ranks > 1 && r->ns > 0 && k->word)
        r->bus_rate = lpo_measure_measured(r->bytes.value * (double)r->calls * factor /
                                           ((double)r->ns * 1e-9));
    if (lpo_measure_known(r->bus_rate) && r->min_ns > 0)
        r->best_bus_rate =
            lpo_measure_measured(r->bytes.value * factor / ((double)r->min_ns * 1e-9));
}

static int by_time(const void *x, const void *y)
{
    const struct lpo_collective_row *a = x, *b = y;
    int kind = strcmp(a->kind, b->kind);

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return kind ? kind : a->calls > b->calls ? -1 : a->calls < b->calls;
}

struct lpo_wall_collectives *lpo_wall_collectives_create(const struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_wall_order order = lpo_wall_order_find(t);
    struct builder b = {
        .t = t, .tree = tree, .out = lpo_xcalloc(1, sizeof *b.out), .rows = lpo_map_create()
    };

    b.hiding = hiding_begin(tree);
    b.by_name = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *b.by_name);
    for (size_t i = 0; i < order.count;) {
        size_t end = lpo_wall_order_device(&order, t, i);

        add_device(&b, order.rows + i, end - i);
        i = end;
    }
    for (size_t i = 0; i < b.out->rows.len; i++)
        put_rate(&b.out->rows.at[i]);
    lpo_vec_sort(&b.out->rows, by_time);
    hiding_end(b.hiding, &b.out->hiding);
    lpo_wall_order_free(&order);
    lpo_map_destroy(b.rows);
    free(b.by_name);
    return b.out;
}

void lpo_wall_collectives_destroy(struct lpo_wall_collectives *c)
{
    if (!c)
        return;
    lpo_vec_free(&c->rows);
    lpo_vec_free(&c->hiding.rows);
    free(c);
}
