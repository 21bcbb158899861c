/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled counters written and read back: exact, cut anywhere, full. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit.h"
#include "gpu/sampler/file.h"
#include "trace/counters/counters.h"
#include "util/err.h"
#include "util/file.h"

static const struct lpo_sampler_metric metrics[] = {
    { "dram__bytes_read.sum", "byte", LPO_COUNTER_DRAM_READ, LPO_COUNTER_AMOUNT, 1 },
    { "tensor.pct", "%", LPO_COUNTER_TENSOR_ACTIVE, LPO_COUNTER_SHARE, 10000 },
    { "sm__cycles_active.avg", "cycle", LPO_COUNTER_SM_CYCLES, LPO_COUNTER_AMOUNT, 1000 },
};

static const uint64_t t0 = 1794755025844526479u;

static struct lpo_sampler_file *begun(char path[UNIT_PATH], uint64_t limit)
{
    static const char *const facts[][2] = {
        { "chip", "GH100" }, { "interval_ns", "50000" }, { "device.index", "3" }, { "host", "" }
    };
    struct lpo_sampler_file *f = NULL;

    unit_file("", 0, path);
    assert_int_equal(lpo_sampler_file_create(path, limit, &f, NULL), 0);
    assert_int_equal(lpo_sampler_file_facts(f, facts, 4, NULL), 0);
    assert_int_equal(lpo_sampler_file_metrics(f, metrics, 3, NULL), 0);
    return f;
}

static void values_of(unsigned i, double out[3])
{
    out[0] = i * 1234567.0;
    out[1] = (i % 1001) / 10.0;
    out[2] = i % 7 ? i / 8.0 : NAN;
}

static int add(struct lpo_sampler_file *f, unsigned i)
{
    double v[3];

    values_of(i, v);
    return lpo_sampler_file_sample(f, t0 + i * 50000ull, t0 + (i + 1) * 50000ull, v, NULL);
}

static int end_as(struct lpo_sampler_file *f, enum lpo_counters_ended by)
{
    const struct lpo_sampler_file_totals totals = { by, 77, 1000, 12 };

    return lpo_sampler_file_end(f, &totals, NULL);
}

static void what_is_written_is_read(void **state)
{
    char path[UNIT_PATH];
    LPO_AUTO(lpo_sampler_file) f = begun(path, 0);
    LPO_AUTO(lpo_counters_file) c = NULL;
    struct lpo_counters_sample s;
    const struct lpo_counters_totals *t;
    double v[3];

    (void)state;
    for (unsigned i = 0; i < 20000; i++) { /* several blocks of their own accord */
        assert_int_equal(add(f, i), 0);
        if (i == 9999)
            lpo_sampler_file_loss(f, t0 + 10000 * 50000ull, t0 + 10000 * 50000ull + 10, 4,
                                  LPO_COUNTERS_LOST_OVERFLOW, "full", NULL);
    }
    assert_int_equal(lpo_sampler_file_note(f, "left out: x", NULL), 0);
    assert_int_equal(end_as(f, LPO_COUNTERS_ENDED_STOPPED), 0);
    assert_int_equal(lpo_sampler_file_samples(f), 20000);
    assert_int_equal(lpo_counters_open(path, &c, NULL), 0);
    unlink(path);
    assert_string_equal(lpo_counters_about(c)->chip, "GH100");
    assert_int_equal(lpo_counters_about(c)->gpu_index, 3);
    assert_int_equal(lpo_counters_find(lpo_counters_about(c), LPO_COUNTER_SM_CYCLES), 2);
    assert_int_equal(lpo_counters_find(lpo_counters_about(c), LPO_COUNTER_NVLINK_RX), -1);
    for (int pass = 0; pass < 2; pass++) { /* the second gives the same again */
        for (unsigned i = 0; i < 20000; i++) {
            if (i == 10000) {
                assert_true(lpo_counters_next(c, &s));
                assert_null(s.values);
                assert_int_equal(s.lost, 4);
                assert_int_equal(s.why, LPO_COUNTERS_LOST_OVERFLOW);
            }
            assert_true(lpo_counters_next(c, &s));
            values_of(i, v);
            assert_int_equal(s.start_ns, t0 + i * 50000ull);
            assert_int_equal(s.end_ns, t0 + (i + 1) * 50000ull);
            assert_true(s.values[0] == v[0]);
            assert_true(fabs(s.values[1] - v[1]) <= 0.00005);
            assert_true(isnan(v[2]) ? isnan(s.values[2]) : s.values[2] == v[2]);
        }
        assert_false(lpo_counters_next(c, &s));
        assert_false(lpo_counters_next(c, &s));
        t = lpo_counters_totals(c);
        assert_int_equal(t->samples, 20000);
        assert_int_equal(t->lost_ns, 10);
        assert_int_equal(t->ended_by, LPO_COUNTERS_ENDED_STOPPED);
        assert_int_equal(t->cpu_ns, 77);
        assert_int_equal(t->wall_ns, 1000);
        assert_int_equal(t->nnotes, 1);
        assert_string_equal(t->notes[0], "left out: x");
        lpo_counters_rewind(c);
    }
}

