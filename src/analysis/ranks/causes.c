/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/causes.h"

#include "analysis/ranks/lives.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/private.h"
#include "region/tree.h"
#include "trace/host.h"
#include "util/thread.h"

enum {
    ONE_PERCENT = 100,
    MOST_TRIED = 12, /* causes that the job is run again for */
    LONGER_PART = 5, /* a stretch counts as longer where it is by that part of the longest excess */
    BEHIND_NS = 5000,  /* closer than that, a collective begins because the one before it ended */
    FEW_STRETCHES = 5, /* with fewer, one of them is no pause */
    FEW_RANKS = 4,     /* that do the same: with fewer, how much they differ anyway is not known */
};

struct work {
    const struct lpo_trace *t;
    const struct lpo_region_tree *tree;
    const struct lpo_ranks *r;
    const struct ranks_lives *l;
    struct lpo_ranks_causes *out;
    int64_t wall_ns;  /* of the job run again as it is */
    int64_t least_ns; /* what is worth a word: 1 % of it, without the gaps between windows */
    struct ranks_times usual; /* of the observer in it */
};

/* --- what a rank has more than the others --- */

struct place {
    uint64_t same;
    uint32_t life, stop;
};

LPO_COMPARE(by_same, struct place, LPO_UP(same) ?: LPO_UP(life) ?: LPO_UP(stop));

LPO_COMPARE(by_number, int64_t, LPO_UP_OF(*a, *b));

/* Of two ranks the one that is faster is the usual one. */
static int64_t lower_median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_number);
    return values[(count - 1) / 2];
}

/* Ranks always differ by a little: `room` has the values, whose median is `usual`. */
static int64_t beyond_noise(int64_t *room, size_t count, int64_t usual)
{
    for (size_t i = 0; i < count; i++)
        room[i] = llabs(room[i] - usual);
    return count < FEW_RANKS ? 0 : 4 * lower_median(room, count);
}

/* Between messages of a pipeline one stage goes forward where another goes back: what they compute
 * is not the same. */
static bool are_messages(const struct ranks_lives *l, const struct place *at)
{
    const struct ranks_stop *s = &l->all.at[at->life].stops.at[at->stop];

    return !l->families->at[s->family].together;
}

static void compare(struct ranks_lives *l, const struct place *at, size_t count, int64_t *room)
{
    bool messages = are_messages(l, at);

    for (int part = messages ? RANKS_IDLE : 0; part < RANKS_PARTS; part++) {
        int64_t usual, noise;

        for (size_t i = 0; i < count; i++)
            room[i] = l->all.at[at[i].life].stops.at[at[i].stop].parts[part];
        usual = lower_median(room, count);
        noise = beyond_noise(room, count, usual);
        for (size_t i = 0; i < count; i++) {
            struct ranks_stop *s = &l->all.at[at[i].life].stops.at[at[i].stop];
            int64_t whole = s->parts[RANKS_COMPUTE] + s->parts[RANKS_COPY] + s->parts[RANKS_IDLE];

            s->compared = !messages;
            s->more[part] = s->parts[part] - usual;
            s->odd |= s->more[part] > noise && s->more[part] * 10 > whole;
        }
    }
}

static void compare_all(struct ranks_lives *l)
{
    LPO_FREED LPO_VEC(struct place) places = { 0 };
    LPO_FREED int64_t *room = lpo_xcalloc(l->all.len + 1, sizeof *room);

    for (uint32_t i = 0; i < l->all.len; i++)
        for (uint32_t k = 0; k < l->all.at[i].stops.len; k++)
            if (l->all.at[i].stops.at[k].same)
                lpo_vec_push(&places, (struct place){ l->all.at[i].stops.at[k].same, i, k });
    lpo_vec_sort(&places, by_same);
    for (size_t i = 0, end; i < places.len; i = end) {
        bool twice = false;

        for (end = i + 1; end < places.len && places.at[end].same == places.at[i].same; end++)
            twice |= places.at[end].life == places.at[end - 1].life;
        if (!twice && end - i > 1)
            compare(l, &places.at[i], end - i, room);
    }
}

