/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of threads without ranges: who adopts them, and above all who does not. */
#include "source_cases.h"

/* `want` lists what regions adopt: path+launches/time, and the total at the end. Every row runs
 * over every source. What the regions hold themselves is checked by test_attribute.c, whose rows
 * did not change when adoption came. */
static const struct source_case cases[] = {
    { "the only thread with an open range", "A 0-100 @2 k 20-22=5", "A+1/5 =1/5" },
    { "with all ranges open there", "A 0-100 A1 10-50 @2 k 20-22=5 k 60-61=7",
      "A+2/12 A/A1+1/5 =2/12" },
    { "borders belong to the range", "A 10-20 @2 k 10-20=5", "A+1/5 =1/5" },
    { "the whole call must lie inside", "A 0-100 A1 10-20 @2 k 15-25=5", "A+1/5 =1/5" },
    { "a call that outlives every range", "A 0-20 @2 k 15-25=5", "=0/0" },
    { "a call that began before every range", "A 10-20 @2 k 9-15=5", "=0/0" },
    { "two ranges hold it together only", "A 0-10 B 10-20 @2 k 5-15=5", "=0/0" },
    { "after the range", "A 0-20 @2 k 30-31=5", "=0/0" },
    { "two threads in ranges: nobody knows", "A 0-100 @3 B 0-100 @2 k 20-22=5", "=0/0" },
    { "two threads in a range of one name", "A 0-100 @3 A 0-100 @2 k 20-22=5", "=0/0" },
    { "two in turn", "A 0-100 @3 B 200-300 @2 k 20-22=5 k 220-221=7", "A+1/5 B+1/7 =2/12" },
    { "two, of which one does not hold the call", "A 0-100 @3 B 0-21 @2 k 20-22=5", "A+1/5 =1/5" },
    { "two, of which one has ended", "A 0-100 @3 B 0-10 @2 k 20-22=5", "A+1/5 =1/5" },
    { "two, of which one comes later", "A 0-100 @3 B 21-90 @2 k 20-22=5 k 30-31=7", "A+1/5 =1/5" },
    { "three threads", "A 0-100 @3 B 0-50 @4 C 0-30 @2 k 20-21=1 k 40-41=2 k 60-61=4",
      "A+1/4 =1/4" },
    { "the longest of many on one thread", "A 0-10 B 20-90 C 30-40 @3 D 0-25 @2 k 50-51=5",
      "B+1/5 =1/5" },
    { "a thread with a range of its own", "A 0-100 @2 B 10-30 k 20-22=5", "=0/0" },
    { "a thread whose own range has ended", "A 0-100 @2 B 10-15 k 20-22=5", "A+1/5 =1/5" },
    { "a thread whose own range does not hold the call", "A 0-100 @2 B 10-21 k 20-22=5",
      "A+1/5 =1/5" },
    { "no thread adopts its own", "A 0-10 k 20-22=5", "=0/0" },
    { "another process", "A 0-100 #2 k 20-22=5", "=0/0" },
    { "each process for itself", "A 0-100 @2 k 20-22=5 #2 B 0-100 @2 k 20-22=7",
      "A+1/5 B+1/7 =2/12" },
    { "workers of one waiting thread", "A 0-100 @2 k 20-22=5 @3 k 30-31=7", "A+2/12 =2/12" },
    { "a thread waits for one that waits for the launch: two", "A 0-100 @2 B 10-50 @3 k 20-22=5",
      "=0/0" },
    { "the one in the middle has ended its range", "A 0-100 @2 B 10-19 @3 k 20-22=5",
      "A+1/5 =1/5" },
    { "a second one whose range begins with the call", "A 0-100 @3 B 20-90 @2 k 20-22=5", "=0/0" },
    { "a second one whose range ends with the call", "A 0-100 @3 B 10-22 @2 k 20-22=5", "=0/0" },
    { "a second one whose range is the call", "A 0-100 @3 B 20-22 @2 k 20-22=5", "=0/0" },
    { "an inner range that ends while it waits", "A 0-100 A1 10-21 A2 22-40 @2 k 20-23=5",
      "A+1/5 =1/5" },
    { "ranges never closed on two threads", "A 0-0... @3 B 5-0... @2 k 20-22=5", "=0/0" },
    { "a range never closed beside one that ended", "A 0-0... @3 B 0-10 @2 k 20-22=5",
      "A+1/5 =1/5" },
    { "four threads, one after the other",
      "A 0-10 @2 B 10-20 @3 C 20-30 @4 k 2-3=1 k 12-13=2 k 22-23=4 k 10-10=8",
      "A+1/1 B+1/2 C+1/4 =3/7" },
    { "a start/end range holds it already", "A 0-100 S:S 10-50 @2 k 20-22=5", "=0/0" },
    { "a start/end range does not adopt", "S:S 10-50 @2 k 60-62=5", "=0/0" },
    { "start/end of elsewhere does not make two", "A 0-100 S:S 30-50 @2 k 20-22=5", "A+1/5 =1/5" },
    { "a range never closed", "A 0-0... @2 k 50-51=7", "A+1/7 =1/7" },
    { "overlap without nesting", "A 0-10 B 5-15 @2 k 6-7=3 k 12-13=4", "A+1/3 A/B+1/3 B+1/4 =2/7" },
};