/* A sample has the interval that was asked for at its time, also when the file is read again. */
static void an_interval_holds_from_where_it_is_written(void **state)
{
    char path[UNIT_PATH];
    LPO_AUTO(lpo_sampler_file) f = begun(path, 0);
    LPO_AUTO(lpo_counters_file) c = NULL;
    struct lpo_counters_sample s;

    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        if (i == 10 || i == 20)
            assert_int_equal(
                lpo_sampler_file_interval(f, t0 + i * 50000ull, i * 10000u, 40000000, NULL), 0);
        assert_int_equal(add(f, i), 0);
    }
    assert_int_equal(lpo_sampler_file_interval(f, t0, 0, 1, NULL), 0); /* makes no sense: ignored */
    assert_int_equal(lpo_sampler_file_loss(f, t0 + 30 * 50000ull, t0 + 31 * 50000ull, 1,
                                           LPO_COUNTERS_LOST_CHANGE, "again", NULL),
                     0);
    assert_int_equal(end_as(f, LPO_COUNTERS_ENDED_STOPPED), 0);
    assert_int_equal(lpo_counters_open(path, &c, NULL), 0);
    unlink(path);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < 30; i++) {
            assert_true(lpo_counters_next(c, &s));
            assert_int_equal(s.start_ns, t0 + i * 50000ull);
            assert_int_equal(s.interval_ns, i < 10 ? 50000 : i < 20 ? 100000 : 200000);
        }
        assert_true(lpo_counters_next(c, &s));
        assert_int_equal(s.why, LPO_COUNTERS_LOST_CHANGE);
        assert_int_equal(s.interval_ns, 200000);
        assert_false(lpo_counters_next(c, &s));
        lpo_counters_rewind(c);
    }
    assert_int_equal(lpo_counters_about(c)->interval_ns, 50000);
}

static uint64_t count_of(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_counters_file) c = NULL;
    struct lpo_counters_sample s;
    uint64_t n = 0;

    if (lpo_counters_over(bytes, len, &c, NULL) < 0)
        return 0;
    while (lpo_counters_next(c, &s))
        n += s.values != NULL;
    return n;
}