/* --- kernels, where no other rank does the same --- */

/* A kernel of one shape: on each life its time and count. */
struct kernel_means {
    int64_t *ns;
    uint32_t *count;
    int64_t usual_ns; /* of one; -1: not known */
};

struct kernels {
    struct lpo_map_pair rows; /* by name and shape */
    LPO_VEC(struct kernel_means) all;
    uint32_t *life_of; /* per device */
};

static bool is_counted(const struct work *w, const struct kernels *k, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL && k->life_of[op->device] != LPO_NONE &&
           !lpo_wall_communicates(w->tree, op->name);
}

static uint32_t *find_life_of(const struct work *w)
{
    uint32_t *life_of = lpo_xcalloc(w->t->devices.len + 1, sizeof *life_of);

    for (size_t i = 0; i < w->t->devices.len; i++)
        life_of[i] = LPO_NONE;
    for (uint32_t i = 0; i < w->l->all.len; i++)
        life_of[w->l->all.at[i].device] = i;
    return life_of;
}

static void find_kernels(const struct work *w, struct kernels *k)
{
    size_t lives = w->l->all.len;
    LPO_FREED int64_t *room = lpo_xcalloc(lives + 1, sizeof *room);

    k->life_of = find_life_of(w);
    for (size_t i = 0; i < w->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[i];
        struct kernel_means *m;
        bool fresh;
        uint32_t row;

        if (!is_counted(w, k, op))
            continue;
        row = lpo_map_pair_put(&k->rows, op->name, op->shape, &fresh);
        if (fresh)
            lpo_vec_push(&k->all,
                         (struct kernel_means){ lpo_xcalloc(lives, sizeof(int64_t)),
                                                lpo_xcalloc(lives, sizeof(uint32_t)), -1 });
        m = &k->all.at[row];
        m->ns[k->life_of[op->device]] += lpo_trace_gpu_op_ns(op);
        m->count[k->life_of[op->device]]++;
    }
    for (size_t i = 0; i < k->all.len; i++) {
        size_t n = 0;

        for (size_t r = 0; r < lives; r++)
            if (k->all.at[i].count[r])
                room[n++] = k->all.at[i].ns[r] / k->all.at[i].count[r];
        k->all.at[i].usual_ns = n >= FEW_RANKS ? lower_median(room, n) : -1;
    }
}

static void free_kernels(struct kernels *k)
{
    for (size_t i = 0; i < k->all.len; i++) {
        free(k->all.at[i].ns);
        free(k->all.at[i].count);
    }
    lpo_vec_free(&k->all);
    lpo_map_pair_free(&k->rows);
    free(k->life_of);
}

/* Of an operation: its part of what this life takes longer for all of them. One kernel may be short
 * forward and long backward, so an operation is not compared with the mean of all. */
static int64_t longer_by(const struct kernel_means *m, uint32_t life, int64_t ns)
{
    double own = (double)m->ns[life] / m->count[life];

    return own > 0 ? (int64_t)((double)ns * (1 - (double)m->usual_ns / own)) : 0;
}

/* The stages of a pipeline compute the same, and no two of them stand between the same two. */
static void compare_kernels(const struct work *w, struct ranks_lives *l)
{
    struct lpo_wall_order order = lpo_wall_order_find(w->t);
    struct kernels k = { 0 };
    uint32_t before = LPO_NONE;
    size_t stop = 0;

    find_kernels(w, &k);
    for (size_t i = 0; i < order.count; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[order.rows[i]];
        uint32_t at = k.life_of[op->device], row;
        struct ranks_life *life;
        int64_t ns;

        if (!is_counted(w, &k, op))
            continue;
        stop = at == before ? stop : 0;
        before = at;
        life = &l->all.at[at];
        ns = lpo_ranks_common_ns(&w->r->rows.at[life->row], op->start_ns);
        while (stop < life->stops.len && life->stops.at[stop].post_ns <= ns)
            stop++;
        row = lpo_map_pair_find(&k.rows, op->name, op->shape);
        if (stop < life->stops.len && !life->stops.at[stop].compared && k.all.at[row].usual_ns >= 0)
            life->stops.at[stop].more[RANKS_COMPUTE] +=
                longer_by(&k.all.at[row], at, lpo_trace_gpu_op_ns(op));
    }
    free_kernels(&k);
    lpo_wall_order_free(&order);
}

