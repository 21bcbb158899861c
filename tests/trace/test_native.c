/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of our own format on files cut, flipped and made by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "lpo/trace_format.h"
#include "trace/native/blocks.h"
#include "trace/native/native.h"
#include "trace/trace.h"
#include "util/crc32c.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

static struct lpo_file_text *seed(const char *name)
{
    struct lpo_file_text *text = NULL;
    LPO_STR path = { 0 };

    lpo_str_addf(&path, "%s/fuzz/seeds/native/%s", unit_env("LPO_SOURCE_ROOT", "."), name);
    assert_int_equal(lpo_file_text_read(path.at, &text, NULL), 0);
    return text;
}

/* Whatever a kill cuts off, the rest reads, and never less of it than a shorter file gave. */
static void cut_at_every_byte(void **state)
{
    static const char *const names[] = { "decode.lpot", "every.lpot", "kinds.lpot",   "graphs.lpot",
                                         "whole.lpot",  "calls.lpot", "windows.lpot", "ring.lpot" };

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        LPO_AUTO(lpo_file_text) whole = seed(names[k]);
        size_t gpu_ops = 0, ranges = 0;

        for (size_t len = 0; len <= whole->len; len++) {
            LPO_AUTO(lpo_trace) t = lpo_trace_create();
            char *copy = malloc(len + 1); /* its own block, so that a read too far is seen */
            int rc;

            memcpy(copy, whole->at, len);
            rc = lpo_native_read_bytes(copy, len, t, NULL);
            free(copy);
            assert_int_equal(rc, len < LPOT_PREAMBLE_BYTES ? LPO_E_FORMAT : 0);
            assert_true(t->gpu_ops.len >= gpu_ops && t->ranges.len >= ranges);
            gpu_ops = t->gpu_ops.len;
            ranges = t->ranges.len;
        }
        assert_true(gpu_ops + ranges > 0);
    }
}

/* A changed byte is seen: the file ends before its block. */
static void flip_every_byte(void **state)
{
    LPO_AUTO(lpo_file_text) whole = seed("decode.lpot");
    size_t same = 0;

    (void)state;
    for (size_t i = LPOT_PREAMBLE_BYTES; i < whole->len; i++) {
        LPO_AUTO(lpo_native_blocks) b = NULL;
        struct lpo_native_block block;

        whole->at[i] ^= 0x10;
        assert_int_equal(lpo_native_blocks_over(whole->at, whole->len, &b, NULL), 0);
        while (lpo_native_blocks_next(b, &block))
            ;
        same += lpo_native_blocks_ignored(b) == 0;
        whole->at[i] ^= 0x10;
    }
    assert_int_equal(same, 0);
}

static void other_versions(void **state)
{
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_file_text) whole = seed("decode.lpot");
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    (void)state;
    whole->at[10] = 7; /* a later minor version */
    assert_int_equal(lpo_native_read_bytes(whole->at, whole->len, t, &err), 0);
    whole->at[8] = 2;
    assert_int_equal(lpo_native_read_bytes(whole->at, whole->len, t, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "trace format 2"));
    assert_int_equal(lpo_native_read_bytes("hello", 5, t, &err), LPO_E_FORMAT);
}

static const struct clock_case {
    const char *name;
    struct lpo_tick_pair pairs[4];
    size_t count;
    uint64_t ticks;
    int64_t want_ns;
} clocks[] = {
    { "between two pairs", { { 1000, 50000000 }, { 3000, 150000000 } }, 2, 2000, 100000000 },
    { "on a pair", { { 1000, 50000000 }, { 3000, 150000000 } }, 2, 3000, 150000000 },
    { "before the first", { { 1000, 50000000 }, { 3000, 150000000 } }, 2, 800, 40000000 },
    { "after the last", { { 1000, 50000000 }, { 3000, 150000000 } }, 2, 4000, 200000000 },
    { "pairs in any order", { { 3000, 150000000 }, { 1000, 50000000 } }, 2, 2000, 100000000 },
    { "the rate changes",
      { { 0, 100000000 }, { 1000, 200000000 }, { 2000, 400000000 } },
      3,
      1500,
      300000000 },
    { "a pair too near its neighbour is left out",
      { { 0, 0 }, { 1000, 1000000000 }, { 1001, 1000000900 }, { 2000, 2000000000 } },
      4,
      1500,
      1500000000 },
    { "a short run", { { 100, 5000 }, { 200, 6000 } }, 2, 150, 5500 },
    { "one pair only", { { 100, 5000 } }, 1, 150, 5000 },
    { "a clock set back is not followed back",
      { { 0, 500000000 }, { 1000, 100000000 }, { 2000, 900000000 } },
      3,
      1000,
      700000000 },
    { "a product of 65 bits", { { 0, 0 }, { 1ull << 33, 1ull << 32 } }, 2, 1ull << 32, 1ll << 31 },
    { "a run of days, to the nanosecond",
      { { 0, 0 }, { 3000000000000007, 1000000000000000 } },
      2,
      1500000000000001,
      499999999999999 },
    { "ticks beyond all sense",
      { { 0, 0 }, { 1, 4000000000000000000 } },
      2,
      UINT64_MAX,
      INT64_MAX / 4 },
};

static void check_clock(void **state)
{
    const struct clock_case *k = *state;
    struct lpo_tick_clock c = { 0 };

    for (size_t i = 0; i < k->count; i++)
        lpo_native_tick_clock_add(&c, k->pairs[i].ticks, k->pairs[i].real_ns);
    lpo_native_tick_clock_settle(&c);
    assert_true(lpo_native_tick_clock_ns(&c, k->ticks) == k->want_ns);
    lpo_native_tick_clock_free(&c);
}

static const struct varint_case {
    const char *name;
    uint8_t bytes[12];
    size_t len;
    uint64_t want;
    bool bad;
} varints[] = {
    { "one byte", { 0x7f }, 1, 127, false },
    { "two bytes", { 0xa0, 0x1f }, 2, 4000, false },
    { "the largest",
      { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
      10,
      UINT64_MAX,
      false },
    { "it breaks off", { 0x80 }, 1, 0, true },
    { "nothing", { 0 }, 0, 0, true },
    { "eleven bytes",
      { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
      11,
      0,
      true },
};

static void check_varint(void **state)
{
    const struct varint_case *k = *state;
    struct lpo_cursor c = { k->bytes, k->bytes + k->len, false };

    assert_true(lpo_native_get_v(&c) == k->want);
    assert_int_equal(c.bad, k->bad);
}

static void checksum(void **state)
{
    uint8_t zeros[32] = { 0 };

    (void)state;
    assert_int_equal(lpo_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(lpo_crc32c(0, zeros, sizeof zeros), 0x8a9136aa);
    assert_int_equal(lpo_crc32c(lpo_crc32c(0, "12345", 5), "6789", 4), 0xe3069283);
}

/* Nobody writes to it: whoever waited would wait for ever. */
static void a_pipe_that_nobody_writes_to(void **state)
{
    char dir[] = "/tmp/lpo-native-XXXXXX", path[64];
    struct lpo_native_blocks *blocks = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.lpot", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_int_equal(lpo_native_blocks_open(path, &blocks, &err), LPO_E_FORMAT);
    alarm(0);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, clocks, check_clock);
    UNIT_ROWS(&u, varints, check_varint);
    UNIT_TEST(&u, checksum);
    UNIT_TEST(&u, cut_at_every_byte);
    UNIT_TEST(&u, flip_every_byte);
    UNIT_TEST(&u, other_versions);
    UNIT_TEST(&u, a_pipe_that_nobody_writes_to);
    return unit_run(&u);
}
