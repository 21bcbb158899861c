/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks for the flame graph, and the slices of the host for the timeline. Both name frames of one
 * list. What is too small for a page is folded: of stacks into the node around it, of the timeline
 * with a count that the page shows. */

#include "analysis/stacks/stacks.h"
#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "trace/host.h"
#include "util/pack.h"

/* At most some eight bytes each in the page; names are a megabyte at most. */
enum { MOST_NODES = 40000, MOST_SLICES = 160000, MOST_THREADS = 24, MOST_NAME_BYTES = 1 << 20 };

/* The list of frames: a kind, a name, and of a kernel its row where the page has kernels. */
struct frames {
    const struct lpo_page_detail *d;
    struct lpo_record *list;
    struct lpo_map_pair map;
    size_t bytes;
    bool copied; /* the trace goes before the document */
};

static void put_frame_name(const struct frames *f, struct lpo_record *r,
                           const struct lpo_stack_node *n)
{
    size_t len;
    const char *text = lpo_stacks_text(f->d->analysis->tree, n, &len);

    if (n->kind == LPO_STACK_KERNEL && n->name != LPO_NONE) {
        text = lpo_region_cells_short_name(f->d->analysis->cells, n->name);
        len = strlen(text);
    }
    len = f->bytes + len > MOST_NAME_BYTES ? 0 : len;
    lpo_doc_put(r, LPO_KV("name", f->copied ? lpo_jv_textn(text, len) : lpo_jv_name(text, len)));
}

static uint32_t frame_of(struct frames *f, const struct lpo_stack_node *n)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&f->map, n->kind, n->name, &fresh);
    struct lpo_record *r;
    size_t len;

    if (!fresh)
        return row;
    r = lpo_doc_put_record(f->list, NULL);
    lpo_doc_put(r, LPO_KV("kind", lpo_stacks_kind_name((enum lpo_stack_kind)n->kind)));
    put_frame_name(f, r, n);
    lpo_stacks_text(f->d->analysis->tree, n, &len);
    f->bytes += len;
    if (n->kind >= LPO_STACK_KERNEL && n->kind <= LPO_STACK_MEMSET && n->name != LPO_NONE &&
        f->d->kernels.rows && f->d->kernels.rows[n->name] != LPO_NONE)
        lpo_doc_put(r, LPO_KV("kernel", f->d->kernels.rows[n->name]));
    return row;
}

/* --- stacks --------------------------------------------------------------------------------- */

struct pruning {
    int64_t (*total)[LPO_STACK_WEIGHTS]; /* per node, with what lies below it */
    double *share;                       /* per node: its largest share of a weight */
    uint32_t *row;                       /* per node: where it went */
};

static void find_shares(const struct lpo_stacks *s, struct pruning *p)
{
    int64_t all[LPO_STACK_WEIGHTS] = { 0 };

    for (size_t i = s->nodes.len; i-- > 0;) {
        const struct lpo_stack_node *n = &s->nodes.at[i];

        for (int w = 0; w < LPO_STACK_WEIGHTS; w++) {
            p->total[i][w] += n->own[w];
            *(n->parent == LPO_NONE ? &all[w] : &p->total[n->parent][w]) += p->total[i][w];
        }
    }
    for (size_t i = 0; i < s->nodes.len; i++) {
        p->share[i] = s->nodes.at[i].parent == LPO_NONE; /* the sums stay exact */
        for (int w = 0; w < LPO_STACK_WEIGHTS; w++) {
            double share = all[w] > 0 ? (double)p->total[i][w] / (double)all[w] : 0;

            p->share[i] = share > p->share[i] ? share : p->share[i];
        }
    }
}

/* The least share by which a node is one of no more than MOST_NODES. Parents have at least that of
 * their children, so that what is left is a tree. */
static double choose_share(const struct lpo_stacks *s, const struct pruning *p)
{
    double least = 0;

    for (size_t left = s->nodes.len; left > MOST_NODES && least < 1;) {
        least = least > 0 ? least * 1.5 : 1e-7;
        left = 0;
        for (size_t i = 0; i < s->nodes.len; i++)
            left += p->share[i] >= least;
    }
    return least;
}

