/* SPDX-License-Identifier: Apache-2.0 */
/* May the two sides be compared? What differs, in the machine, the work and the way of recording.
 */

#include "analysis/diff/private.h"
#include "analysis/power/power.h"

/* Facts of the machine and the work: where they differ, that is said first. */
static const char *const work_keys[] = { "gpu",
                                         "gpus",
                                         "ranks",
                                         "shapes",
                                         "model",
                                         "config.model.name",
                                         "config.infer.batch_size",
                                         "config.infer.prompt_tokens",
                                         "config.infer.image_size" };

/* Keys of configs that differ between any two runs and say nothing about them. */
static const char *const idle_keys[] = {
    "config.workload.cwd",       "config.run.top_n_kernels",    "config.run.grace",
    "config.run.private_folder", "config.run.max_output_bytes", "config.run.max_cv"
};

static bool among(const char *key, const char *const *keys, size_t count)
{
    return lpo_any(i, count, strcmp(key, keys[i]) == 0);
}

#define AMONG(key, keys) among(key, keys, sizeof keys / sizeof *(keys))

static const char unrecorded[] = "not recorded";

static void add(struct lpo_diff *d, const char *key, const char *a, const char *b, bool fatal)
{
    for (size_t i = 0; i < d->differences.len; i++)
        if (strcmp(d->differences.at[i].key, key) == 0)
            return; /* of several runs, the first that differ */
    lpo_vec_push(&d->differences,
                 (struct lpo_diff_difference){ .key = key,
                                               .a = a,
                                               .b = b,
                                               .fatal = fatal,
                                               .work = AMONG(key, work_keys) && a != unrecorded &&
                                                       b != unrecorded });
    if (fatal)
        d->comparable = false;
}

/* Variables that one side set and the other one, whose variables are known, did not. */
static void compare_missing(struct lpo_diff *d, const struct lpo_diff_digest *has,
                            const struct lpo_diff_digest *lacks, bool b_has)
{
    static const char not_set[] = "not set";

    for (size_t i = 0; lpo_diff_digest_fact(lacks, "lpo") && i < has->facts.len; i++) {
        const struct lpo_diff_fact *f = &has->facts.at[i];

        if (lpo_str_starts(f->key, "env.") && !lpo_diff_digest_fact(lacks, f->key))
            add(d, f->key, b_has ? not_set : f->value, b_has ? f->value : not_set, false);
    }
}

/* The first run of a side against any run: repeats should be alike, too. */
static void compare_run(struct lpo_diff *d, const struct lpo_diff_digest *a,
                        const struct lpo_diff_digest *b)
{
    LPO_AUTO(lpo_map) of_b = lpo_map_create();

    for (size_t i = 0; i < b->facts.len; i++)
        *lpo_map_put(of_b, b->facts.at[i].key, strlen(b->facts.at[i].key), NULL) = i + 1;
    for (size_t i = 0; i < a->facts.len; i++) {
        const char *key = a->facts.at[i].key;
        const uint64_t *at = lpo_map_find(of_b, key, strlen(key));

        if (!at || AMONG(key, idle_keys)) /* what one side does not say is not known to differ */
            continue;
        if (strcmp(a->facts.at[i].value, b->facts.at[*at - 1].value) != 0)
            add(d, key, a->facts.at[i].value, b->facts.at[*at - 1].value, false);
    }
    compare_missing(d, a, b, false);
    compare_missing(d, b, a, true);
}

/* --- inputs of another size: operators that both have are looked up by name. Shapes that change
 * from call to call, as in serving, are not another size: their means are alike.
 * ------------------- */

enum { MOST_ITEMS = 3000, FIRST_TENSORS = 3 }; /* an `out` is the last one, and not always there */

#define OTHER_SHARE 0.8 /* of the GPU time of operators that both sides have */
#define OTHER_SIZE  0.1 /* by which their sizes differ on average */

/* Elements of the first tensors of "[[4,512],[512,64],[]]". */
static double elements(const char *shapes)
{
    double sum = 0, product = 0;
    int tensors = 0;

    for (const char *p = shapes; *p && tensors < FIRST_TENSORS;) {
        char *end;
        double n;

        if (*p == ']' && product > 0) {
            sum += product;
            product = 0;
            tensors++;
        }
        n = strtod(p, &end);
        if (end == p || *p == ' ' || *p == '-') {
            p++;
            continue;
        }
        product = (product > 0 ? product : 1) * n;
        p = end;
    }
    return sum;
}