static bool any_alone(const struct ranks_lives *l)
{
    for (size_t i = 0; i < l->all.len; i++)
        for (size_t k = 0; k < l->all.at[i].stops.len; k++)
            if (!l->all.at[i].stops.at[k].compared &&
                l->all.at[i].stops.at[k].parts[RANKS_COMPUTE] > 0)
                return true;
    return false;
}

static int64_t more_of(const struct ranks_life *life, int part)
{
    int64_t ns = 0;

    for (size_t i = 0; i < life->stops.len; i++)
        ns += life->stops.at[i].more[part];
    return ns;
}

/* --- candidates --- */

struct candidate {
    struct ranks_change change;
    struct lpo_rank_cause cause;
    int64_t bound_ns;
};

typedef LPO_VEC(struct candidate) candidates;

static struct lpo_rank_cause plain(enum lpo_rank_cause_kind kind)
{
    return (
        struct lpo_rank_cause){ .kind = kind, .rank = -1, .device = UINT16_MAX, .name = LPO_NONE };
}

static bool is_all_to_all(const struct work *w, const struct ranks_stop *s)
{
    return s->family != LPO_NONE && strcmp(w->l->families->at[s->family].kind, "all-to-all") == 0;
}

/* The longer stretches: those with a good part of the largest excess, and when they were. */
static void list_longer(const struct work *w, const struct ranks_life *life, int part,
                        struct lpo_rank_cause *c)
{
    int64_t most = 0;

    for (size_t i = 0; i < life->stops.len; i++)
        most = life->stops.at[i].more[part] > most ? life->stops.at[i].more[part] : most;
    for (size_t i = 0; i < life->stops.len; i++) {
        const struct ranks_stop *s = &life->stops.at[i];

        if (s->more[part] > 0 && s->more[part] >= most / LONGER_PART)
            lpo_vec_push(
                &c->times,
                lpo_ranks_own_ns(&w->r->rows.at[w->l->all.at[w->usual.life].row], s->start_ns));
    }
}

/* Does most of what a rank has more lie in one stretch, or between all-to-alls? Those come in
 * pairs, tokens out and back: the stretches before every other one are the experts'. */
static void classify(const struct work *w, const struct ranks_life *life, int part,
                     struct candidate *c)
{
    int64_t between[2] = { 0 }, most = 0, all = c->bound_ns;
    uint32_t longest = LPO_NONE, with = 0, place = 0;

    for (uint32_t i = 0; i < life->stops.len; i++) {
        const struct ranks_stop *s = &life->stops.at[i];

        with += s->same != 0;
        if (s->more[part] > most) {
            most = s->more[part];
            longest = i;
        }
        place += is_all_to_all(w, s);
        if (is_all_to_all(w, s))
            between[place & 1] += s->more[part];
    }
    if (most * 5 >= all * 4 && with >= FEW_STRETCHES) {
        c->cause.kind = LPO_RANK_CAUSE_PAUSE;
        c->change.only_stop = longest;
    } else if (part == RANKS_COMPUTE &&
               (between[0] > between[1] ? between[0] : between[1]) * 5 >= all * 4) {
        c->cause.kind = LPO_RANK_CAUSE_EXPERTS;
    }
}