/* Whatever a kill cuts off, the rest reads. */
static void cut_at_every_byte(void **state)
{
    char path[UNIT_PATH];
    LPO_AUTO(lpo_sampler_file) f = begun(path, 0);
    LPO_AUTO(lpo_file_text) whole = NULL;
    uint64_t last = 0;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        add(f, i);
        if (i % 10 == 9)
            lpo_sampler_file_flush(f, NULL);
    }
    assert_int_equal(lpo_file_text_read(path, &whole, NULL), 0);
    unlink(path);
    for (size_t len = 0; len <= whole->len; len++) {
        char *copy = malloc(len + 1);
        uint64_t n;

        memcpy(copy, whole->at, len);
        n = count_of(copy, len);
        free(copy);
        assert_true(n == last || n == last + 10);
        last = n;
    }
    assert_int_equal(last, 40);
    for (size_t i = 0; i < whole->len; i++) { /* a changed byte ends the file before its block */
        if (i >= 10 && i < 16)
            continue; /* the minor version and what is reserved */
        whole->at[i] ^= 0x10;
        assert_true(count_of(whole->at, whole->len) <= 30);
        whole->at[i] ^= 0x10;
    }
}

static void the_limit_is_kept_and_said(void **state)
{
    char path[UNIT_PATH];
    LPO_AUTO(lpo_sampler_file) f = begun(path, 100000);
    LPO_AUTO(lpo_counters_file) c = NULL;
    struct lpo_counters_sample s, last = { 0 };
    struct stat st;
    unsigned i = 0;
    uint64_t samples;

    (void)state;
    while (i < 100000) {
        if (add(f, i++) < 0)
            break;
        if (i % 100 == 0 && lpo_sampler_file_flush(f, NULL) < 0)
            break;
    }
    assert_true(i < 100000);
    assert_int_equal(add(f, i), LPO_E_LIMIT); /* and stays so */
    samples = lpo_sampler_file_samples(f);
    assert_int_equal(lpo_sampler_file_loss(f, t0 + i * 50000ull, t0 + i * 50000ull + 5, 1,
                                           LPO_COUNTERS_LOST_LIMIT, "full", NULL),
                     0);
    assert_int_equal(end_as(f, LPO_COUNTERS_ENDED_LIMIT), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size <= 100000 && st.st_size > 80000);
    assert_int_equal(lpo_counters_open(path, &c, NULL), 0);
    unlink(path);
    while (lpo_counters_next(c, &s))
        last = s;
    assert_int_equal(last.why, LPO_COUNTERS_LOST_LIMIT);
    assert_int_equal(lpo_counters_totals(c)->samples, samples);
    assert_int_equal(lpo_counters_totals(c)->ended_by, LPO_COUNTERS_ENDED_LIMIT);
}

/* A full disk, as far as a test can make one: what was written before stays whole. */
static void a_full_disk_leaves_whole_blocks(void **state)
{
    char path[UNIT_PATH];
    LPO_AUTO(lpo_sampler_file) f = begun(path, 0);
    LPO_AUTO(lpo_counters_file) c = NULL;
    struct rlimit old, small = { 3000, 0 };
    struct lpo_counters_sample s;
    struct lpo_err err = { 0 };
    uint64_t taken;
    unsigned i;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    for (i = 0; i < 10000; i++) {
        add(f, i);
        if (i % 100 == 99 && lpo_sampler_file_flush(f, &err) < 0)
            break;
    }
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(err.code, LPO_E_IO);
    taken = lpo_sampler_file_samples(f);
    assert_true(taken > 0);
    assert_int_equal(end_as(f, LPO_COUNTERS_ENDED_ERROR), 0);
    assert_int_equal(lpo_counters_open(path, &c, NULL), 0);
    unlink(path);
    while (lpo_counters_next(c, &s))
        ;
    assert_int_equal(lpo_counters_totals(c)->samples, taken);
    assert_int_equal(lpo_counters_totals(c)->ended_by, LPO_COUNTERS_ENDED_ERROR);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, what_is_written_is_read);
    UNIT_TEST(&u, an_interval_holds_from_where_it_is_written);
    UNIT_TEST(&u, cut_at_every_byte);
    UNIT_TEST(&u, the_limit_is_kept_and_said);
    UNIT_TEST(&u, a_full_disk_leaves_whole_blocks);
    return unit_run(&u);
}
