/* SPDX-License-Identifier: Apache-2.0 */
/* Communication and copies that nothing covers: beside other work, at the rate that others reach,
 * or not at all. One rank cannot tell waiting from sending. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/ranks/causes.h"
#include "analysis/wall/collectives.h"
#include "gpu/sheets.h"
#include "reference/reference.h"
#include "run/install.h"

enum {
    LEAST_BYTES = 1 << 20,
    MANY_MESSAGES = 50,
    SMALL_BYTES = 1 << 20,
    SMALL_NS = 100000,
    MOST_SENT = 256
};

/* What pinned copies reach of PCIe x16, four fifths of its rate, by compute capability. */
static const struct {
    uint32_t least_cc_major;
    double rate;
} links[] = {
    { 9, 50e9 },  /* 5.0: Hopper and later */
    { 8, 25e9 },  /* 4.0: Ampere, Ada */
    { 6, 12.5e9 } /* 3.0 */
};

static enum lpo_critical_part part_of(const struct ladder_work *w, uint32_t op)
{
    return lpo_critical_part_of(&w->g, w->g.op_rows[op]);
}

/* The part of an operation in which nothing ran that computes: all of the graph's, by start. */
static int64_t *find_exposed(const struct ladder_work *w, enum lpo_critical_part part)
{
    int64_t *out = lpo_ladder_wants(w), until = INT64_MIN;
    LPO_FREED LPO_VEC(struct critical_span) busy = { 0 };
    size_t first = 0;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);

        if (part_of(w, i) != LPO_PATH_COMPUTE)
            continue;
        if (busy.len && k->start_ns <= until)
            busy.at[busy.len - 1].end_ns = until = k->end_ns > until ? k->end_ns : until;
        else
            lpo_vec_push(&busy, (struct critical_span){ k->start_ns, until = k->end_ns });
    }
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);

        while (first < busy.len && busy.at[first].end_ns <= k->start_ns)
            first++;
        if (part_of(w, i) != part)
            continue;
        out[i] = lpo_trace_gpu_op_ns(k);
        for (size_t n = first; n < busy.len && busy.at[n].start_ns < k->end_ns; n++) {
            int64_t from = busy.at[n].start_ns > k->start_ns ? busy.at[n].start_ns : k->start_ns;
            int64_t to = busy.at[n].end_ns < k->end_ns ? busy.at[n].end_ns : k->end_ns;

            out[i] -= to > from ? to - from : 0;
        }
    }
    return out;
}

/* --- communication --- */

struct stream_use {
    uint64_t computes, sends;
    int64_t sends_ns;
    uint32_t stream;
};

struct streams {
    struct lpo_map_pair rows;
    LPO_VEC(struct stream_use) all;
};

/* The stream with most time of collectives that kernels which compute run on, too. */
static const struct stream_use *shared_stream(const struct ladder_work *w, struct streams *s)
{
    const struct stream_use *best = NULL;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);
        bool fresh, sends = part_of(w, i) == LPO_PATH_COMMUNICATION;
        uint32_t row = lpo_map_pair_put(&s->rows, k->device, k->stream, &fresh);

        if (fresh)
            lpo_vec_push(&s->all, (struct stream_use){ .stream = k->stream });
        s->all.at[row].sends += sends;
        s->all.at[row].sends_ns += sends ? lpo_trace_gpu_op_ns(k) : 0;
        s->all.at[row].computes += part_of(w, i) == LPO_PATH_COMPUTE;
    }
    for (size_t i = 0; i < s->all.len; i++)
        if (s->all.at[i].sends && s->all.at[i].computes > s->all.at[i].sends &&
            (!best || s->all.at[i].sends_ns > best->sends_ns))
            best = &s->all.at[i];
    return best;
}

static const char *kind_of(const struct ladder_work *w, uint32_t op)
{
    const struct lpo_collective *said = lpo_wall_collective_said(w->t, w->g.op_rows[op]);

    return lpo_wall_collective_kind(
        lpo_trace_text(w->t, said ? said->kind : lpo_critical_gpu_op(&w->g, op)->name));
}