static size_t pack_nodes(struct frames *f, struct lpo_stacks *s, const struct pruning *p,
                         double least, struct lpo_str *bytes)
{
    uint32_t rows = 0;

    for (size_t i = 0; i < s->nodes.len; i++)
        if (p->share[i] >= least)
            p->row[i] = rows++;
    for (size_t i = s->nodes.len; i-- > 0;) {
        const struct lpo_stack_node *n = &s->nodes.at[i];

        if (p->row[i] == LPO_NONE && n->parent != LPO_NONE)
            for (int w = 0; w < LPO_STACK_WEIGHTS; w++)
                s->nodes.at[n->parent].own[w] += n->own[w];
    }
    for (size_t i = 0; i < s->nodes.len; i++) {
        const struct lpo_stack_node *n = &s->nodes.at[i];

        if (p->row[i] == LPO_NONE)
            continue;
        lpo_pack_add(bytes, n->parent == LPO_NONE ? 0 : p->row[i] - p->row[n->parent]);
        lpo_pack_add(bytes, frame_of(f, n));
        lpo_pack_add(bytes, n->count);
        for (int w = 0; w < LPO_STACK_WEIGHTS; w++)
            lpo_pack_add_signed(bytes, n->own[w]);
    }
    return rows;
}

static void put_packed(struct lpo_record *to, const struct lpo_str *bytes)
{
    LPO_STR text = { 0 };

    lpo_pack_text(&text, lpo_str_text(bytes), bytes->len);
    lpo_doc_put(to, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
}

static void put_stacks(struct frames *f, struct lpo_record *to)
{
    const struct lpo_stacks *all = lpo_analysis_stacks(f->d->analysis);
    struct lpo_stacks copy = { .folded = all->folded };
    size_t n = all->nodes.len, rows;
    struct pruning p = { lpo_xcalloc(n + 1, sizeof *p.total), lpo_xcalloc(n + 1, sizeof *p.share),
                         lpo_xmalloc((n + 1) * sizeof *p.row) };
    struct lpo_record *stacks;
    LPO_STR bytes = { 0 };

    for (size_t i = 0; i < n; i++) {
        lpo_vec_push(&copy.nodes, all->nodes.at[i]);
        p.row[i] = LPO_NONE;
    }
    find_shares(&copy, &p);
    rows = pack_nodes(f, &copy, &p, choose_share(&copy, &p), &bytes);
    stacks = lpo_doc_put_record(to, "stacks");
    lpo_doc_put(stacks, LPO_KV("count", rows), LPO_KV("left_out", n - rows));
    put_packed(stacks, &bytes);
    lpo_vec_free(&copy.nodes);
    free(p.total);
    free(p.share);
    free(p.row);
}

/* --- threads -------------------------------------------------------------------------------- */

/* LENGTHS: numbers of bits of a time, and 0. */
enum { SHORT = 500, LENGTHS = 65 };

/* Slices of a thread of at least that length that lie between two times. */
struct part {
    const struct lpo_trace *t;
    int64_t least_ns, from_ns, to_ns;
};

static bool is_in(const struct part *p, const struct lpo_slice *s)
{
    return s->end_ns - s->start_ns >= p->least_ns && s->start_ns < p->to_ns &&
           (s->end_ns > p->from_ns || s->start_ns >= p->from_ns);
}

static uint64_t count_slices(const struct part *p, uint32_t thread)
{
    struct lpo_host_walk w = lpo_host_walk(p->t, thread, LPO_HOST_SLICES);
    struct lpo_slice s;
    uint64_t n = 0;

    while (lpo_host_next(&w, &s))
        n += is_in(p, &s);
    return n;
}

/* Those with most slices, in the order of the trace. */
static size_t choose_threads(const struct part *p, uint32_t out[MOST_THREADS])
{
    uint64_t counts[MOST_THREADS];
    size_t n = 0;

    for (uint32_t i = 0; i < p->t->threads.len; i++) {
        uint64_t count = count_slices(p, i);
        size_t least = 0;

        if (!count)
            continue;
        if (n < MOST_THREADS) {
            counts[n] = count;
            out[n++] = i;
            continue;
        }
        for (size_t k = 1; k < n; k++)
            least = counts[k] < counts[least] ? k : least;
        if (counts[least] < count) {
            memmove(&out[least], &out[least + 1], (n - least - 1) * sizeof *out);
            memmove(&counts[least], &counts[least + 1], (n - least - 1) * sizeof *counts);
            out[n - 1] = i;
            counts[n - 1] = count;
        }
    }
    return n;
}

/* Of how many slices each length is: shorter than SHORT, than twice that, and so on. */
static uint64_t count_lengths(const struct part *p, uint32_t thread, uint64_t lengths[LENGTHS])
{
    struct lpo_host_walk w = lpo_host_walk(p->t, thread, LPO_HOST_SLICES);
    uint64_t count = 0;
    struct lpo_slice s;

    while (lpo_host_next(&w, &s)) {
        uint64_t times = (uint64_t)(s.end_ns - s.start_ns) / SHORT;

        if (!is_in(p, &s))
            continue;
        lengths[times ? 64 - __builtin_clzll(times) : 0]++;
        count++;
    }
    return count;
}

static void choose_length(struct part *p, const uint32_t *threads, size_t n, uint64_t most)
{
    uint64_t lengths[LENGTHS] = { 0 }, slices = 0;

    for (size_t i = 0; i < n; i++)
        slices += count_lengths(p, threads[i], lengths);
    for (size_t i = 0; slices > most && p->least_ns <= INT64_MAX / 2; i++) {
        slices -= lengths[i];
        p->least_ns = p->least_ns ? 2 * p->least_ns : SHORT;
    }
}

static void put_thread(struct frames *f, struct lpo_record *r, uint32_t thread,
                       const struct part *p, struct lpo_str *bytes)
{
    struct lpo_host_walk w = lpo_host_walk(p->t, thread, LPO_HOST_SLICES);
    struct part all = *p;
    uint64_t count = 0, folded = 0;
    int64_t last_ns = f->d->zero_ns;
    struct lpo_slice s;

    all.least_ns = 0;
    while (lpo_host_next(&w, &s)) {
        if (!is_in(p, &s)) {
            folded += is_in(&all, &s);
            continue;
        }
        lpo_pack_add_signed(bytes, s.start_ns - last_ns);
        lpo_pack_add(bytes, (uint64_t)(s.end_ns - s.start_ns));
        lpo_pack_add(bytes, frame_of(f, &(struct lpo_stack_node){
                                            .name = s.name, .kind = lpo_stacks_kind_of(s.kind) }));
        last_ns = s.start_ns;
        count++;
    }
    lpo_doc_put(r, LPO_KV("count", count), LPO_KV("left_out", folded));
}

static int64_t first_start(const struct lpo_trace *t, const uint32_t *threads, size_t n)
{
    int64_t first_ns = INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        struct lpo_host_walk w = lpo_host_walk(t, threads[i], LPO_HOST_SLICES);
        struct lpo_slice s;

        if (lpo_host_next(&w, &s) && s.start_ns < first_ns)
            first_ns = s.start_ns;
    }
    return first_ns;
}

