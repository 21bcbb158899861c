/* SPDX-License-Identifier: Apache-2.0 */
/* Random traces against brute force: the sweep must agree with the definition on every launch. */
#include "../unit.h"
#include "build.h"

#include "analysis/wall/timeline.h"
#include "region/cells.h"
#include "region/scope.h"
#include "util/str.h"

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const struct random_case {
    const char *name;
    uint32_t seed;
    int ranges, launches;
    int64_t span; /* small spans make borders meet */
    bool nested;  /* else ranges overlap at will */
} cases[] = {
    { "nested, wide", 1, 60, 80, 100000, true },
    { "nested, borders meet", 2, 60, 80, 40, true },
    { "overlapping, wide", 3, 60, 80, 100000, false },
    { "overlapping, borders meet", 4, 60, 80, 30, false },
    { "overlapping, crowded", 5, 200, 300, 25, false },
    { "few ranges", 6, 3, 50, 20, false },
};

static void add_range(struct lpo_trace *t, uint32_t *seed, int64_t a, int64_t b)
{
    static const char *const names[] = { "a", "b", "c", "d/e" };
    bool start_end = next(seed) % 5 == 0;

    lpo_vec_push(&t->ranges, (struct lpo_range){ a, b, lpo_trace_name(t, names[next(seed) % 4]),
                                                 next(seed) % (uint32_t)t->threads.len, 0,
                                                 start_end ? LPO_START_END : LPO_PUSH_POP, 0 });
}

/* Halves of halves nest by construction. */
static void add_nested(struct lpo_trace *t, uint32_t *seed, int64_t a, int64_t b, int *left)
{
    int64_t mid = a + (b - a) / 2;

    if (*left <= 0 || b <= a)
        return;
    --*left;
    add_range(t, seed, a, b);
    t->ranges.at[t->ranges.len - 1].thread = 0;
    if (next(seed) % 4)
        add_nested(t, seed, a, mid, left);
    if (next(seed) % 4)
        add_nested(t, seed, mid, b, left);
}

static struct lpo_trace *make(const struct random_case *c, uint32_t *seed)
{
    struct lpo_trace *t = build_trace("@1 @2 #2 @1");
    int left = c->ranges;

    if (c->nested)
        while (left > 0)
            add_nested(t, seed, 0, c->span, &left);
    else
        for (int i = 0; i < c->ranges; i++) {
            int64_t a = next(seed) % c->span, b = next(seed) % c->span;

            add_range(t, seed, a < b ? a : b, a < b ? b : a);
        }
    for (int i = 0; i < c->launches; i++) {
        int64_t a = next(seed) % c->span, b = a + next(seed) % 4;
        uint32_t thread = c->nested ? 0 : next(seed) % (uint32_t)t->threads.len;

        lpo_vec_push(&t->launches, (struct lpo_launch){ a, b, thread });
        lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = a + 50,
                                                       .end_ns = a + 50 + next(seed) % 9,
                                                       .name = lpo_trace_name(t, "k"),
                                                       .launch = (uint32_t)i,
                                                       .stack = LPO_NONE,
                                                       .capture = LPO_NONE,
                                                       .shape = LPO_NONE,
                                                       .metrics = LPO_NONE,
                                                       .process = t->threads.at[thread].process,
                                                       .device = 0,
                                                       .stream = next(seed) % 2,
                                                       .kind = LPO_KERNEL });
    }
    return t;
}

static const struct lpo_trace *sorting;

