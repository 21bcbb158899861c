/* SPDX-License-Identifier: Apache-2.0 */
/* First visits of regions apart from later ones: host and GPU time of one call, and where they
 * differ. */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/tree.h"
#include "util/str.h"

/* `want` lists path=first,later/first GPU,later GPU of each region with later visits; `!` where
 * they differ. */
static const struct first_case {
    const char *name, *trace, *want;
} cases[] = {
    { "one visit has no later one", "A 0-10 k 1-2=3", "" },
    { "equal visits", "A 0-10 k 1-2=3 A 20-30 k 21-22=3", "A=10,10/3,3" },
    { "the first takes twice as long", "A 0-20 k 1-2=3 A 30-40 k 31-32=3", "A=20,10/3,3!" },
    { "nearly twice", "A 0-19 k 1-2=3 A 30-40 k 31-32=3", "A=19,10/3,3" },
    { "nine later ones do not hide it",
      "A 0-30 A 100-110 A 200-210 A 300-310 A 400-410 A 500-510 A 600-610 A 700-710 A 800-810 "
      "A 900-910 k 901-902=1",
      "A=30,10/0,0!" },
    { "twenty-three do",
      "A 0-20 A 100-110 A 200-210 A 300-310 A 400-410 A 500-510 A 600-610 A 700-710 A 800-810 A "
      "900-910 A 1000-1010 A 1100-1110 A 1200-1210 A 1300-1310 A 1400-1410 A 1500-1510 A 1600-1610 "
      "A 1700-1710 A 1800-1810 A 1900-1910 A 2000-2010 A 2100-2110 A 2200-2210 A 2300-2310 k "
      "901-902=1",
      "A=20,10/0,0" },
    { "later is the mean of the others", "A 0-40 k 1-2=9 A 50-60 k 51-52=2 A 70-90 k 71-72=4",
      "A=40,15/9,3!" },
    { "the first in time, not in the file", "A 30-40 k 31-32=3 A 0-20 k 1-2=8", "A=20,10/8,3!" },
    { "only the GPU differs: kernels were tried", "A 0-10 k 1-2=9 k 3-4=9 A 20-30 k 21-22=3",
      "A=10,10/18,3!" },
    { "children count", "A 0-20 B 1-9 k 2-3=5 A 30-40 B 31-33 k 32-33=5",
      "A=20,10/5,5! A/B=8,2/5,5!" },
    { "a call that begins inside and ends later is not in it", "A 0-20 k 19-21=7 A 30-40 k 31-32=3",
      "A=20,10/0,3!" },
    { "each process has its first", "A 0-20 k 1-2=3 A 30-40 #2 A 0-40 A 50-60 A 70-80 k 71-72=6",
      "A=30,10/1,2!" },
    { "another thread at the same time is a later visit", "A 0-20 k 1-2=3 @2 A 5-15 k 6-7=4",
      "A=20,10/3,4!" },
    { "one that was never closed is not compared", "A 0-10 A 20-30...", "" },
    { "start/end ranges", "S:S 0-20 k 1-2=3 S:S 30-40 k 31-32=1", "S=20,10/3,1!" },
};

/* The same of folded lines: regions with numbers are visited once each. */
static const struct first_case folded[] = {
    { "the first of numbered regions",
      "s0 0-40 k 1-2=3 s1 50-60 k 51-52=3 s2 70-80 k 71-72=3 s3 90-100 k 91-92=3",
      "s*=40,10/3,3!" },
    { "two later ones show little", "s0 0-40 k 1-2=3 s1 50-60 k 51-52=3 s2 70-80 k 71-72=3", "" },
    { "unless it takes ten times as long",
      "s0 0-100 k 1-2=3 s1 150-160 k 151-152=3 s2 170-180 k 171-172=3", "s*=100,10/3,3!" },
    { "no longer than the others",
      "s0 0-10 k 1-2=3 s1 50-60 k 51-52=3 s2 70-80 k 71-72=3 s3 90-100 k 91-92=3", "" },
    { "within what the others vary",
      "s0 0-40 k 1-2=3 s1 50-60 k 51-52=3 s2 70-80 k 71-72=3 s3 100-140 k 101-102=3", "" },
    { "the first in time, not by its number",
      "s3 0-40 k 1-2=3 s0 50-60 k 51-52=3 s1 70-80 k 71-72=3 s2 90-100 k 91-92=3",
      "s*=40,10/3,3!" },
    { "the first gives the GPU more to do",
      "s0 0-40 k 1-2=33 s1 50-60 k 51-52=3 s2 70-80 k 71-72=3 s3 90-100 k 91-92=3", "" },
    { "the last was cut", "s0 0-1000 k 1-2=3 s1 1050-1060", "" },
    { "what lies in them",
      "s0 0-40 A 1-31 k 2-3=3 s1 50-60 A 51-52 k 51-52=3 s2 70-80 A 71-72 k 71-72=3 s3 90-100 A "
      "91-92 k 91-92=3",
      "s*=40,10/3,3! s*/A=30,1/3,3!" },
    { "visited again, they have first calls of their own",
      "s0 0-40 s1 50-60 s2 70-80 k 71-72=3 s0 100-110 s1 110-120 s2 120-130", "s*=20,10/1,0!" },
    { "each process numbers its own",
      "s0 0-400 s1 450-460 s2 470-480 k 471-472=3 #2 s3 0-10 s4 20-30", "" },
};

static void add_calls(struct lpo_str *out, const char *path, const struct lpo_region_calls *c)
{
    lpo_str_addf(out, "%s%s=%lld,%lld/%lld,%lld%s", out->len ? " " : "", path,
                 (long long)c->first_host_ns, (long long)c->later_host_ns,
                 (long long)c->first_gpu_ns, (long long)c->later_gpu_ns, c->differ ? "!" : "");
}

static void check_folded(void **state)
{
    const struct first_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    LPO_AUTO(lpo_region_scope)
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, 1);
    LPO_STR got = { 0 };

    for (size_t i = 0; i < fold->rows.len; i++) {
        struct lpo_region_calls calls;

        if (lpo_region_row_calls(s, &fold->rows.at[i].sum, &calls))
            add_calls(&got, fold->rows.at[i].path, &calls);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

static void check(void **state)
{
    const struct first_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    LPO_AUTO(lpo_region_scope)
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    LPO_STR got = { 0 }, path = { 0 };

    for (size_t i = 0; i < s->rows.len; i++) {
        struct lpo_region_calls calls;

        if (!lpo_region_row_calls(s, &s->rows.at[i], &calls))
            continue;
        lpo_str_clear(&path);
        lpo_region_row_add_path(s, &s->rows.at[i], &path);
        add_calls(&got, lpo_str_text(&path), &calls);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, folded, check_folded);
    return unit_run(&u);
}