static void add_rank(struct work *w, uint32_t at, int part, candidates *out)
{
    const struct ranks_life *life = &w->l->all.at[at];
    struct candidate c = { .bound_ns = more_of(life, part),
                           .change = { .life = at, .parts = 1u << part, .only_stop = LPO_NONE } };

    if (c.bound_ns < w->least_ns)
        return;
    c.cause = plain(part == RANKS_COMPUTE ? LPO_RANK_CAUSE_COMPUTE : LPO_RANK_CAUSE_HOST);
    c.cause.rank = w->r->rows.at[life->row].rank;
    c.cause.device = life->device;
    c.cause.own_ns = c.bound_ns;
    for (size_t i = 0; i < life->stops.len; i++)
        c.cause.usual_ns += life->stops.at[i].parts[part];
    classify(w, life, part, &c);
    lpo_vec_push(out, c);
}

/* --- links --- */

uint64_t lpo_ranks_group_of(const struct ranks_family *f)
{
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < f->series.len; i++)
        h = (h ^ (f->series.at[i].rank + 1)) * 1099511628211u;
    return h | 1;
}

/* How long each family sends, by the median of its collectives; -1: not known. */
static int64_t *find_sending(const struct work *w)
{
    size_t n = w->l->families->len;
    int64_t *out = lpo_xcalloc(n + 1, sizeof *out);
    LPO_FREED ranks_numbers *all = lpo_xcalloc(n + 1, sizeof *all);

    for (size_t i = 0; i < w->l->all.len; i++)
        for (size_t k = 0; k < w->l->all.at[i].stops.len; k++) {
            const struct ranks_stop *s = &w->l->all.at[i].stops.at[k];

            if (s->family != LPO_NONE && !s->alone)
                lpo_vec_push(&all[s->family], s->send_ns);
        }
    for (size_t i = 0; i < n; i++) {
        const struct ranks_family *f = &w->l->families->at[i];

        out[i] = all[i].len && f->together && lpo_measure_known(f->bytes)
                     ? lpo_ranks_median(all[i].at, all[i].len)
                     : -1;
        lpo_vec_free(&all[i]);
    }
    return out;
}

static bool same_message(const struct ranks_family *a, const struct ranks_family *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->group_ranks == b->group_ranks &&
           a->bytes.value == b->bytes.value;
}

/* Part of its time that a family would send for at the median of others; 1: they are not slower. */
static double usual_part(const struct work *w, const int64_t *sending, size_t at, int64_t *room)
{
    const struct ranks_family *f = &w->l->families->at[at];
    uint64_t group = lpo_ranks_group_of(f);
    size_t n = 0;
    int64_t usual;

    for (size_t i = 0; i < w->l->families->len; i++)
        if (sending[i] >= 0 && same_message(f, &w->l->families->at[i]) &&
            lpo_ranks_group_of(&w->l->families->at[i]) != group)
            room[n++] = sending[i];
    if (!n)
        return 1;
    usual = lower_median(room, n);
    return usual > 0 && usual * 6 <= sending[at] * 5 ? (double)usual / (double)sending[at] : 1;
}

static void add_links(struct work *w, double *rates, candidates *out)
{
    size_t n = w->l->families->len;
    int64_t *sending = find_sending(w), *room = lpo_xcalloc(n + 1, sizeof *room);

    for (size_t i = 0; i < n; i++)
        rates[i] = sending[i] > 0 ? usual_part(w, sending, i, room) : 1;
    for (size_t i = 0; i < n; i++) {
        const struct ranks_family *f = &w->l->families->at[i];
        struct candidate c = { .bound_ns = w->wall_ns };
        bool seen = false;

        for (size_t k = 0; k < out->len; k++)
            seen |= out->at[k].change.link == lpo_ranks_group_of(f);
        if (rates[i] >= 1 || seen)
            continue;
        c.change = (struct ranks_change){
            .life = LPO_NONE, .only_stop = LPO_NONE, .link = lpo_ranks_group_of(f), .rates = rates
        };
        c.cause = plain(LPO_RANK_CAUSE_LINK);
        c.cause.rank = w->r->rows.at[f->series.at[0].rank].rank;
        c.cause.collective = f->kind;
        c.cause.bytes = f->bytes;
        c.cause.ranks = (uint32_t)f->series.len;
        c.cause.own_ns = sending[i];
        c.cause.usual_ns = (int64_t)((double)sending[i] * rates[i]);
        for (size_t k = 0; k < w->l->all.len; k++)
            if (w->l->all.at[k].row == f->series.at[0].rank)
                c.cause.device = w->l->all.at[k].device;
        lpo_vec_push(out, c);
    }
    free(room);
    free(sending);
}