static int outer_first(const void *pa, const void *pb)
{
    const struct lpo_range *a = &sorting->ranges.at[*(const uint32_t *)pa];
    const struct lpo_range *b = &sorting->ranges.at[*(const uint32_t *)pb];

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void brute_path(const struct lpo_trace *t, const struct lpo_launch *l, struct lpo_str *out)
{
    uint32_t hold[512];
    size_t n = 0;

    for (uint32_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (r->kind == LPO_PUSH_POP && r->thread == l->thread && r->start_ns <= l->start_ns &&
            r->end_ns >= l->end_ns)
            hold[n++] = i;
    }
    sorting = t;
    qsort(hold, n, sizeof *hold, outer_first);
    for (size_t i = 0; i < n; i++) {
        const char *name = lpo_trace_text(t, t->ranges.at[hold[i]].name);

        lpo_str_addf(out, "%s%s", i ? "/" : "", strcmp(name, "d/e") == 0 ? "d\\/e" : name);
    }
}

static size_t brute_set(const struct lpo_trace *t, const struct lpo_launch *l)
{
    uint32_t names[8];
    size_t n = 0;

    for (uint32_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        bool known = false;

        if (r->kind != LPO_START_END || r->start_ns > l->start_ns || r->end_ns < l->end_ns ||
            t->threads.at[r->thread].process != t->threads.at[l->thread].process)
            continue;
        for (size_t k = 0; k < n; k++)
            known |= names[k] == r->name;
        if (!known)
            names[n++] = r->name;
    }
    return n;
}

static void check_places(const struct lpo_trace *t, const struct lpo_region_tree *tree)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_launch *l = &t->launches.at[t->gpu_ops.at[i].launch];
        const struct lpo_place *p = &tree->places.at[lpo_region_place(tree, &t->gpu_ops.at[i])];
        LPO_STR want = { 0 };
        LPO_STR got = { 0 };

        brute_path(t, l, &want);
        if (p->leaf != LPO_NONE)
            lpo_region_add_path(tree, p->leaf, &got);
        assert_string_equal(lpo_str_text(&got), lpo_str_text(&want));
        assert_int_equal(tree->sets.at[p->set].count, brute_set(t, l));
    }
}

/* parent = own + children, and every kernel counts once in the total. */
static void check_sums(const struct lpo_region_scope *s)
{
    struct lpo_sum outermost = { 0 };

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        int64_t ns = r->self.ns;
        uint64_t launches = r->self.launches, kernels = 0;

        for (size_t k = 0; k < s->rows.len; k++) {
            if (s->rows.at[k].parent_row != i)
                continue;
            ns += s->rows.at[k].all.ns;
            launches += s->rows.at[k].all.launches;
        }
        assert_int_equal(ns, r->all.ns);
        assert_int_equal(launches, r->all.launches);
        for (uint32_t k = 0; k < r->nkernels; k++)
            kernels += s->kernels.at[r->kernels + k].all.launches;
        assert_int_equal(kernels, r->all.launches);
        if (lpo_region_row_depth(s, r) == 0 && strcmp(lpo_region_row_kind(s, r), "start_end") != 0)
            lpo_region_sum_add(&outermost, &r->all);
    }
    assert_true(outermost.ns <= s->coverage.total.ns);
    assert_int_equal(s->coverage.in_region.ns + s->coverage.outside.ns + s->coverage.no_launch.ns,
                     s->coverage.total.ns);
}

static int64_t brute_busy(const struct lpo_trace *t, int64_t upto)
{
    int64_t busy = 0;

    for (int64_t now = 0; now < upto; now++) {
        bool any = false;

        for (size_t i = 0; i < t->gpu_ops.len && !any; i++)
            any = t->gpu_ops.at[i].start_ns <= now && now < t->gpu_ops.at[i].end_ns;
        busy += any;
    }
    return busy;
}

static void check_random(void **state)
{
    const struct random_case *c = *state;
    uint32_t seed = c->seed;

    for (int round = 0; round < 40; round++) {
        LPO_AUTO(lpo_trace) t = make(c, &seed);
        LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
        LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
        LPO_AUTO(lpo_wall_timeline) line = lpo_wall_timeline_create(tree);
        lpo_scope_ids ids = { 0 };
        int64_t per_process = 0, all = 0;

        check_places(t, tree);
        lpo_region_scopes_list(cells, &ids);
        for (size_t i = 0; i < ids.len; i++) {
            LPO_AUTO(lpo_region_scope) s = lpo_region_scope_create(cells, ids.at[i], NULL);

            check_sums(s);
            if (ids.at[i].kind == LPO_SCOPE_ALL)
                all = s->coverage.total.ns;
            if (ids.at[i].kind == LPO_SCOPE_PROCESS)
                per_process += s->coverage.total.ns;
        }
        lpo_vec_free(&ids);
        assert_int_equal(all, per_process);
        if (c->span < 1000) {
            assert_int_equal(line->devices.at[0].busy_ns, brute_busy(t, c->span + 100));
            assert_int_equal(line->devices.at[0].idle_ns + line->devices.at[0].busy_ns,
                             line->devices.at[0].span_ns);
        }
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_random);
    return unit_run(&u);
}