/* "[[4,512],[512,64]]" and "[[4,512],[512,64],[4,64]]": one is the beginning of the other. */
static bool alike(const char *x, const char *y)
{
    size_t nx = strlen(x), ny = strlen(y), n = nx < ny ? nx : ny;

    return n > 0 && strncmp(x, y, n - 1) == 0;
}

/* What is known of the operators of one name on one side. */
struct sums {
    double ns, other_ns; /* GPU time; of it, of shapes that the other side does not have */
    double elements, calls;
};

static bool other_has(const struct lpo_diff_digest *g, const struct lpo_diff_item *x)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const struct lpo_diff_item *y = &g->items[LPO_DIFF_OPERATORS].at[i];

        if (strcmp(x->name, y->name) == 0 && alike(x->detail, y->detail))
            return true;
    }
    return false;
}

static void add_side(const struct lpo_diff_digest *g, const struct lpo_diff_digest *other,
                     struct lpo_map *names, struct sums *sums, int side)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const struct lpo_diff_item *x = &g->items[LPO_DIFF_OPERATORS].at[i];
        struct sums *s;

        if (!*x->detail || x->self_ns <= 0)
            continue;
        s = &sums[2 * *lpo_map_put(names, x->name, strlen(x->name), NULL) + side];
        s->ns += (double)x->self_ns;
        s->other_ns += other_has(other, x) ? 0 : (double)x->self_ns;
        s->elements += elements(x->detail) * (double)x->count;
        s->calls += (double)x->count;
    }
}

static void number_names(const struct lpo_diff_digest *g, struct lpo_map *names)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const char *name = g->items[LPO_DIFF_OPERATORS].at[i].name;
        bool fresh;
        uint64_t *at = lpo_map_put(names, name, strlen(name), &fresh);

        if (fresh)
            *at = lpo_map_count(names) - 1;
    }
}

static const char *name_of_row(const struct lpo_diff_digest *g, struct lpo_map *names, size_t row)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const char *name = g->items[LPO_DIFF_OPERATORS].at[i].name;

        if (*lpo_map_put(names, name, strlen(name), NULL) == row)
            return name;
    }
    return "";
}

/* The name of an operator and the shapes that take most of its time: "aten::mm [[4096,1024],…]". */
static const char *example(struct lpo_diff *d, const struct lpo_diff_digest *g, const char *name)
{
    const struct lpo_diff_item *best = NULL;

    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const struct lpo_diff_item *x = &g->items[LPO_DIFF_OPERATORS].at[i];

        if (*x->detail && strcmp(x->name, name) == 0 && (!best || x->self_ns > best->self_ns))
            best = x;
    }
    return best ? lpo_arena_printf(d->arena, "%.100s %.100s%s", name, best->detail,
                                   strlen(best->detail) > 100 ? "…" : "")
                : name;
}

/* Are most operators that both sides have of another size? Then *name is the one that takes most
 * time. */
static bool other_shapes(const struct lpo_diff_digest *a, const struct lpo_diff_digest *b,
                         const char **name)
{
    LPO_AUTO(lpo_map) names = lpo_map_create();
    double all = 0, other = 0, most = 0;
    LPO_FREED struct sums *sums = NULL;

    if (a->items[LPO_DIFF_OPERATORS].len > MOST_ITEMS ||
        b->items[LPO_DIFF_OPERATORS].len > MOST_ITEMS)
        return false;
    number_names(a, names);
    number_names(b, names);
    sums = lpo_xcalloc(2 * lpo_map_count(names) + 1, sizeof *sums);
    add_side(a, b, names, sums, 0);
    add_side(b, a, names, sums, 1);
    for (size_t i = 0; i < lpo_map_count(names); i++) {
        const struct sums *x = &sums[2 * i], *y = &sums[2 * i + 1];
        double size;

        if (!(x->ns > 0) || !(y->ns > 0))
            continue;
        all += x->ns + y->ns;
        size = x->elements > 0 ? y->elements / y->calls / (x->elements / x->calls) : 1;
        if (fabs(log(size > 0 ? size : 1)) <= OTHER_SIZE)
            continue;
        other += x->other_ns + y->other_ns;
        if (x->other_ns + y->other_ns > most) {
            most = x->other_ns + y->other_ns;
            *name = name_of_row(a, names, i);
        }
    }
    return all > 0 && other > OTHER_SHARE * all;
}

