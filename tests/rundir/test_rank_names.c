/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank the name of a file says. */
#include "../unit.h"
#include "rundir/belonging.h"

static const struct name_case {
    const char *path;
    int32_t want;
} cases[] = {
    { "rank3.json", 3 },
    { "/data/a/rank12.trace.json.gz", 12 },
    { "trace_rank_3.json", 3 },
    { "trace-Rank-0007.json", 7 },
    { "rank=5.json", 5 },
    { "run_rank3_host.json", 3 },
    { "rank3/trace.json", 3 },
    { "/r9/trace.json", 9 },
    { "job/rank1/rank2.json", 2 },
    { "r3.json", 3 },
    { "host-a_r3_step.json", 3 },
    { "1731730000.5-TP-3.trace.json.gz", 3 },
    { "r3x.json", -1 },
    { "error3.json", -1 },
    { "frank3.json", -1 },
    { "rank.json", -1 },
    { "rank_x3.json", -1 },
    { "trace3.json", -1 },
    { "http3.json", -1 },
    { "rank99999999999999999999.json", -1 },
    { "rank", -1 },
    { "r", -1 },
    { "", -1 },
    { "/", -1 },
    { "rank3/deep/trace.json", -1 },
};

static void check_name(void **state)
{
    const struct name_case *c = *state;

    assert_int_equal(lpo_rundir_rank_of_name(c->path), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        unit_add(&u, *cases[i].path ? cases[i].path : "(empty)", check_name, (void *)&cases[i]);
    return unit_run(&u);
}