static void put_threads(struct frames *f, struct lpo_record *to, struct lpo_page_detail *d)
{
    const struct lpo_trace *t = d->analysis->trace;
    struct part p = { t, 0, INT64_MIN, INT64_MAX };
    uint32_t threads[MOST_THREADS];
    size_t n = choose_threads(&p, threads);
    struct lpo_record *host, *list;
    LPO_STR bytes = { 0 };

    if (!n)
        return;
    choose_length(&p, threads, n, MOST_SLICES);
    if (d->zero_ns == LPO_NO_TIME)
        d->zero_ns = first_start(t, threads, n);
    host = lpo_doc_put_record(to, "host");
    lpo_doc_put(host, LPO_KV("zero_ns", d->zero_ns), LPO_KV("least_ns", p.least_ns));
    list = lpo_doc_put_list(host, "threads");
    for (size_t i = 0; i < n; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("row", threads[i]),
                    LPO_KV("process", t->processes.at[t->threads.at[threads[i]].process].pid),
                    LPO_KV("thread", t->threads.at[threads[i]].tid));
        put_thread(f, r, threads[i], &p, &bytes);
    }
    put_packed(host, &bytes);
}

void lpo_page_put_stacks(struct lpo_record *to, struct lpo_page_detail *d)
{
    struct frames f = { .d = d, .list = lpo_doc_put_list(to, "frames") };

    put_stacks(&f, to);
    put_threads(&f, to, d);
    lpo_map_pair_free(&f.map);
}

void lpo_page_put_flame(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_page_detail d = { .analysis = a };
    struct frames f = { .d = &d, .list = lpo_doc_put_list(to, "frames"), .copied = true };

    put_stacks(&f, to);
    lpo_map_pair_free(&f.map);
}

/* Of a time from zero; one that no trace has stays at the end of time. */
static int64_t at(const struct lpo_page_detail *d, int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(d->zero_ns, ns, &sum) ? ns < 0 ? INT64_MIN : INT64_MAX : sum;
}

bool lpo_page_put_slices(struct lpo_record *to, const struct lpo_page_detail *d, size_t thread,
                         int64_t from_ns, int64_t to_ns)
{
    struct part p = { d->analysis->trace, 0, at(d, from_ns), at(d, to_ns) };
    struct frames f = { .d = d };
    uint32_t row = (uint32_t)thread;
    LPO_STR bytes = { 0 };

    if (thread >= p.t->threads.len || d->zero_ns == LPO_NO_TIME)
        return false;
    f.list = lpo_doc_put_list(to, "frames");
    choose_length(&p, &row, 1, LPO_PAGE_MOST_EVENTS);
    lpo_doc_put(to, LPO_KV("least_ns", p.least_ns));
    put_thread(&f, to, row, &p, &bytes);
    put_packed(to, &bytes);
    lpo_map_pair_free(&f.map);
    return true;
}
