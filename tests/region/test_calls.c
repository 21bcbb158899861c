/* SPDX-License-Identifier: Apache-2.0 */
/* Which call of which region each launch was made in. */
#include "../unit.h"
#include "build.h"

#include "region/calls.h"
#include "region/tree.h"
#include "util/str.h"

/* `want` lists for each launch the calls around it, outermost first, as path@start; -: none. */
static const struct calls_case {
    const char *name, *trace, *want;
} cases[] = {
    { "a launch in no range", "k 1-2=3", "-" },
    { "calls of one region are told apart", "A 0-10 A 20-30 k 5-6=1 k 25-26=1", "A@0 | A@20" },
    { "nested", "A 0-30 B 1-9 B 11-19 k 2-3=1 k 12-13=1 k 25-26=1",
      "A@0 A/B@1 | A@0 A/B@11 | A@0" },
    { "a range that nothing is launched in is no call", "A 0-10 B 12-15 k 2-3=1", "A@0" },
    { "a thread has its own calls", "A 0-10 k 1-2=1 @2 A 5-15 k 7-8=1", "A@0 | A@5" },
    { "a launch on the border is inside", "A 0-10 k 10-10=1", "A@0" },
    { "a call that outlasts the range is not", "A 0-10 k 9-11=1", "-" },
    { "of two that begin together the longer is outside", "B 0-5 A 0-10 k 1-2=1", "A@0 A/B@0" },
    { "overlapping without nesting, in both", "A 0-10 B 5-15 k 7-8=1", "-" },
    { "start/end ranges have none", "S:S 0-10 k 1-2=1", "-" },
    { "in the second of two that overlap", "A 0-10 B 5-15 k 12-13=1", "B@5" },
};

static void check_calls(void **state)
{
    const struct calls_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_call_list) calls = lpo_region_call_list_create(tree);
    LPO_STR got = { 0 };

    for (size_t i = 0; i < t->launches.len; i++) {
        uint32_t chain[8];
        size_t n = 0;

        lpo_str_add(&got, i ? " | " : "");
        for (uint32_t at = calls->launch[i]; at != LPO_NONE; at = calls->rows.at[at].parent)
            chain[n++] = at;
        lpo_str_add(&got, n ? "" : "-");
        for (size_t k = n; k-- > 0;) {
            lpo_region_add_path(tree, calls->rows.at[chain[k]].node, &got);
            lpo_str_addf(&got, "@%lld%s", (long long)calls->rows.at[chain[k]].start_ns,
                         k ? " " : "");
        }
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_calls);
    return unit_run(&u);
}