static const char *number(struct lpo_diff *d, uint64_t n)
{
    return lpo_arena_printf(d->arena, "%llu", (unsigned long long)n);
}

static const char *time_kind(const struct lpo_diff_digest *g)
{
    return g->replay ? "times of kernels under replay"
           : g->sums ? "sums without a clock"
                     : "times on one clock";
}

enum { LOST_PERCENT = 1 }; /* of its operations; with more lost, sums say nothing */

static bool lost_too_much(const struct lpo_diff_digest *g)
{
    return g->lost > 0 && g->lost * 100 > (g->launches + g->lost) * LOST_PERCENT;
}

static void compare_traces(struct lpo_diff *d, const struct lpo_diff_digest *a,
                           const struct lpo_diff_digest *b)
{
    const char *name = "";

    if (!a->launches != !b->launches)
        add(d, "kernels", number(d, a->launches), number(d, b->launches), true);
    else if (a->replay != b->replay)
        add(d, "times", time_kind(a), time_kind(b), true);
    else if (a->sums != b->sums)
        add(d, "times", time_kind(a), time_kind(b), false);
    if (other_shapes(a, b, &name))
        add(d, "shapes", example(d, a, name), example(d, b, name), false);
    if (a->steps && b->steps && a->steps != b->steps)
        add(d, "steps", number(d, a->steps), number(d, b->steps), false);
    if (a->lost || b->lost)
        add(d, "lost", number(d, a->lost), number(d, b->lost),
            lost_too_much(a) || lost_too_much(b));
    if ((a->noise > 0 && a->noise > a->noise_limit) || (b->noise > 0 && b->noise > b->noise_limit))
        add(d, "noise", lpo_arena_printf(d->arena, "%.1f %%", 100 * a->noise),
            lpo_arena_printf(d->arena, "%.1f %%", 100 * b->noise), false);
}

/* --- what NVML saw -------------------------------------------------------------------------- */

/* Differences below these are usual between two runs of one program on one GPU. */
#define LEAST_CLOCK  0.02 /* of the median SM clock */
#define LEAST_POWER  0.10 /* of the median power */
#define LEAST_SLOWED 0.10 /* of all samples */

enum load_figure { LOAD_CLOCK, LOAD_POWER, LOAD_SLOWED };

/* The median over the runs of a side; NAN: no run has it. */
static double side_load(const struct lpo_diff_runs *side, enum load_figure figure)
{
    double *values = lpo_xcalloc(side->len + 1, sizeof *values), median;
    size_t n = 0;

    for (size_t i = 0; i < side->len; i++) {
        const struct lpo_diff_load *l = &side->at[i]->load;
        double value = figure == LOAD_CLOCK   ? l->sm_mhz
                       : figure == LOAD_POWER ? l->watts
                                              : l->slowed;

        if (l->samples && !isnan(value))
            values[n++] = value;
    }
    median = lpo_diff_median(values, n);
    free(values);
    return median;
}

static bool far_apart(double a, double b, double share)
{
    return fabs(b - a) > share * (a > b ? a : b); /* false where one is not known */
}

static const char *slowed_words(struct lpo_diff *d, const struct lpo_diff_runs *side, double share)
{
    uint64_t reasons = 0;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < side->len; i++)
        reasons |= side->at[i]->load.reasons;
    if (!(share > 0))
        return "in no sample";
    lpo_power_throttle_add(&text, reasons);
    return lpo_arena_printf(d->arena, "in %.0f %% of the samples (%s)", 100 * share, text.at);
}

static void compare_loads(struct lpo_diff *d)
{
    const struct lpo_diff_runs *a = &d->side[LPO_DIFF_A], *b = &d->side[LPO_DIFF_B];
    double mhz_a = side_load(a, LOAD_CLOCK), mhz_b = side_load(b, LOAD_CLOCK);
    double watts_a = side_load(a, LOAD_POWER), watts_b = side_load(b, LOAD_POWER);
    double slow_a = side_load(a, LOAD_SLOWED), slow_b = side_load(b, LOAD_SLOWED);

    if (far_apart(mhz_a, mhz_b, LEAST_CLOCK))
        add(d, "sm_clock", lpo_arena_printf(d->arena, "%.0f", mhz_a),
            lpo_arena_printf(d->arena, "%.0f", mhz_b), false);
    if (far_apart(watts_a, watts_b, LEAST_POWER))
        add(d, "power", lpo_arena_printf(d->arena, "%.0f", watts_a),
            lpo_arena_printf(d->arena, "%.0f", watts_b), false);
    if (fabs(slow_b - slow_a) > LEAST_SLOWED)
        add(d, "slowed", slowed_words(d, a, slow_a), slowed_words(d, b, slow_b), false);
}

