/* SPDX-License-Identifier: Apache-2.0 */
/* Random native traces, read three times: with every row kept, with the ranges summed while they
 * are read, and with the GPU operations summed too. The trees must be equal, row by row, every
 * launch must be in the same place, and the sums of every place equal to the nanosecond. */
#include "build_files.h"

#include "region/cells.h"
#include "region/tree.h"

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

enum { THREADS = 3, DOMAINS = 3 };

static const struct summed_case {
    const char *name;
    uint32_t seed;
    unsigned events, domains;
    unsigned pushes;   /* of ten ranges that begin or end: above five, the stack grows */
    unsigned instants; /* of ten launches: at the time of what came before */
    bool gpu_first;    /* the block of GPU records stands before those of the threads */
} cases[] = {
    { "one domain", 1, 4000, 1, 5, 0, false },
    { "domains that cross", 2, 4000, DOMAINS, 5, 0, true },
    { "deeper than levels are counted", 3, 4000, 1, 7, 0, false },
    { "crossing and deep", 4, 6000, DOMAINS, 7, 2, false },
    { "launches on borders", 5, 4000, DOMAINS, 5, 9, true },
    { "often empty", 6, 4000, 2, 3, 5, false },
};

static void put_tag(struct lpo_str *s, unsigned tag, unsigned domain, uint64_t *last, uint64_t now)
{
    lpo_str_addc(s, (char)(tag | (domain ? LPOT_EV_DOMAIN : 0)));
    put_v(s, now - *last);
    *last = now;
    if (domain)
        put_v(s, domain);
}

/* Pushes and pops a nanosecond apart at least; launches and nodes anywhere between. */
static void random_thread(const struct summed_case *c, uint32_t *seed, int64_t *corr,
                          uint64_t *started, struct lpo_str *s)
{
    uint64_t now = 1000 + next(seed) % 100, last = 0;
    int64_t last_id[2] = { 0, 0 };

    for (unsigned i = 0; i < c->events; i++) {
        unsigned domain = next(seed) % c->domains, what = next(seed) % 10;
        char name[2] = { (char)('a' + next(seed) % 4), 0 };

        if (next(seed) % 12 == 0) { /* any thread may end what another has started */
            bool start = !*started || next(seed) % 2;

            now += 1 + next(seed) % 3;
            put_tag(s, start ? LPOT_EV_START | LPOT_EV_INLINE : LPOT_EV_END, 0, &last, now);
            put_v(s, start ? ++*started : 1 + next(seed) % *started);
            if (start)
                put_text(s, name);
            continue;
        }
        if (what < 6) {
            bool push = next(seed) % 10 < c->pushes;

            now += 1 + next(seed) % 3;
            put_tag(s, push ? LPOT_EV_PUSH | LPOT_EV_INLINE : LPOT_EV_POP, domain, &last, now);
            if (push)
                put_text(s, name);
            continue;
        }
        now += next(seed) % 10 < c->instants ? 0 : next(seed) % 3;
        put_tag(s, what < 9 ? LPOT_EV_LAUNCH : LPOT_EV_NODE, 0, &last, now);
        put_z(s, *corr - last_id[what == 9]);
        last_id[what == 9] = (*corr)++;
        if (what == 6) /* the call lasts, and something may happen in it */
            continue;
        now += next(seed) % 10 < c->instants ? 0 : next(seed) % 3;
        put_tag(s, LPOT_EV_RETURN, 0, &last, now);
    }
}

static void put_facts(struct lpo_str *file)
{
    LPO_STR facts = { 0 }, defs = { 0 };
    static const char *const pairs[] = { "pid", "7", "clock", "realtime" };

    lpo_str_add(file, LPOT_MAGIC);
    put_u(file, LPOT_MAJOR, 2);
    put_u(file, LPOT_MINOR, 2);
    put_u(file, 0, 4);
    for (size_t i = 0; i < 4; i++)
        put_text(&facts, pairs[i]);
    put_block(file, LPOT_FACTS, 0, &facts);
    for (int i = 1; i <= DOMAINS; i++) {
        char name[2] = { (char)('A' + i), 0 };

        lpo_str_addc(&defs, LPOT_DEF_STRING);
        put_text(&defs, name);
        lpo_str_addc(&defs, LPOT_DEF_DOMAIN);
        put_v(&defs, 1);
        put_v(&defs, (uint64_t)i);
    }
    put_block(file, LPOT_DEFS, 0, &defs);
}