/* Rows of collectives of one kind with nothing between that computes: small ones could be one. */
static uint64_t find_messages(const struct ladder_work *w, int64_t *less, uint64_t *in_step,
                              double *bytes)
{
    uint64_t all = 0, row = 0;
    uint32_t first = LPO_NONE, step = LPO_NONE;

    *bytes = -1;
    for (uint32_t i = 0; i <= w->g.ops.len; i++) {
        bool sends = i < w->g.ops.len && part_of(w, i) == LPO_PATH_COMMUNICATION;
        struct lpo_measure size =
            sends ? lpo_wall_collective_bytes(w->t, lpo_wall_collective_said(w->t, w->g.op_rows[i]))
                  : lpo_measure_unknown();
        bool small = sends && (lpo_measure_known(size) ? size.value <= SMALL_BYTES
                                                       : lpo_ladder_op_ns(w, i) <= SMALL_NS);

        if (small && (first == LPO_NONE || lpo_streq(kind_of(w, first), kind_of(w, i)))) {
            first = first == LPO_NONE ? i : first;
            row++;
            if (lpo_measure_known(size) && size.value > *bytes)
                *bytes = size.value;
            continue;
        }
        if (i < w->g.ops.len && !sends &&
            (lpo_critical_gpu_op(&w->g, i)->kind != LPO_KERNEL ||
             lpo_region_tree_class(w->tree, lpo_critical_gpu_op(&w->g, i)->name) ==
                 LPO_CLASS_ELEMENTWISE))
            continue;
        if (row >= MANY_MESSAGES) {
            uint32_t at = lpo_ladder_step_at(w, lpo_critical_gpu_op(&w->g, first)->start_ns);

            all += row;
            *in_step = at != step || at == LPO_NONE ? row : *in_step + row;
            step = at;
            for (uint32_t k = first + 1; k < i; k++)
                less[k] = part_of(w, k) == LPO_PATH_COMMUNICATION ? lpo_ladder_op_ns(w, k) : 0;
        }
        first = LPO_NONE;
        row = 0;
    }
    return all;
}

static void add_messages(struct ladder_work *w)
{
    int64_t *less = lpo_ladder_wants(w);
    uint64_t in_step = 0;
    double bytes;
    uint64_t all = find_messages(w, less, &in_step, &bytes);
    struct lpo_rung *r;
    int64_t idle = 0;
    uint32_t at = LPO_NONE;

    /* the host launches each of them, and the GPU waits for that: those gaps go too */
    for (uint32_t i = 1; i < w->g.ops.len; i++) {
        int64_t gap =
            lpo_critical_gpu_op(&w->g, i)->start_ns - lpo_critical_gpu_op(&w->g, i - 1)->end_ns;

        idle += less[i] && gap > 0 ? gap : 0;
    }
    for (uint32_t i = 0; i < w->g.ops.len && idle > 0; i++)
        less[i] = less[i] * 9 / 10; /* a larger message takes its time, too */
    r = lpo_ladder_add_ops(w, LPO_RUNG_MESSAGES, less);
    if (!r)
        return;
    at = (uint32_t)w->candidates.len - 1;
    for (uint32_t i = 1; i < w->g.ops.len; i++) {
        uint32_t call = w->g.ops.at[i].call;

        if (part_of(w, i) == LPO_PATH_COMMUNICATION && call != LPO_NONE &&
            call + 1 < w->g.calls.len)
            lpo_critical_replay_edit(&w->replay, CRITICAL_EDIT_HOST, call, at, w->before_ns[call]);
    }
    r->basis = LPO_BASIS_ESTIMATED;
    lpo_ladder_fact(r, LPO_FACT_MESSAGES, LPO_NONE, (double)all, (double)in_step, bytes);
}

/* Collectives of one kind, size and number of ranks. */
struct sent {
    const char *kind;
    struct lpo_measure bytes;
    int64_t best_ns; /* where NCCL was measured; 0: nowhere */
    double error;
    int64_t least_ns, ns;
    uint64_t calls;
    uint32_t ranks, name;
};

/* What NCCL was measured at: between these GPUs, else between H200s, and the rates of the links say
 * how much longer it takes here. */
struct ladder_links {
    const struct lpo_reference *own;
    struct lpo_reference *other;
    double longer, slow; /* times the best: links differ, and so do versions of NCCL */
};

typedef LPO_VEC(struct sent) sent_vec;

