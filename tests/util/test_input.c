/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <zlib.h>
#include <zstd.h>

#include "util/err.h"
#include "util/input.h"
#include "util/str.h"

/* Text of `len` bytes that compresses somewhat and differs at every place. */
static void fill_text(struct lpo_str *s, size_t len)
{
    uint32_t x = 1;

    while (s->len < len) {
        x = x * 1664525 + 1013904223;
        lpo_str_addf(s, "%zu:%u,", s->len, x >> 24);
    }
    s->len = len;
}

static void pack_gzip(struct lpo_str *to, const char *at, size_t len)
{
    size_t room = compressBound(len) + 64;
    unsigned char *out = malloc(room);
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)at;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    lpo_str_addn(to, (char *)out, z.total_out);
    deflateEnd(&z);
    free(out);
}

static void pack_zstd(struct lpo_str *to, const char *at, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    char *out = malloc(room);
    size_t n = ZSTD_compress(out, room, at, len, 1);

    assert_false(ZSTD_isError(n));
    lpo_str_addn(to, out, n);
    free(out);
}

static void pack_plain(struct lpo_str *to, const char *at, size_t len)
{
    lpo_str_addn(to, at, len);
}

/* The whole text, read in windows of which `keep` bytes stay each time. */
static int read_back(const char *path, size_t keep, struct lpo_str *got, char *damage, size_t room)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w = { 0 };
    size_t kept = 0;
    int rc;

    if (lpo_input_open(path, &in, NULL) < 0)
        return -1;
    while ((rc = lpo_input_next(in, kept, &w, NULL)) > 0) {
        assert_true(w.len > kept);
        assert_int_equal(w.at[w.len], '\0');
        assert_int_equal(w.offset + kept, got->len);
        if (kept) /* what was kept is there */
            assert_memory_equal(w.at, got->at + got->len - kept, kept);
        lpo_str_addn(got, w.at + kept, w.len - kept);
        kept = w.len < keep ? w.len : keep;
    }
    assert_int_equal(w.len, kept);
    snprintf(damage, room, "%s", lpo_input_damage(in) ? lpo_input_damage(in) : "");
    return rc;
}

static const struct input_case {
    const char *name;
    void (*pack)(struct lpo_str *to, const char *at, size_t len);
    size_t len;
    int members;    /* compressed pieces one after the other */
    size_t keep;    /* of each window */
    size_t cut;     /* bytes missing at the end of the file */
    size_t padding; /* zeros behind it */
    const char *damage;
} cases[] = {
    { "empty", pack_plain, 0, 1, 0, 0, 0, "" },
    { "one byte", pack_plain, 1, 1, 0, 0, 0, "" },
    { "plain, one block exactly", pack_plain, 512 * 1024, 1, 0, 0, 0, "" },
    { "plain, many blocks", pack_plain, 5000000, 1, 0, 0, 0, "" },
    { "plain, keeping some", pack_plain, 5000000, 1, 1000, 0, 0, "" },
    { "plain, keeping more than a front", pack_plain, 5000000, 1, 200000, 0, 0, "" },
    { "plain, keeping more than all blocks", pack_plain, 9000000, 1, 4000000, 0, 0, "" },
    { "plain, keeping all", pack_plain, 3000000, 1, (size_t)-1, 0, 0, "" },
    { "gzip", pack_gzip, 5000000, 1, 100, 0, 0, "" },
    { "gzip of nothing", pack_gzip, 0, 1, 0, 0, 0, "" },
    { "gzip in members", pack_gzip, 700000, 5, 100, 0, 0, "" },
    { "gzip in tiny members", pack_gzip, 3, 1000, 1, 0, 0, "" },
    { "gzip with padding behind", pack_gzip, 1000, 1, 0, 0, 3, "" },
    { "gzip cut short", pack_gzip, 5000000, 1, 100, 1000, 0, "the gzip data breaks off" },
    { "gzip without its checksum", pack_gzip, 100, 1, 0, 8, 0, "the gzip data breaks off" },
    { "zstd", pack_zstd, 5000000, 1, 100, 0, 0, "" },
    { "zstd in frames", pack_zstd, 700000, 5, 100, 0, 0, "" },
    { "zstd cut short", pack_zstd, 5000000, 1, 0, 1000, 0, "the zstd data breaks off" },
};

static void check(void **state)
{
    const struct input_case *c = *state;
    LPO_STR want = { 0 };
    LPO_STR packed = { 0 };
    LPO_STR got = { 0 };
    char path[UNIT_PATH], damage[200];

    fill_text(&want, c->len * (size_t)c->members);
    for (int i = 0; i < c->members; i++)
        c->pack(&packed, lpo_str_text(&want) + c->len * (size_t)i, c->len);
    for (size_t i = 0; i < c->padding; i++)
        lpo_str_addc(&packed, '\0');
    packed.len -= c->cut;
    unit_file(lpo_str_text(&packed), packed.len, path);
    assert_int_equal(read_back(path, c->keep, &got, damage, sizeof damage), 0);
    unlink(path);
    assert_string_equal(damage, c->damage);
    if (!c->cut)
        assert_int_equal(got.len, want.len);
    assert_true(got.len <= want.len);
    assert_memory_equal(lpo_str_text(&got), lpo_str_text(&want), got.len);
}

static void damaged_gzip_is_told(void **state)
{
    LPO_STR want = { 0 };
    LPO_STR packed = { 0 };
    LPO_STR got = { 0 };
    char path[UNIT_PATH], damage[200];

    (void)state;
    fill_text(&want, 3000000);
    pack_gzip(&packed, want.at, want.len);
    memset(packed.at + packed.len / 2, 0xff, 64);
    unit_file(packed.at, packed.len, path);
    assert_int_equal(read_back(path, 0, &got, damage, sizeof damage), 0);
    unlink(path);
    assert_non_null(strstr(damage, "gzip data"));
    assert_true(got.len > 100000 && got.len < want.len + 65536);
}

static void left_early(void **state)
{
    LPO_STR text = { 0 };
    char path[UNIT_PATH];
    unsigned char head[100];
    size_t len;

    (void)state;
    fill_text(&text, 9000000);
    unit_file(text.at, text.len, path);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lpo_input_head(path, head, sizeof head, &len, NULL), 0);
        assert_int_equal(len, sizeof head);
        assert_memory_equal(head, text.at, len);
    }
    unlink(path);
}

static void what_is_no_file(void **state)
{
    struct lpo_input *in = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_input_open("/nonexistent/x", &in, &err), LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), "/nonexistent/x"));
    assert_int_equal(lpo_input_open("/tmp", &in, &err), LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), "folder"));
    assert_null(in);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, damaged_gzip_is_told);
    UNIT_TEST(&u, left_early);
    UNIT_TEST(&u, what_is_no_file);
    return unit_run(&u);
}