/* An operation for every launch; one in five is of a graph. */
static void put_kernels(struct lpo_str *file, int64_t count)
{
    static const unsigned char start[] = { LPOT_GPU_PLACE, 0, 1, 7 };
    LPO_STR s = { 0 };
    int64_t last_node = 0;

    lpo_str_addn(&s, (const char *)start, sizeof start);
    for (int shape = 1; shape <= DOMAINS; shape++) {
        lpo_str_addc(&s, LPOT_GPU_SHAPE);
        put_v(&s, (uint64_t)shape);
        for (int i = 0; i < 11; i++)
            put_v(&s, 0);
    }
    for (int64_t i = 0; i < count; i++) {
        bool graph = i % 5 == 0, set = i % 7 == 0;

        lpo_str_addc(&s,
                     (char)((set ? LPOT_GPU_SET : LPOT_GPU_KERNEL) | (graph ? LPOT_GPU_GRAPH : 0)));
        put_v(&s, set ? 0 : (uint64_t)(i % DOMAINS));
        if (set) {
            put_u(&s, 3, 1);
            put_v(&s, 0);
            put_v(&s, (uint64_t)i);
        }
        put_z(&s, 10);
        put_v(&s, (uint64_t)(i * i % 97));
        put_z(&s, i ? 1 : 0);
        if (graph) {
            put_v(&s, 1);
            put_z(&s, i - last_node);
            last_node = i;
        }
    }
    put_block(file, LPOT_GPU, 0, &s);
}

static void make_file(const struct summed_case *c, struct lpo_str *file)
{
    uint32_t seed = c->seed * 7919;
    uint64_t started = 0;
    int64_t corr = 0;
    LPO_STR threads = { 0 };

    put_facts(file);
    for (unsigned i = 1; i <= THREADS; i++) {
        LPO_STR s = { 0 };

        random_thread(c, &seed, &corr, &started, &s);
        put_block(&threads, LPOT_THREAD, i, &s);
    }
    if (c->gpu_first)
        put_kernels(file, corr);
    lpo_str_addn(file, threads.at, threads.len);
    if (!c->gpu_first)
        put_kernels(file, corr);
}

static void tell_place(const struct lpo_region_tree *tree, uint32_t place, struct lpo_str *out)
{
    const struct lpo_place *p = &tree->places.at[place];
    const struct lpo_region_set *set = &tree->sets.at[p->set];
    LPO_STR names = { 0 };

    if (p->leaf != LPO_NONE)
        lpo_region_add_path(tree, p->leaf, out);
    for (char c = 'a'; c <= 'd'; c++) /* names of ranges are single letters */
        for (uint32_t i = 0; i < set->count; i++) {
            names.len = 0;
            lpo_region_add_path(tree, tree->set_nodes.at[set->first + i], &names);
            if (names.at[0] == c)
                lpo_str_addf(out, " +%c", c);
        }
}

/* All that a tree says, as text. */
static void tell(const struct lpo_region_tree *tree, bool launches, struct lpo_str *out)
{
    const struct lpo_trace *t = tree->trace;

    lpo_str_addf(out, "deep %llu crooked %llu open %llu\n", (unsigned long long)tree->too_deep,
                 (unsigned long long)tree->crooked, (unsigned long long)tree->open);
    for (uint32_t i = 0; i < tree->nodes.len; i++) {
        lpo_region_add_path(tree, i, out);
        for (uint32_t v = tree->nodes.at[i].visits; v != LPO_NONE; v = tree->visits.at[v].next)
            lpo_str_addf(out, " %llu %lld %lld %u", (unsigned long long)tree->visits.at[v].count,
                         (long long)tree->visits.at[v].host_ns,
                         (long long)tree->visits.at[v].child_ns, tree->visits.at[v].open);
        lpo_str_addc(out, '\n');
    }
    for (size_t i = 0; i < t->gpu_ops.len && launches; i++) {
        lpo_str_addf(out, "kernel %zu ", i);
        tell_place(tree, lpo_region_place(tree, &t->gpu_ops.at[i]), out);
        lpo_str_addc(out, '\n');
    }
}

/* The sums of every place, in any order. */
static void tell_cells(const struct lpo_region_tree *tree, struct lpo_str *out)
{
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);

    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];

        tell_place(tree, c->place, out);
        if (c->capture != LPO_NONE) {
            lpo_str_add(out, " captured in ");
            tell_place(tree, c->capture, out);
        }
        lpo_str_addf(out, " %s %llu %llu %lld %lld %lld %llu %d %d\n",
                     lpo_trace_text(tree->trace, c->name), (unsigned long long)c->sum.launches,
                     (unsigned long long)c->sum.unknown, (long long)c->sum.ns,
                     (long long)c->sum.min_ns, (long long)c->sum.max_ns,
                     (unsigned long long)c->sum.bytes, c->kind, c->no_launch);
    }
}