/* --- is it one program? --------------------------------------------------------------------- */

#define LEAST_COMMON 0.2 /* of the GPU time, in kernels that both sides have */

/* The range of a step has the same name in every program that a profiler steps through. */
static bool is_step(const struct lpo_diff *d, enum lpo_diff_side side,
                    const struct lpo_diff_item *x)
{
    const struct lpo_diff_digest *g = d->side[side].at[0];

    return g->step < g->items[LPO_DIFF_REGIONS].len && x == &g->items[LPO_DIFF_REGIONS].at[g->step];
}

/* Two programs without one kernel, region or operator in common are not two runs of one. */
static bool share_anything(const struct lpo_diff *d)
{
    bool any = false;

    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->rows[t].len; i++) {
            const struct lpo_diff_item *a = d->rows[t].at[i].item[LPO_DIFF_A];
            const struct lpo_diff_item *b = d->rows[t].at[i].item[LPO_DIFF_B];

            if (strcmp((a ? a : b)->name, "(outside)") == 0 ||
                (a && b && is_step(d, LPO_DIFF_A, a) && is_step(d, LPO_DIFF_B, b)))
                continue;
            any = true;
            if (a && b)
                return true;
        }
    return !any;
}

/* The share of its GPU time that a side spent in kernels that the other has, too; 1: no time. */
static double common_share(const struct lpo_diff *d, enum lpo_diff_side side)
{
    double common = 0, all = 0;

    for (size_t i = 0; i < d->rows[LPO_DIFF_KERNELS].len; i++) {
        const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[i];
        double ns = r->item[side] ? (double)r->item[side]->ns : 0;

        all += ns;
        common += r->item[!side] ? ns : 0;
    }
    return all > 0 ? common / all : 1;
}

/* A new engine or fused kernels may change nearly all of them, so this alone refuses nothing. */
static void compare_programs(struct lpo_diff *d)
{
    double a = common_share(d, LPO_DIFF_A), b = common_share(d, LPO_DIFF_B);

    if (!share_anything(d))
        add(d, "nothing_common", d->side[LPO_DIFF_A].at[0]->label, d->side[LPO_DIFF_B].at[0]->label,
            true);
    else if (a < LEAST_COMMON && b < LEAST_COMMON)
        add(d, "common_kernels", lpo_arena_printf(d->arena, "%.0f %%", 100 * a),
            lpo_arena_printf(d->arena, "%.0f %%", 100 * b), false);
}

static int fatal_first(const void *a, const void *b)
{
    const struct lpo_diff_difference *x = a, *y = b;

    if (x->fatal != y->fatal)
        return x->fatal ? -1 : 1;
    if (x->work != y->work)
        return x->work ? -1 : 1;
    return strcmp(x->key, y->key);
}

void lpo_diff_compare_facts(struct lpo_diff *d)
{
    const struct lpo_diff_digest *a = d->side[LPO_DIFF_A].at[0];

    d->comparable = true;
    for (size_t i = 1; i < d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len; i++) {
        const struct lpo_diff_digest *b = lpo_diff_run_at(d, i);

        compare_run(d, a, b);
        compare_traces(d, a, b);
    }
    if (!a->launches && !d->side[LPO_DIFF_B].at[0]->launches && d->by_host &&
        a->items[LPO_DIFF_OPERATORS].len + a->items[LPO_DIFF_REGIONS].len > 1)
        add(d, "no_gpu", "no kernels", "no kernels", false);
    compare_loads(d);
    compare_programs(d);
    if (lpo_diff_digest_fact(a, "gpu") == NULL &&
        lpo_diff_digest_fact(d->side[LPO_DIFF_B].at[0], "gpu") != NULL)
        add(d, "gpu", unrecorded, lpo_diff_digest_fact(d->side[LPO_DIFF_B].at[0], "gpu"), false);
    else if (lpo_diff_digest_fact(a, "gpu") != NULL &&
             lpo_diff_digest_fact(d->side[LPO_DIFF_B].at[0], "gpu") == NULL)
        add(d, "gpu", lpo_diff_digest_fact(a, "gpu"), unrecorded, false);
    lpo_vec_sort(&d->differences, fatal_first);
}