static void add_bubbles(struct work *w, candidates *out)
{
    struct candidate c = { .bound_ns = w->wall_ns,
                           .cause = plain(LPO_RANK_CAUSE_BUBBLES),
                           .change = {
                               .life = LPO_NONE, .only_stop = LPO_NONE, .free_sends = true } };
    int64_t ns = 0;

    for (size_t i = 0; i < w->l->all.len; i++)
        for (size_t k = 0; k < w->l->all.at[i].stops.len; k++) {
            const struct ranks_stop *s = &w->l->all.at[i].stops.at[k];

            if (s->family != LPO_NONE && !w->l->families->at[s->family].together)
                ns += s->wait_ns;
        }
    c.cause.own_ns = w->l->all.len ? ns / (int64_t)w->l->all.len : 0;
    if (c.cause.own_ns >= w->least_ns)
        lpo_vec_push(out, c);
}

LPO_COMPARE(largest_bound, struct candidate, LPO_DOWN(bound_ns) ?: LPO_UP(cause.rank));

/* --- what it was --- */

struct name_sum {
    uint32_t name, life;
    int64_t ns;
};

typedef LPO_VEC(struct name_sum) name_sums;

LPO_COMPARE(by_name, struct name_sum, LPO_UP(name) ?: LPO_UP(life));

/* Time of each kernel that computes, by rank. */
static name_sums sum_kernels(const struct work *w)
{
    LPO_FREED uint32_t *life_of = find_life_of(w);
    LPO_FREED struct lpo_map_pair rows = { 0 };
    name_sums out = { 0 };

    for (size_t i = 0; i < w->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[i];
        bool fresh;
        uint32_t row;

        if (op->kind != LPO_KERNEL || life_of[op->device] == LPO_NONE ||
            lpo_wall_communicates(w->tree, op->name))
            continue;
        row = lpo_map_pair_put(&rows, op->name, life_of[op->device], &fresh);
        if (fresh)
            lpo_vec_push(&out, (struct name_sum){ op->name, life_of[op->device], 0 });
        out.at[row].ns += lpo_trace_gpu_op_ns(op);
    }
    lpo_vec_sort(&out, by_name);
    return out;
}

/* The kernel that takes longer on this rank than on the others, where it is one: most of what the
 * rank has more, and more of that than of its time. */
static void name_kernel(const struct work *w, const name_sums *sums, uint32_t life,
                        struct lpo_rank_cause *c)
{
    int64_t *room = lpo_xcalloc(w->l->all.len + 1, sizeof *room), most = 0, more = 0, own = 0;
    int64_t best_ns = 0, best_usual = 0;

    for (size_t i = 0, end; i < sums->len; i = end) {
        int64_t mine = -1, usual;

        for (end = i; end < sums->len && sums->at[end].name == sums->at[i].name; end++) {
            room[end - i] = sums->at[end].ns;
            if (sums->at[end].life == life)
                mine = sums->at[end].ns;
        }
        if (mine < 0)
            continue;
        usual = end - i > 1 ? lower_median(room, end - i) : 0;
        own += mine;
        more += mine > usual ? mine - usual : 0;
        if (mine - usual > most) {
            most = mine - usual;
            best_ns = mine;
            best_usual = usual;
            c->name = sums->at[i].name;
        }
    }
    free(room);
    if (!most || most * 10 < more * 6 ||
        (double)most / (double)more < 1.3 * (double)best_ns / (double)own) {
        c->name = LPO_NONE;
        return;
    }
    c->name_ns = best_ns;
    c->name_usual_ns = best_usual;
}

/* What the launching thread was in at that moment: a range of the program that is no step, else an
 * operator, a Python function, a call. */