enum mode { KEPT, RANGES_SUMMED, ALL_SUMMED };

static void read_with(const struct lpo_str *file, enum mode mode, struct lpo_trace *t)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;
    char path[UNIT_PATH];

    small.range_bytes = mode == KEPT ? usual.range_bytes : 0;
    small.gpu_record_bytes = mode == ALL_SUMMED ? 0 : usual.gpu_record_bytes;
    lpo_budget_use(&small);
    unit_file(file->at, file->len, path);
    read_file_at(path, t);
    lpo_budget_use(&usual);
}

static void read_and_tell(const struct lpo_str *file, enum mode mode, bool launches,
                          struct lpo_str *out, struct lpo_str *sums)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_tree) tree = NULL;

    read_with(file, mode, t);
    assert_true(mode == KEPT ? t->paths.len == 0 : t->paths.len > 0);
    assert_true(mode == ALL_SUMMED ? t->gpu_ops.len == 0 : t->gpu_ops.len > 0);
    tree = lpo_region_tree_create(t);
    tell(tree, launches, out);
    tell_cells(tree, sums);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Where ranges cross, a region that was never entered as such may be met a little earlier. */
static void sort_lines(struct lpo_str *s, bool sort)
{
    LPO_VEC(char *) lines = { 0 };
    LPO_STR sorted = { 0 };
    char *save = NULL;

    if (!sort)
        return;
    for (char *l = strtok_r(s->at, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
        lpo_vec_push(&lines, l);
    qsort(lines.at, lines.len, sizeof *lines.at, by_text);
    for (size_t i = 0; i < lines.len; i++)
        lpo_str_addf(&sorted, "%s\n", lines.at[i]);
    s->len = 0;
    lpo_str_addn(s, sorted.at, sorted.len);
    lpo_vec_free(&lines);
}

static void check_summed(void **state)
{
    const struct summed_case *c = *state;
    LPO_STR file = { 0 }, kept = { 0 }, summed = { 0 }, kept_sums = { 0 }, sums = { 0 };

    make_file(c, &file);
    read_and_tell(&file, KEPT, true, &kept, &kept_sums);
    read_and_tell(&file, RANGES_SUMMED, true, &summed, &sums);
    assert_true(kept.len > 1000 && kept_sums.len > 1000);
    sort_lines(&kept, c->domains > 1);
    sort_lines(&summed, c->domains > 1);
    assert_string_equal(kept.at, summed.at);
    sort_lines(&kept_sums, true);
    sort_lines(&sums, true);
    assert_string_equal(kept_sums.at, sums.at);
}

/* GPU operations have no rows then. Regions in which nothing ran may be met earlier. */
static void check_all_summed(void **state)
{
    const struct summed_case *c = *state;
    LPO_STR file = { 0 }, kept = { 0 }, summed = { 0 }, kept_sums = { 0 }, sums = { 0 };

    make_file(c, &file);
    read_and_tell(&file, KEPT, false, &kept, &kept_sums);
    read_and_tell(&file, ALL_SUMMED, false, &summed, &sums);
    sort_lines(&kept, true);
    sort_lines(&summed, true);
    assert_string_equal(kept.at, summed.at);
    sort_lines(&kept_sums, true);
    sort_lines(&sums, true);
    assert_string_equal(kept_sums.at, sums.at);
}

/* The outer levels are kept to be shown, and nothing counts them twice. */
static void shown_not_counted(void **state)
{
    LPO_AUTO(lpo_trace) kept = lpo_trace_create();
    LPO_AUTO(lpo_trace) summed = lpo_trace_create();
    LPO_STR file = { 0 };

    (void)state;
    make_file(&cases[1], &file);
    read_with(&file, KEPT, kept);
    read_with(&file, RANGES_SUMMED, summed);
    assert_true(summed->ranges.len > 0);
    assert_true(summed->ranges.len < kept->ranges.len);
    assert_int_equal(lpo_trace_range_count(kept), kept->ranges.len);
    assert_int_equal(lpo_trace_range_count(summed), kept->ranges.len);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_summed);
    UNIT_ROWS(&u, cases, check_all_summed);
    UNIT_TEST(&u, shown_not_counted);
    return unit_run(&u);
}