struct ladder_links *lpo_ladder_links_create(const struct ladder_work *w)
{
    static const char other[] = "h200_sxm";
    const struct lpo_wall_collectives *any = lpo_analysis_collectives(w->a);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(arena);
    const char *path = lpo_reference_path(arena, dirs, other);
    struct ladder_links *l = lpo_xcalloc(1, sizeof *l);
    struct lpo_err ignored = { 0 };
    struct lpo_hardware hw;

    if (any && any->rows.len)
        *l = (struct ladder_links){ lpo_analysis_reference(w->a, w->hw), NULL, 1, 1.5 };
    if (l->own)
        return l;
    if (!any || !any->rows.len || !w->hw || !(w->hw->link > 0) || !path ||
        lpo_gpu_hardware_read(arena, dirs, other, &hw, &ignored) < 0 ||
        lpo_reference_load(path, &l->other, &ignored) < 0) {
        lpo_ladder_links_destroy(l);
        return NULL;
    }
    l->longer = hw.link / w->hw->link;
    l->slow = 5;
    return l;
}

void lpo_ladder_links_destroy(struct ladder_links *l)
{
    if (l)
        lpo_reference_destroy(l->other);
    free(l);
}

static struct sent *sent_row(const struct ladder_work *w, const struct ladder_links *nccl,
                             sent_vec *all, uint32_t op)
{
    struct lpo_reference_answer best;
    const struct lpo_collective *said = lpo_wall_collective_said(w->t, w->g.op_rows[op]);
    struct sent one = { .kind = kind_of(w, op),
                        .bytes = lpo_wall_collective_bytes(w->t, said),
                        .least_ns = INT64_MAX,
                        .ranks = said ? said->ranks : 0,
                        .name = lpo_critical_gpu_op(&w->g, op)->name };

    for (size_t i = 0; i < all->len; i++)
        if (all->at[i].kind == one.kind && all->at[i].bytes.value == one.bytes.value &&
            all->at[i].ranks == one.ranks)
            return &all->at[i];
    if (lpo_wall_collective_best(nccl->own ? nccl->own : nccl->other, one.kind, one.ranks,
                                 one.bytes, &best)) {
        one.best_ns = (int64_t)(best.best_us * 1000 * nccl->longer);
        one.error = isnan(best.error) ? 0 : best.error;
    }
    if (all->len < MOST_SENT)
        lpo_vec_push(all, one);
    return &all->at[all->len - 1];
}

static bool is_slow(const struct ladder_links *nccl, const struct sent *s)
{
    return s->best_ns && (double)s->least_ns > nccl->slow * (1 + s->error) * (double)s->best_ns;
}

static void add_best_rate(struct lpo_rung *r, const struct ladder_links *nccl, const struct sent *s)
{
    double bytes = s->bytes.value * lpo_wall_collective_traffic(s->kind, s->ranks);

    lpo_ladder_fact(r, nccl->own ? LPO_FACT_BEST_RATE : LPO_FACT_OTHER_RATE, s->name,
                    s->bytes.value, bytes * 1e9 / (double)s->least_ns,
                    bytes * 1e9 / (double)s->best_ns);
}

static void add_slow_collective(struct ladder_work *w, const struct ladder_links *nccl,
                                sent_vec *all, size_t row)
{
    struct sent *s = &all->at[row];
    struct lpo_rung *r;
    int64_t *less;

    if (!is_slow(nccl, s))
        return;
    less = lpo_ladder_wants(w);
    for (uint32_t i = 0; i < w->g.ops.len; i++) /* what is more than the fastest may be waiting */
        if (part_of(w, i) == LPO_PATH_COMMUNICATION && sent_row(w, nccl, all, i) == s)
            less[i] = s->least_ns - s->best_ns;
    r = lpo_ladder_add_ops(w, LPO_RUNG_COLLECTIVE, less);
    if (!r)
        return;
    r->name = s->name;
    r->basis = LPO_BASIS_REFERENCE;
    add_best_rate(r, nccl, s);
    lpo_ladder_fact(r, LPO_FACT_ROOF_CALLS, LPO_NONE, (double)s->calls, (double)s->ns,
                    (double)s->ns / (double)w->out->window.wall_ns);
}