static uint32_t open_at(const struct work *w, uint32_t thread, int64_t ns)
{
    static const unsigned kinds[] = { LPO_HOST_RANGE, LPO_HOST_OP, LPO_HOST_PYTHON, LPO_HOST_CALL };
    struct lpo_slice s;

    for (size_t i = 0; thread != LPO_NONE && i < sizeof kinds / sizeof *kinds; i++) {
        struct lpo_step_facts facts;
        int family = LPO_STEP_FAMILIES;

        if (lpo_host_at(w->t, thread, ns, kinds[i], &s) && s.name != LPO_NONE &&
            (kinds[i] != LPO_HOST_RANGE ||
             !lpo_steps_read_name(lpo_trace_text(w->t, s.name), &family, &facts)))
            return s.name;
    }
    return LPO_NONE;
}

static void add_named(name_sums *v, uint32_t name, int64_t ns)
{
    size_t i = 0;

    while (i < v->len && v->at[i].name != name)
        i++;
    if (i == v->len)
        lpo_vec_push(v, (struct name_sum){ name, 0, 0 });
    v->at[i].ns += ns;
}

/* What the host did in the gaps of the device in the longer stretches. */
static void name_host(const struct work *w, const struct candidate *x, struct lpo_rank_cause *c)
{
    const struct ranks_life *life = &w->l->all.at[x->change.life];
    const struct lpo_rank_row *row = &w->r->rows.at[life->row];
    struct lpo_wall_order order = lpo_wall_order_find(w->t);
    LPO_FREED name_sums found = { 0 };
    int64_t most = 0, until = lpo_ranks_own_ns(row, life->start_ns);
    size_t stop = 0, best = 0;

    for (size_t i = 0; i < life->stops.len; i++)
        most =
            life->stops.at[i].more[RANKS_IDLE] > most ? life->stops.at[i].more[RANKS_IDLE] : most;
    for (size_t i = 0; i < order.count; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[order.rows[i]];
        int64_t common;

        if (op->device != life->device)
            continue;
        common = lpo_ranks_common_ns(row, op->start_ns);
        while (stop < life->stops.len && life->stops.at[stop].post_ns < common)
            stop++;
        if (op->start_ns > until && stop < life->stops.len && op->launch != LPO_NONE &&
            life->stops.at[stop].more[RANKS_IDLE] > most / LONGER_PART)
            add_named(&found,
                      open_at(w, w->t->launches.at[op->launch].thread,
                              until + (op->start_ns - until) / 2),
                      op->start_ns - until);
        until = op->end_ns > until ? op->end_ns : until;
    }
    for (size_t i = 0; i < found.len; i++)
        if (found.at[i].ns > found.at[best].ns)
            best = i;
    if (found.len) {
        c->name = found.at[best].name;
        c->name_ns = found.at[best].ns;
    }
    lpo_wall_order_free(&order);
}

/* --- the job without it --- */

static struct ranks_times times_of(const struct work *w, uint32_t life)
{
    size_t n = w->l->all.at[life].stops.len + 1;

    return (struct ranks_times){ life, lpo_xcalloc(n, sizeof(int64_t)),
                                 lpo_xcalloc(n, sizeof(int64_t)) };
}

static void free_times(struct ranks_times *t)
{
    free(t->start_ns);
    free(t->end_ns);
}

/* What each collective of the observer would be shorter so that it ends when it would: a graph that
 * has it behind the one before it on its stream moves its start by as much as the end of that. */
static int64_t *find_less(const struct work *w, const struct ranks_times *after)
{
    const struct ranks_life *life = &w->l->all.at[w->usual.life];
    int64_t *less = lpo_xcalloc(life->stops.len + 1, sizeof *less);
    LPO_FREED int64_t *ends = lpo_xcalloc((size_t)life->lines + 1, sizeof *ends);
    LPO_FREED int64_t *moved = lpo_xcalloc((size_t)life->lines + 1, sizeof *moved);

    for (size_t i = 0; i < life->stops.len; i++) {
        const struct ranks_stop *s = &life->stops.at[i];
        int64_t start = w->usual.start_ns[i] - after->start_ns[i];
        bool behind = ends[s->line] && s->start_ns - ends[s->line] < BEHIND_NS;

        ends[s->line] = s->end_ns;
        if (behind)
            start = moved[s->line];
        moved[s->line] = w->usual.end_ns[i] - after->end_ns[i];
        less[i] = moved[s->line] - start;
    }
    return less;
}

