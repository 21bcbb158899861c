/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/proto.h"
#include "util/str.h"

#define BYTES(text) (text), sizeof(text) - 1

/* `want` lists number:wire=value, and "bad" where the message ends in damage. */
static const struct proto_case {
    const char *name, *bytes;
    size_t len;
    const char *want;
} cases[] = {
    { "nothing", BYTES(""), "" },
    { "a small number", BYTES("\x08\x05"), "1:0=5" },
    { "a number of two bytes", BYTES("\x10\xac\x02"), "2:0=300" },
    { "the largest number", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      "1:0=18446744073709551615" },
    { "bytes", BYTES("\x1a\x03xyz"), "3:2=3" },
    { "no bytes", BYTES("\x1a\x00"), "3:2=0" },
    { "fixed widths", BYTES("\x25\x01\x00\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x00"),
      "4:5=1 5:1=2" },
    { "a field number of two bytes", BYTES("\x88\x01\x07"), "17:0=7" },
    { "two fields", BYTES("\x08\x05\x08\x06"), "1:0=5 1:0=6" },
    { "cut in a number", BYTES("\x08\xac"), "bad" },
    { "bytes beyond the end", BYTES("\x1a\x04xyz"), "bad" },
    { "a fixed width beyond the end", BYTES("\x25\x01\x00"), "bad" },
    { "a group, which is not in use", BYTES("\x0b\x01"), "bad" },
    { "a number of eleven bytes", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      "bad" },
};

static void check_proto(void **state)
{
    const struct proto_case *c = *state;
    struct lpo_proto m = lpo_proto(c->bytes, c->len);
    struct lpo_proto_field f = { 0 };
    LPO_STR got = { 0 };

    while (lpo_proto_next(&m, &f))
        lpo_str_addf(&got, "%s%u:%u=%llu", got.len ? " " : "", f.number, f.wire,
                     (unsigned long long)f.value);
    if (m.bad)
        lpo_str_addf(&got, "%sbad", got.len ? " " : "");
    assert_string_equal(lpo_str_text(&got), c->want);
}

static void messages_lie_inside_messages(void **state)
{
    struct lpo_proto m = lpo_proto("\x0a\x02\x08\x09\x10\x01", 6), inner;
    struct lpo_proto_field f;

    (void)state;
    assert_true(lpo_proto_next(&m, &f));
    inner = lpo_proto_inner(&f);
    assert_true(lpo_proto_next(&inner, &f) && f.value == 9);
    assert_false(lpo_proto_next(&inner, &f));
    assert_true(lpo_proto_next(&m, &f));
    assert_true(lpo_proto_inner(&f).bad); /* a number holds no message */
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_proto);
    UNIT_TEST(&u, messages_lie_inside_messages);
    return unit_run(&u);
}