/* The collectives of the graph by kind, size and ranks, without what they wait for other ranks. */
static void list_sent(const struct ladder_work *w, sent_vec *all)
{
    const struct lpo_ranks_causes *causes = lpo_analysis_rank_causes(w->a);

    for (uint32_t i = 0; w->links && i < w->g.ops.len; i++) {
        int64_t ns = lpo_ladder_op_ns(w, i);
        struct sent *s;

        if (part_of(w, i) != LPO_PATH_COMMUNICATION)
            continue;
        ns -= lpo_ranks_causes_waiting(causes, w->g.op_rows[i]);
        s = sent_row(w, w->links, all, i);
        s->least_ns = ns < s->least_ns ? ns : s->least_ns;
        s->ns += ns;
        s->calls++;
    }
}

/* The slow one that takes most time, as evidence: hidden or not, it could be faster. */
static void add_slowest(struct ladder_work *w, struct lpo_rung *r)
{
    const struct sent *worst = NULL;
    LPO_FREED sent_vec all = { 0 };

    list_sent(w, &all);
    for (size_t i = 0; i < all.len; i++)
        if (is_slow(w->links, &all.at[i]) && (!worst || all.at[i].ns > worst->ns))
            worst = &all.at[i];
    if (worst)
        add_best_rate(r, w->links, worst);
}

void lpo_ladder_slow_collectives(struct ladder_work *w)
{
    LPO_FREED sent_vec all = { 0 };

    list_sent(w, &all);
    for (size_t i = 0; i < all.len; i++)
        add_slow_collective(w, w->links, &all, i);
}

void lpo_ladder_communication(struct ladder_work *w)
{
    const struct lpo_ranks_causes *causes = lpo_analysis_rank_causes(w->a);
    int64_t *less = find_exposed(w, LPO_PATH_COMMUNICATION), exposed = 0, all = 0, compute = 0;
    struct streams s = { 0 };
    const struct stream_use *shared = shared_stream(w, &s);
    LPO_FREED struct lpo_map_pair names = { 0 };
    uint32_t name = LPO_NONE;
    int64_t most = 0;
    struct lpo_rung *r;

    add_messages(w);
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        int64_t ns = lpo_ladder_op_ns(w, i);

        if (part_of(w, i) == LPO_PATH_COMMUNICATION) {
            int64_t waited = lpo_ranks_causes_waiting(causes, w->g.op_rows[i]);

            less[i] =
                less[i] < ns - waited ? less[i] : ns - waited; /* sending would still take that */
            all += ns;
            exposed += less[i];
            if (less[i] > most) {
                most = less[i];
                name = lpo_critical_gpu_op(&w->g, i)->name;
            }
        } else if (part_of(w, i) == LPO_PATH_COMPUTE) {
            compute += ns;
        }
    }
    /* computing hides at most as much as there is of it */
    for (uint32_t i = 0; i < w->g.ops.len && exposed > compute; i++)
        less[i] = (int64_t)((double)less[i] * (double)compute / (double)exposed);
    if (shared && 2 * shared->sends_ns < all)
        shared = NULL;
    r = lpo_ladder_add_ops(w, shared ? LPO_RUNG_SAME_STREAM : LPO_RUNG_COMMUNICATION, less);
    if (r) {
        r->name = name;
        lpo_ladder_fact(r, LPO_FACT_EXPOSED, LPO_NONE, (double)all, (double)exposed, 0);
        if (shared)
            lpo_ladder_fact(r, LPO_FACT_STREAM, LPO_NONE, shared->stream, (double)shared->computes,
                            (double)shared->sends);
        if (w->t->processes.len == 1 && w->t->ranks > 1)
            lpo_ladder_fact(r, LPO_FACT_FEW_RANKS, LPO_NONE, 1, w->t->ranks, 0);
        add_slowest(w, r);
    }
    lpo_map_pair_free(&s.rows);
    lpo_vec_free(&s.all);
}

/* --- copies --- */

static bool to_host(const char *name)
{
    return strstr(name, "DtoH") || strstr(name, "Device -> Host") || strstr(name, "Device -> P") ||
           strstr(name, "DeviceToHost") || strstr(name, "Device-to-Host");
}

bool lpo_ladder_copies_within(const struct ladder_work *w, uint32_t op)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, op);
    const char *name = lpo_trace_text(w->t, k->name);

    return k->kind == LPO_COPY &&
           (strstr(name, "DtoD") || strstr(name, "Device -> Device") ||
            strstr(name, "DeviceToDevice") || strstr(name, "Device-to-Device"));
}

