/* SPDX-License-Identifier: Apache-2.0 */
/* Random native traces, read twice: once with every range kept, once with the ranges summed while
 * they are read. The trees must be equal, row by row, and every launch in the same place. */
#include "build_files.h"

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
} cases[] = {
    { "one domain", 1, 4000, 1, 5, 0 },
    { "domains that cross", 2, 4000, DOMAINS, 5, 0 },
    { "deeper than levels are counted", 3, 4000, 1, 7, 0 },
    { "crossing and deep", 4, 6000, DOMAINS, 7, 2 },
    { "launches on borders", 5, 4000, DOMAINS, 5, 9 },
    { "often empty", 6, 4000, 2, 3, 5 },
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
                          struct lpo_str *s)
{
    uint64_t now = 1000 + next(seed) % 100, last = 0;
    int64_t last_id[2] = { 0, 0 };

    for (unsigned i = 0; i < c->events; i++) {
        unsigned domain = next(seed) % c->domains, what = next(seed) % 10;
        char name[2] = { (char)('a' + next(seed) % 4), 0 };

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

/* A kernel for every launch. */
static void put_kernels(struct lpo_str *file, int64_t count)
{
    static const unsigned char start[] = { LPOT_GPU_PLACE, 0, 1, 7, LPOT_GPU_SHAPE, 1 };
    LPO_STR s = { 0 };

    lpo_str_addn(&s, (const char *)start, sizeof start);
    for (int i = 0; i < 11; i++)
        put_v(&s, 0);
    for (int64_t i = 0; i < count; i++) {
        lpo_str_addc(&s, LPOT_GPU_KERNEL);
        put_v(&s, 0);
        put_z(&s, 10);
        put_v(&s, 5);
        put_z(&s, i ? 1 : 0);
    }
    put_block(file, LPOT_GPU, 0, &s);
}

static void make_file(const struct summed_case *c, struct lpo_str *file)
{
    uint32_t seed = c->seed * 7919;
    int64_t corr = 0;

    put_facts(file);
    for (unsigned i = 1; i <= THREADS; i++) {
        LPO_STR s = { 0 };

        random_thread(c, &seed, &corr, &s);
        put_block(file, LPOT_THREAD, i, &s);
    }
    put_kernels(file, corr);
}

/* All that a tree says, as text. */
static void tell(const struct lpo_region_tree *tree, struct lpo_str *out)
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
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        uint32_t leaf = tree->places.at[lpo_region_place(tree, &t->gpu_ops.at[i])].leaf;

        lpo_str_addf(out, "kernel %zu ", i);
        if (leaf != LPO_NONE)
            lpo_region_add_path(tree, leaf, out);
        lpo_str_addc(out, '\n');
    }
}

static void read_and_tell(const struct lpo_str *file, bool summed, struct lpo_str *out)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    char path[UNIT_PATH];

    small.range_bytes = summed ? 0 : usual.range_bytes;
    lpo_budget_use(&small);
    unit_file(file->at, file->len, path);
    read_file_at(path, t);
    lpo_budget_use(&usual);
    assert_true(summed ? t->paths.len > 0 : t->paths.len == 0);
    tree = lpo_region_tree_create(t);
    tell(tree, out);
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
    LPO_STR file = { 0 }, kept = { 0 }, summed = { 0 };

    make_file(c, &file);
    read_and_tell(&file, false, &kept);
    read_and_tell(&file, true, &summed);
    assert_true(kept.len > 1000);
    sort_lines(&kept, c->domains > 1);
    sort_lines(&summed, c->domains > 1);
    assert_string_equal(kept.at, summed.at);
}

/* The outer levels are kept to be shown, and nothing counts them twice. */
static void shown_not_counted(void **state)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;
    LPO_AUTO(lpo_trace) kept = lpo_trace_create();
    LPO_AUTO(lpo_trace) summed = lpo_trace_create();
    LPO_STR file = { 0 };
    char path[UNIT_PATH];

    (void)state;
    make_file(&cases[1], &file);
    unit_file(file.at, file.len, path);
    read_file_at(path, kept);
    small.range_bytes = 0;
    lpo_budget_use(&small);
    unit_file(file.at, file.len, path);
    read_file_at(path, summed);
    lpo_budget_use(&usual);
    assert_true(summed->ranges.len > 0);
    assert_true(summed->ranges.len < kept->ranges.len);
    assert_int_equal(lpo_trace_range_count(kept), kept->ranges.len);
    assert_int_equal(lpo_trace_range_count(summed), kept->ranges.len);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_summed);
    UNIT_TEST(&u, shown_not_counted);
    return unit_run(&u);
}
