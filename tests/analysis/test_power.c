/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>

#include "analysis/power/power.h"
#include "util/err.h"
#include "util/str.h"

#define HEAD "unix_ns,gpu,power_mw,throttle_reasons,energy_mj\n"
#define S(n) (n##000000000LL)

/* GPU 0 at 100 W for three seconds; its counter says 110 W. */
#define STEADY                                                                                     \
    HEAD "10000000000,0,100000,0,0\n11000000000,0,100000,4,110000\n"                               \
         "12000000000,0,100000,0,220000\n13000000000,0,100000,1,330000\n"

static const struct parse_case {
    const char *name, *text;
    int code;
    size_t gpus, samples; /* of the first GPU */
    uint64_t skipped;
} parses[] = {
    { "samples of one GPU", STEADY, 0, 1, 4, 0 },
    { "two GPUs, sorted by number", HEAD "1,7,,,\n1,3,5,,\n2,3,5,,\n", 0, 2, 2, 0 },
    { "unknown columns are passed over", "gpu,x,unix_ns\n0,what,5\n", 0, 1, 1, 0 },
    { "a cut last line does not count", HEAD "1,0,5,,\n2,0,5,,1", 0, 1, 1, 1 },
    { "time that goes back does not count", HEAD "5,0,5,,\n5,0,5,,\n4,0,5,,\n", 0, 1, 1, 2 },
    { "no numbers do not count", HEAD "x,0,5,,\n1,-1,5,,\n1,0,5 ,,\n1,0,99999999999999999999,,\n",
      0, 0, 0, 4 },
    { "too few cells do not count", HEAD "1,0,5\n", 0, 0, 0, 1 },
    { "only the header", HEAD, 0, 0, 0, 0 },
    { "an empty file is refused", "", LPO_E_FORMAT, 0, 0, 0 },
    { "another file is refused", "a,b\n1,2\n", LPO_E_FORMAT, 0, 0, 0 },
};

static void check_parse(void **state)
{
    const struct parse_case *c = *state;
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_power_parse(c->text, strlen(c->text), &p, &err), c->code);
    if (c->code)
        return;
    assert_int_equal(p->gpus.len, c->gpus);
    assert_int_equal(p->skipped, c->skipped);
    if (c->gpus)
        assert_int_equal(p->gpus.at[0].samples.len, c->samples);
}

static const struct energy_case {
    const char *name, *text;
    int64_t from_ns, to_ns;
    double joules; /* NAN: unknown */
    enum lpo_how how;
} energies[] = {
    { "a short window is the integral", STEADY, S(11), S(12), 100, LPO_ESTIMATED },
    { "part of an interval", STEADY, 10250000000, 10750000000, 50, LPO_ESTIMATED },
    { "a long one is the counter's", STEADY, S(10), 13000000001, 330, LPO_MEASURED },
    { "a little beyond the samples power stays", STEADY, 9500000000, S(10), 50, LPO_ESTIMATED },
    { "far beyond nothing is known", STEADY, S(5), S(6), NAN, LPO_UNKNOWN },
    { "an empty window", STEADY, S(11), S(11), NAN, LPO_UNKNOWN },
    { "power that changes evenly", HEAD "0,0,0,,\n1000000000,0,200000,,\n", 0, S(1), 100,
      LPO_ESTIMATED },
    { "a hole is unknown", HEAD "0,0,5,,\n9000000000,0,5,,\n", S(2), S(3), NAN, LPO_UNKNOWN },
    { "power not told is unknown", HEAD "0,0,,,\n1000000000,0,,,\n", 0, S(1), NAN, LPO_UNKNOWN },
    { "a counter that was reset is not believed",
      HEAD "0,0,1000,,900\n1000000000,0,1000,,1900\n2000000000,0,1000,,5\n3000000000,0,1000,,9\n",
      0, S(3), 3, LPO_ESTIMATED },
};

static void check_energy(void **state)
{
    const struct energy_case *c = *state;
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_err err = { 0 };
    struct lpo_measure m;

    assert_int_equal(lpo_power_parse(c->text, strlen(c->text), &p, &err), 0);
    m = lpo_power_joules(&p->gpus.at[0], c->from_ns, c->to_ns);
    assert_int_equal(m.how, c->how);
    if (lpo_measure_known(m))
        assert_true(fabs(m.value - c->joules) < 1e-3);
}

static void check_window(void **state)
{
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_power_window w;

    (void)state;
    assert_int_equal(lpo_power_parse(STEADY, strlen(STEADY), &p, NULL), 0);
    lpo_power_look(&p->gpus.at[0], S(10), S(13), &w);
    assert_int_equal(w.samples, 4);
    assert_int_equal(w.slowed, 1); /* idle is no slowdown */
    assert_int_equal(w.reasons, 5);
    assert_true(w.mean[LPO_POWER_MW].value == 100000);
    assert_false(lpo_measure_known(w.mean[LPO_POWER_CELSIUS]));
    /* between two samples the earlier one stands */
    lpo_power_look(&p->gpus.at[0], 11100000000, 11200000000, &w);
    assert_int_equal(w.samples, 1);
    assert_int_equal(w.slowed, 1);
    lpo_power_look(&p->gpus.at[0], S(20), S(21), &w);
    assert_int_equal(w.samples, 0);
}

static const struct reason_case {
    const char *name;
    uint64_t bits;
    const char *want;
} reasons[] = {
    { "no reason", 0, "none" },
    { "idle", 1, "idle" },
    { "two of them", 0x24, "power cap, heat (software)" },
    { "a bit of tomorrow", 0x8004, "power cap, 0x8000" },
};

static void check_reason(void **state)
{
    const struct reason_case *c = *state;
    LPO_STR s = { 0 };

    lpo_power_throttle_add(&s, c->bits);
    assert_string_equal(s.at, c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, parses, check_parse);
    UNIT_ROWS(&u, energies, check_energy);
    UNIT_TEST(&u, check_window);
    UNIT_ROWS(&u, reasons, check_reason);
    return unit_run(&u);
}