static void describe(const struct lpo_region_scope *s, struct lpo_str *out)
{
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (!r->adopted.launches)
            continue;
        lpo_region_row_add_path(s, r, out);
        lpo_str_addf(out, "+%llu/%lld ", (unsigned long long)r->adopted.launches,
                     (long long)r->adopted.ns);
    }
    lpo_str_addf(out, "=%llu/%lld", (unsigned long long)s->coverage.adopted.launches,
                 (long long)s->coverage.adopted.ns);
}

/* What is adopted stays where it is. */
static void check_coverage(const struct lpo_region_scope *s)
{
    assert_true(s->coverage.adopted.launches <= s->coverage.outside.launches);
    assert_int_equal(s->coverage.in_region.launches + s->coverage.outside.launches +
                         s->coverage.no_launch.launches,
                     s->coverage.total.launches);
}

static void check_trace(const struct lpo_trace *t, const char *want)
{
    check_scope(t, describe, check_coverage, want);
}

static void check_tree(void **state)
{
    const struct source_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);

    check_trace(t, c->want);
}

/* Ranges that the reader summed have lost when they were open. */
static bool is_summed(const struct build_source *source)
{
    return source->read == build_native_summed;
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_row(c);

    check_trace(t, is_summed(c->source) ? "=0/0" : c->row->want);
}

static void not_where_nobody_asks_for_it(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-100 @2 k 20-22=5");

    (void)state;
    t->skip |= LPO_SKIP_ADOPTION;
    check_trace(t, "=0/0");
}

/* Each thread has a short range at both ends of the time in which another one launches: a program
 * that asked every thread about every launch would look at 4 billion pairs. */
static void many_threads_and_many_launches(void **state)
{
    enum { THREADS = 20000, LAUNCHES = 200000 };
    LPO_AUTO(lpo_trace) t = build_trace("k 5000-5001=1");
    LPO_AUTO(lpo_region_tree) tree = NULL;

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t thread = lpo_trace_thread(t, 0, 10 + i);

        for (int64_t end = 1; end < 10000000; end += 9000000)
            lpo_vec_push(&t->ranges, (struct lpo_range){ end - 1, end, lpo_trace_name(t, "r"),
                                                         thread, 0, LPO_PUSH_POP, 0 });
    }
    for (uint32_t i = 0; i < LAUNCHES; i++)
        lpo_vec_push(&t->launches, (struct lpo_launch){ 10000 + i, 10001 + i, 0, 0 });
    tree = lpo_region_tree_create(t);
    assert_null(tree->launch_links);
}

int main(void)
{
    static struct file_case files[BUILD_SOURCES * sizeof cases / sizeof *cases];
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_tree);
    add_files(&u, cases, sizeof cases / sizeof *cases, check_file, files);
    UNIT_TEST(&u, not_where_nobody_asks_for_it);
    UNIT_TEST(&u, many_threads_and_many_launches);
    return unit_run(&u);
}
