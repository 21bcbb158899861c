/* SPDX-License-Identifier: Apache-2.0 */
/* When the outer regions were open. */
#include "../unit.h"
#include "build.h"

#include "region/tree.h"
#include "region/windows.h"
#include "util/str.h"

/* `want` lists path=start-end of every window. */
static const struct window_case {
    const char *name, *trace;
    unsigned depth;
    const char *want;
} cases[] = {
    { "nothing", "k 1-2=3", 0, "" },
    { "visits apart are windows apart", "A 0-10 A 20-30", 0, "A=0-10 A=20-30" },
    { "threads that overlap are one window", "A 0-10 @2 A 5-15", 0, "A=0-15" },
    { "children are left out", "A 0-10 B 2-3", 0, "A=0-10" },
    { "one level down", "A 0-10 B 2-3", 1, "A=0-10 A/B=2-3" },
    { "start/end ranges have none", "S:S 0-10", 0, "" },
};

static void check_windows(void **state)
{
    const struct window_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_windows) w = lpo_region_windows_create(tree, c->depth);
    LPO_STR got = { 0 };

    for (size_t i = 0; i < w->rows.len; i++) {
        lpo_str_add(&got, i ? " " : "");
        lpo_region_add_path(tree, w->rows.at[i].node, &got);
        lpo_str_addf(&got, "=%lld-%lld", (long long)w->rows.at[i].start_ns,
                     (long long)w->rows.at[i].end_ns);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_windows);
    return unit_run(&u);
}
