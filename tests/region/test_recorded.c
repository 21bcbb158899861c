/* SPDX-License-Identifier: Apache-2.0 */
/* Host time of regions where the run was recorded in windows: what lies outside counts nothing. */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "region/scope.h"
#include "region/tree.h"
#include "util/str.h"

/* `want` lists path=calls,host,own of each region. Windows are pairs of times of process 1. */
static const struct recorded_case {
    const char *name, *trace;
    int64_t windows[6];
    const char *want;
    bool cut_short, ring;
} cases[] = {
    { "no windows", "A 0-100 B 10-20", { 0 }, "A=1,100,90 A/B=1,10,10" },
    { "a range around two windows",
      "A 10-100 B 10-20 B 50-60",
      { 10, 20, 50, 60 },
      "A=1,20,0 A/B=2,20,20" },
    { "a range that ends after its window", "A 10-100", { 5, 40 }, "A=1,30,30" },
    { "a range that began before it", "A 10-100", { 40, 200 }, "A=1,60,60" },
    { "borders belong to it", "A 10-100", { 10, 100 }, "A=1,90,90" },
    { "a window inside, empty", "A 10-100", { 20, 20 }, "A=1,0,0" },
    { "start/end ranges outside are no calls",
      "S:R 0-10 S:R 20-30 S:R 45-55 S:R 70-80",
      { 20, 30, 50, 60 },
      "R=2,15,15" },
    { "no footer: what follows the last window counts",
      "A 10-100 B 30-40 B 80-90",
      { 10, 20 },
      "A=1,90,70 A/B=2,20,20",
      .cut_short = true },
    { "another process has no windows", "A 10-100 #2 A 10-100", { 20, 30 }, "A=2,100,100" },
    { "a ring's windows begin late", "A 10-100", { 90, 100 }, "A=1,90,90", .ring = true },
};

static void add_windows(struct lpo_trace *t, const struct recorded_case *c)
{
    struct lpo_window_range range = { .name = LPO_NONE, .open_end = c->cut_short, .ring = c->ring };

    for (size_t i = 0; i < 6 && c->windows[i + 1]; i += 2)
        lpo_vec_push(&t->windows, ((struct lpo_window){ .start_ns = c->windows[i],
                                                        .end_ns = c->windows[i + 1] }));
    range.count = t->windows.len;
    if (range.count)
        lpo_vec_push(&t->window_ranges, range);
}

static void check(void **state)
{
    const struct recorded_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_STR got = { 0 };

    add_windows(t, c);
    {
        LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
        LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
        LPO_AUTO(lpo_region_scope)
        s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);

        for (size_t i = 0; i < s->rows.len; i++) {
            const struct lpo_region_row *r = &s->rows.at[i];

            if (!r->visits) /* "(outside)" */
                continue;
            lpo_str_add(&got, got.len ? " " : "");
            lpo_region_row_add_path(s, r, &got);
            lpo_str_addf(&got, "=%d,%lld,%lld", (int)r->visits, (long long)r->host_ns,
                         (long long)r->host_self_ns);
        }
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    return unit_run(&u);
}