double lpo_ladder_pinned_rate(const struct lpo_trace *t)
{
    double bytes = 0, ns = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->kind != LPO_COPY || op->bytes < LEAST_BYTES ||
            !strstr(lpo_trace_text(t, op->name), "Pinned"))
            continue;
        bytes += (double)op->bytes;
        ns += (double)lpo_trace_gpu_op_ns(op);
    }
    return ns > 0 ? bytes * 1e9 / ns : 0;
}

static double usual_rate(const struct ladder_work *w)
{
    const struct lpo_device *d = &w->t->devices.at[lpo_critical_gpu_op(&w->g, 0)->device];

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (d->cc_major >= links[i].least_cc_major)
            return links[i].rate;
    return 12.5e9;
}

static void add_rate(struct lpo_rung *r, double bytes, int64_t ns, bool back)
{
    if (bytes > 0 && ns > 0)
        lpo_ladder_fact(r, LPO_FACT_RATE, LPO_NONE, bytes, bytes * 1e9 / (double)ns, back);
}

/* From pinned memory at its rate; what is left of them runs beside computing. The call that copies
 * from pageable memory waits for it: a pinned copy would not. */
void lpo_ladder_copies(struct ladder_work *w)
{
    int64_t *exposed = find_exposed(w, LPO_PATH_COPY), *less = lpo_ladder_wants(w), ns = 0, all = 0,
            exposed_ns = 0, compute = 0;
    double seen = w->pinned_rate, rate, bytes = 0, all_bytes = 0;
    struct lpo_rung *r;

    if (!w->g.ops.len) {
        free(less);
        free(exposed);
        return;
    }
    rate = seen > 0 ? seen : usual_rate(w);
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);
        const char *name = lpo_trace_text(w->t, k->name);
        int64_t own = lpo_trace_gpu_op_ns(k);
        double needs = (double)k->bytes * 1e9 / rate;

        compute += part_of(w, i) == LPO_PATH_COMPUTE ? own : 0;
        if (lpo_ladder_copies_within(w, i)) /* of a layout: no link, and nothing to pin */
            exposed[i] = 0;
        if (part_of(w, i) != LPO_PATH_COPY || lpo_ladder_copies_within(w, i))
            continue;
        all += own;
        all_bytes += (double)k->bytes;
        exposed_ns += exposed[i];
        if (k->kind != LPO_COPY || k->bytes < LEAST_BYTES || !strstr(name, "Pageable"))
            continue;
        bytes += (double)k->bytes;
        ns += own;
        less[i] = needs < (double)own ? own - (int64_t)needs : 0;
        exposed[i] = exposed[i] < own - less[i] ? exposed[i] : own - less[i];
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_PAGEABLE, less);
    if (r) {
        uint32_t at = (uint32_t)w->candidates.len - 1;

        for (uint32_t i = 0; i < w->g.ops.len; i++) {
            const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);
            uint32_t call = w->g.ops.at[i].call;

            if (k->kind == LPO_COPY && k->bytes >= LEAST_BYTES && call != LPO_NONE &&
                strstr(lpo_trace_text(w->t, k->name), "Pageable") &&
                !to_host(lpo_trace_text(w->t, k->name)))
                lpo_critical_replay_edit(&w->replay, CRITICAL_EDIT_WAIT, call, at, 0);
        }
        add_rate(r, bytes, ns, false);
        lpo_ladder_fact(r, seen > 0 ? LPO_FACT_PINNED_RATE : LPO_FACT_LINK_RATE, LPO_NONE, rate, 0,
                        0);
    }
    /* more than computing could hide: then the experiment is that they are gone */
    r = lpo_ladder_add_ops(w, LPO_RUNG_COPIES, exposed);
    if (r) {
        if (exposed_ns > compute)
            r->basis = LPO_BASIS_ESTIMATED;
        lpo_ladder_fact(r, LPO_FACT_EXPOSED, LPO_NONE, (double)all, (double)exposed_ns, 0);
        if (exposed_ns > compute)
            lpo_ladder_fact(r, LPO_FACT_CANNOT_HIDE, LPO_NONE, (double)compute, 0, 0);
        add_rate(r, all_bytes, all, false);
    }
}