/* A core each: the job is run again for every one of them. */
struct trials {
    const struct work *w;
    struct candidate *all;
};

static void try_cause(void *ctx, size_t i)
{
    const struct trials *t = ctx;
    struct lpo_rank_cause *cause = &t->all[i].cause;
    struct ranks_times after = times_of(t->w, t->w->usual.life);
    int64_t wall = lpo_ranks_lives_run(t->w->l, &t->all[i].change, &after);

    cause->saving_ns = wall < 0 ? 0 : t->w->wall_ns - wall;
    if (cause->saving_ns >= t->w->least_ns)
        cause->less_ns = find_less(t->w, &after);
    free_times(&after);
}

static void take_cause(struct work *w, struct candidate *c, const name_sums *sums)
{
    if (!c->cause.less_ns)
        return;
    if (c->change.life < w->l->all.len) {
        int part = c->change.parts == 1u << RANKS_IDLE ? RANKS_IDLE : RANKS_COMPUTE;

        list_longer(w, &w->l->all.at[c->change.life], part, &c->cause);
        if (part == RANKS_IDLE)
            name_host(w, c, &c->cause);
        else
            name_kernel(w, sums, c->change.life, &c->cause);
    }
    lpo_vec_push(&w->out->rows, c->cause);
}

/* The rank that has least more than the others, and is there until the end, of those that recorded
 * most of the job. */
static void find_observer(struct work *w)
{
    int64_t least = INT64_MAX, span = w->l->end_ns - w->l->start_ns;

    for (uint32_t i = 0; i < w->l->all.len; i++) {
        const struct ranks_life *life = &w->l->all.at[i];
        int64_t a = more_of(life, RANKS_COMPUTE), b = more_of(life, RANKS_IDLE);
        int64_t more = (a > b ? a : b) + w->l->end_ns - life->end_ns;

        if (life->end_ns - life->start_ns >= span / 10 * 9 && more < least) {
            least = more;
            w->usual.life = i;
        }
    }
}

LPO_COMPARE(most_first, struct lpo_rank_cause, LPO_DOWN(saving_ns) ?: LPO_UP(rank));

static void try_all(struct work *w)
{
    LPO_FREED double *rates = lpo_xcalloc(w->l->families->len + 1, sizeof *rates);
    LPO_FREED candidates all = { 0 };
    name_sums sums;
    struct candidate uneven = { .cause = plain(LPO_RANK_CAUSE_UNEVEN),
                                .change = { .life = RANKS_ALL_LIVES,
                                            .parts = 1u << RANKS_COMPUTE | 1u << RANKS_IDLE,
                                            .only_stop = LPO_NONE,
                                            .only_odd = true } };
    int64_t most = 0, odd, all_of_it;
    size_t tried;

    for (uint32_t i = 0; i < w->l->all.len; i++) {
        add_rank(w, i, RANKS_COMPUTE, &all);
        add_rank(w, i, RANKS_IDLE, &all);
    }
    add_links(w, rates, &all);
    add_bubbles(w, &all);
    lpo_vec_sort(&all, largest_bound);
    sums = sum_kernels(w);
    tried = all.len < MOST_TRIED ? all.len : MOST_TRIED;
    lpo_thread_each(tried, try_cause, &(struct trials){ w, all.at });
    for (size_t i = 0; i < tried; i++)
        take_cause(w, &all.at[i], &sums);
    for (size_t i = 0; i < w->out->rows.len; i++)
        most = w->out->rows.at[i].saving_ns > most ? w->out->rows.at[i].saving_ns : most;
    odd = lpo_ranks_lives_run(w->l, &uneven.change, NULL);
    uneven.change.only_odd = false;
    all_of_it = lpo_ranks_lives_run(w->l, &uneven.change, NULL);
    /* most of it by stretches that stand out: the rest is how much ranks differ anyway */
    if (odd >= 0 && all_of_it >= 0 && w->wall_ns - all_of_it > 2 * most &&
        w->wall_ns - odd > (w->wall_ns - all_of_it) / 2) {
        try_cause(&(struct trials){ w, &uneven }, 0);
        take_cause(w, &uneven, &sums);
    }
    lpo_vec_sort(&w->out->rows, most_first);
    lpo_vec_free(&sums);
}

