/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics are chosen: from a table of passes, and from CUPTI's host object for every chip
 * where a libcupti is here (it needs no GPU). */
#include "../sanitized.h"
#include "../unit.h"

#include "gpu/sampler/find.h"
#include "gpu/sampler/metrics.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

struct asked {
    const char *unknown; /* a part of names that this chip does not have */
    size_t room;         /* metrics in one pass */
    unsigned questions;
};

static int passes(void *ctx, const char **names, size_t count)
{
    struct asked *q = ctx;

    q->questions++;
    for (size_t i = 0; i < count; i++)
        if (q->unknown && strstr(names[i], q->unknown))
            return -1;
    return (int)((count + q->room - 1) / q->room);
}

static const struct choice_case {
    const char *name, *unknown;
    size_t room;
    unsigned want_len, most_questions;
    const char *want[3];
    const char *left_out;
} cases[] = {
    { "all at once with one question", NULL, 64, 9, 1, { "dram__bytes_read.sum" }, NULL },
    { "in order of worth while they fit",
      NULL,
      2,
      2,
      64,
      { "dram__bytes_read.sum", "dram__bytes_write.sum" },
      "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed (no counter" },
    { "another spelling",
      "dram__bytes_",
      64,
      9,
      64,
      { "fbpa__dram_read_bytes.sum", "fbpa__dram_write_bytes.sum" },
      NULL },
    { "what the chip does not have",
      "nvl",
      64,
      7,
      64,
      { "dram__bytes_read.sum" },
      "nvlrx__bytes.sum (this GPU does not have it)" },
};

static void choose(void **state)
{
    const struct choice_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct asked q = { c->unknown, c->room, 0 };
    struct lpo_sampler_choice out;

    lpo_sampler_choose(a, NULL, 0, passes, &q, &out);
    assert_int_equal(out.len, c->want_len);
    assert_true(q.questions <= c->most_questions);
    for (size_t i = 0; i < 3 && c->want[i]; i++)
        assert_string_equal(out.at[i].name, c->want[i]);
    if (c->left_out)
        assert_non_null(strstr(out.left_out, c->left_out));
    else
        assert_null(out.left_out);
}

/* What must be had of each chip; the rest may be missing. */
static const struct chip_case {
    const char *name;
    unsigned meanings; /* bits */
    bool clocks;
} chips[] = {
#define BIT(m) (1u << (m))
#define DRAM   (BIT(LPO_COUNTER_DRAM_READ) | BIT(LPO_COUNTER_DRAM_WRITE))
#define SM     (BIT(LPO_COUNTER_SM_ACTIVE) | BIT(LPO_COUNTER_L2_BYTES))
#define TENSOR BIT(LPO_COUNTER_TENSOR_ACTIVE)
#define PCIE   (BIT(LPO_COUNTER_PCIE_READ) | BIT(LPO_COUNTER_PCIE_WRITE))
#define NVLINK (BIT(LPO_COUNTER_NVLINK_RX) | BIT(LPO_COUNTER_NVLINK_TX))
    { "TU102", DRAM | SM | PCIE | NVLINK, true },
    { "GA100", DRAM | SM | TENSOR | PCIE | NVLINK, true },
    { "GA102", DRAM | SM | TENSOR | PCIE, false },
    { "AD102", DRAM | SM | TENSOR | PCIE, false },
    { "GH100", DRAM | SM | TENSOR | PCIE | NVLINK, false },
    { "GB100", DRAM | SM | TENSOR | NVLINK, false },
    { "GB202", DRAM | SM | TENSOR | PCIE, false },
    { "GB10B", SM | TENSOR, false },
};

struct real {
    struct pm_cupti cupti;
    const char *chip;
};

static int real_passes(void *ctx, const char **names, size_t count)
{
    struct real *r = ctx;

    return lpo_sampler_host_passes(&r->cupti, r->chip, NULL, names, count);
}

/* CUPTI opens its library with RTLD_DEEPBIND, which ends a program under ASan. */
static bool may_open_cupti(void)
{
    return !SANITIZED;
}

static void choose_for_chip(void **state)
{
    const struct chip_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct real r = { .chip = c->name };
    struct lpo_sampler_choice out;
    unsigned got = 0;

    assert_true(lpo_sampler_chip_counts_clocks(c->name) == c->clocks);
    assert_false(lpo_sampler_chip_too_old(c->name));
    if (!may_open_cupti() || lpo_sampler_cupti_open(a, 0, &r.cupti, NULL) < 0) {
        print_message("# SKIP %s: no libcupti here, or not under ASan\n", c->name);
        return;
    }
    lpo_sampler_choose(a, NULL, 0, real_passes, &r, &out);
    for (size_t i = 0; i < out.len; i++)
        got |= BIT(out.at[i].meaning);
    if ((got & c->meanings) != c->meanings)
        fail_msg("%s: wanted meanings %x, got %x; left out: %s", c->name, c->meanings, got,
                 out.left_out ? out.left_out : "nothing");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, choose);
    UNIT_ROWS(&u, chips, choose_for_chip);
    return unit_run(&u);
}
