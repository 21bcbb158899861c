/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "util/pack.h"
#include "util/str.h"

static const struct number_case {
    const char *name;
    int64_t number;
    const char *plain, *with_sign;
} number_cases[] = {
    { "zero", 0, "\x00", "\x00" },
    { "one", 1, "\x01", "\x02" },
    { "the last of one byte", 127, "\x7f", "\xfe\x01" },
    { "the first of two bytes", 128, "\x80\x01", "\x80\x02" },
    { "nine bytes", INT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
      "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" },
    { "minus one", -1, NULL, "\x01" },
    { "the smallest", INT64_MIN, NULL, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" },
};

static void check_number(void **state)
{
    const struct number_case *c = *state;
    LPO_STR plain = { 0 }, with_sign = { 0 };

    if (c->plain) {
        lpo_pack_add(&plain, (uint64_t)c->number);
        assert_int_equal(plain.len, c->number ? strlen(c->plain) : 1);
        assert_memory_equal(plain.at, c->plain, plain.len);
    }
    lpo_pack_add_signed(&with_sign, c->number);
    assert_int_equal(with_sign.len, c->number ? strlen(c->with_sign) : 1);
    assert_memory_equal(with_sign.at, c->with_sign, with_sign.len);
}

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return (int)(strchr(digits, c) - digits);
}

/* What a browser does: base64, then inflate without a header. */
static size_t unpack(const struct lpo_str *text, char *out, size_t room)
{
    unsigned char *bytes = malloc(text->len + 1);
    size_t n = 0;
    z_stream z = { 0 };

    assert_int_equal(text->len % 4, 0);
    for (size_t i = 0; i < text->len; i += 4) {
        uint32_t bits = 0;
        int pad = (text->at[i + 2] == '=') + (text->at[i + 3] == '=');

        for (int k = 0; k < 4; k++)
            bits = bits << 6 | (uint32_t)(k < 4 - pad ? digit(text->at[i + (size_t)k]) : 0);
        for (int k = 0; k < 3 - pad; k++)
            bytes[n++] = (unsigned char)(bits >> (16 - 8 * k));
    }
    z.next_in = bytes;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    free(bytes);
    return room - z.avail_out;
}

static void check_text(void **state)
{
    char bytes[1000], back[1200];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i % 251);
    for (size_t len = 0; len < sizeof bytes; len += 37) {
        LPO_STR text = { 0 };

        lpo_pack_text(&text, bytes, len);
        assert_int_equal(unpack(&text, back, sizeof back), len);
        assert_memory_equal(back, bytes, len);
    }
}

/* Nothing to save: the blocks then cost more than the bytes in them, and must still fit. */
static void check_noise(void **state)
{
    enum { SIZE = 300000 };
    char *bytes = malloc(SIZE), *back = malloc(SIZE);
    uint64_t x = 88172645463325252u;
    LPO_STR text = { 0 };

    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (char)(x >> 32);
    }
    lpo_pack_text(&text, bytes, SIZE);
    assert_int_equal(unpack(&text, back, SIZE), SIZE);
    assert_memory_equal(back, bytes, SIZE);
    free(bytes);
    free(back);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, number_cases, check_number);
    unit_add(&u, "text comes back", check_text, NULL);
    unit_add(&u, "noise comes back", check_noise, NULL);
    return unit_run(&u);
}