LPO_COMPARE(by_op, struct lpo_rank_wait, LPO_UP(op));

static void keep_waits(const struct ranks_lives *l, uint32_t observer, struct lpo_ranks_causes *out)
{
    for (uint32_t i = 0; i < l->all.len; i++)
        for (uint32_t k = 0; k < l->all.at[i].stops.len; k++) {
            const struct ranks_stop *s = &l->all.at[i].stops.at[k];

            if (s->wait_ns > 0 || i == observer)
                lpo_vec_push(&out->waits, (struct lpo_rank_wait){ s->wait_ns, s->op,
                                                                  i == observer ? k : LPO_NONE });
        }
    lpo_vec_sort(&out->waits, by_op);
}

static void find_causes(struct work *w, struct ranks_lives *l)
{
    struct ranks_change none = { .life = LPO_NONE, .only_stop = LPO_NONE };
    int64_t span = l->end_ns - l->start_ns;

    compare_all(l);
    if (any_alone(l))
        compare_kernels(w, l);
    find_observer(w);
    w->usual = times_of(w, w->usual.life);
    w->wall_ns = lpo_ranks_lives_run(l, &none, &w->usual);
    w->least_ns = (span - l->gaps_ns) / ONE_PERCENT;
    /* where it does not give the measured time, nothing that is changed in it means a thing */
    if (w->wall_ns > 0 && llabs(w->wall_ns - span) <= w->least_ns) {
        w->out->observer = w->r->rows.at[l->all.at[w->usual.life].row].rank;
        try_all(w);
        keep_waits(l, w->usual.life, w->out);
    }
    free_times(&w->usual);
}

struct lpo_ranks_causes *lpo_ranks_causes_create(const struct lpo_region_tree *tree,
                                                 const struct lpo_program_steps *steps,
                                                 const struct lpo_ranks *r)
{
    struct lpo_ranks_causes *out = lpo_xcalloc(1, sizeof *out);
    struct ranks_lives l;
    struct work w = { tree->trace, tree, r, &l, out, 0, 0, { 0 } };

    out->observer = -1;
    lpo_ranks_lives_find(tree, steps, r, &l);
    if (l.all.len > 1)
        find_causes(&w, &l);
    lpo_ranks_lives_free(&l);
    return out;
}

void lpo_ranks_causes_destroy(struct lpo_ranks_causes *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->rows.len; i++) {
        lpo_vec_free(&c->rows.at[i].times);
        free(c->rows.at[i].less_ns);
    }
    lpo_vec_free(&c->rows);
    lpo_vec_free(&c->waits);
    free(c);
}

static const struct lpo_rank_wait *find_wait(const struct lpo_ranks_causes *c, uint32_t op)
{
    const struct lpo_rank_wait key = { .op = op };

    return c && c->waits.len ? bsearch(&key, c->waits.at, c->waits.len, sizeof *c->waits.at, by_op)
                             : NULL;
}

int64_t lpo_ranks_causes_less(const struct lpo_ranks_causes *c, const struct lpo_rank_cause *cause,
                              uint32_t op)
{
    const struct lpo_rank_wait *wait = find_wait(c, op);

    return wait && wait->observed != LPO_NONE ? cause->less_ns[wait->observed] : 0;
}

int64_t lpo_ranks_causes_waiting(const struct lpo_ranks_causes *c, uint32_t op)
{
    const struct lpo_rank_wait *wait = find_wait(c, op);

    return wait && wait->ns > 0 ? wait->ns : 0;
}
