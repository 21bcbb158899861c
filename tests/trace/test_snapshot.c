/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles as the reader of memory snapshots takes them: plain data alone, whatever they claim.
 * Bytes were written by Python's pickle, or by hand where no Python writes such a thing. */
#include "../unit.h"

#include "trace/reader.h"
#include "trace/snapshot/pickle.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"

#define BYTES(text) text, sizeof text - 1

static const struct refused_case {
    const char *name, *bytes;
    size_t len;
    const char *says;
} refused[] = {
    { "os.system of protocol 2",
      BYTES("\x80\x02"
            "cos\nsystem\n(X\x02\0\0\0lstR."),
      "GLOBAL: refused" },
    { "a name from the stack", BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93."),
      "STACK_GLOBAL: refused" },
    { "a call", BYTES("\x80\x04)R."), "REDUCE: refused" },
    { "a state", BYTES("\x80\x04}b."), "BUILD: refused" },
    { "an object", BYTES("\x80\x02)\x81."), "NEWOBJ: refused" },
    { "an instance", BYTES("\x80\x02(ios\nsystem\n."), "INST: refused" },
    { "a registered class", BYTES("\x80\x02\x82\x01."), "EXT1: refused" },
    { "something kept elsewhere", BYTES("\x80\x04NQ."), "BINPERSID: refused" },
    { "a buffer of somebody else", BYTES("\x80\x05\x97."), "NEXT_BUFFER: refused" },
    { "protocol 0", BYTES("(dp0\n."), "not a pickle of protocol 2 to 5" },
    { "protocol 6", BYTES("\x80\x06N."), "only protocols 2 to 5" },
    { "an instruction that nobody has", BYTES("\x80\x04\xff."), "0xff" },
    { "a text of decimal digits", BYTES("\x80\x02I1\n."), "0x49" },
    { "it breaks off", BYTES("\x80\x04]\x94(K\x01"), "breaks off at byte 7" },
    { "a text that is longer than the file",
      BYTES("\x80\x04X\xff\xff\xff\x03"
            "abc."),
      "breaks off" },
    { "a text of gigabytes", BYTES("\x80\x04\x8d\0\0\0\0\x01\0\0\0a."), "longer than 64 MiB" },
    { "a memo far away", BYTES("\x80\x02]r\xff\xff\xff\xffN."), "the pickle never defined" },
    { "a memo that is empty", BYTES("\x80\x04h\x05."), "nothing was put there" },
    { "nothing to remember", BYTES("\x80\x04\x94."), "there is no value" },
    { "an end without a beginning", BYTES("\x80\x04]e."), "no mark" },
    { "values for nobody",
      BYTES("\x80\x04(K\x01"
            "e."),
      "there is no list" },
    { "a list below the mark",
      BYTES("\x80\x04](K\x01"
            "a."),
      "there is no list" },
    { "a key without a value", BYTES("\x80\x04}(K\x01u."), "a key without a value" },
    { "more than there is", BYTES("\x80\x04K\x01\x86."), "not that many" },
    { "two values", BYTES("\x80\x04NN."), "does not leave one value" },
    { "no value", BYTES("\x80\x04."), "does not leave one value" },
};

static void check_refused(void **state)
{
    const struct refused_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_pickle p = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    unit_file(c->bytes, c->len, path);
    assert_int_equal(lpo_snapshot_pickle_read(a, path, &p, &err), LPO_E_FORMAT);
    unlink(path);
    if (!strstr(lpo_err_cause(&err), c->says))
        fail_msg("'%s' does not say '%s'", lpo_err_cause(&err), c->says);
}

static const struct value_case {
    const char *name, *bytes;
    size_t len;
    enum lpo_pickle_kind kind;
    int64_t integer;
} values[] = {
    { "None", BYTES("\x80\x04N."), LPO_PICKLE_NONE, 0 },
    { "True", BYTES("\x80\x04\x88."), LPO_PICKLE_BOOL, 1 },
    { "200", BYTES("\x80\x02K\xc8."), LPO_PICKLE_INT, 200 },
    { "65535", BYTES("\x80\x02M\xff\xff."), LPO_PICKLE_INT, 65535 },
    { "-2", BYTES("\x80\x02J\xfe\xff\xff\xff."), LPO_PICKLE_INT, -2 },
    { "0 of no bytes", BYTES("\x80\x02\x8a\0."), LPO_PICKLE_INT, 0 },
    { "-1 of one byte", BYTES("\x80\x02\x8a\x01\xff."), LPO_PICKLE_INT, -1 },
    { "the address of a block", BYTES("\x80\x04\x8a\x06\0\0\0\xca\xc1\x7f."), LPO_PICKLE_INT,
      0x7fc1ca000000 },
    { "the largest", BYTES("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), LPO_PICKLE_INT,
      INT64_MAX },
    { "the smallest", BYTES("\x80\x04\x8a\x08\0\0\0\0\0\0\0\x80."), LPO_PICKLE_INT, INT64_MIN },
    { "one more than fits", BYTES("\x80\x04\x8a\x09\0\0\0\0\0\0\0\x80\0."), LPO_PICKLE_BIG, 0 },
    { "far more than fits", BYTES("\x80\x04\x8a\x0a\0\0\0\0\0\0\0\0\0\x01."), LPO_PICKLE_BIG, 0 },
    { "a tuple of three", BYTES("\x80\x04K\x01K\x02K\x03\x87."), LPO_PICKLE_TUPLE, 3 },
    { "a list that holds itself", BYTES("\x80\x04]\x94h\0a."), LPO_PICKLE_LIST, 1 },
    { "a list in two pieces",
      BYTES("\x80\x04](K\x01K\x02"
            "e(K\x03"
            "e."),
      LPO_PICKLE_LIST, 3 },
    { "a frame around it", BYTES("\x80\x04\x95\x02\0\0\0\0\0\0\0N."), LPO_PICKLE_NONE, 0 },
};

static void check_value(void **state)
{
    const struct value_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_pickle p = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    unit_file(c->bytes, c->len, path);
    if (lpo_snapshot_pickle_read(a, path, &p, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    unlink(path);
    assert_int_equal(p.root.kind, c->kind);
    if (c->kind == LPO_PICKLE_LIST || c->kind == LPO_PICKLE_TUPLE)
        assert_int_equal(p.root.box->count, c->integer);
    else
        assert_int_equal(p.root.integer, c->integer);
}

/* {"a": 1.5, "b": "text", "a": [2, 3]}: of equal keys the last one holds. */
static void members_are_found(void **state)
{
    static const char bytes[] = "\x80\x04}(\x8c\x01"
                                "aG?\xf8\0\0\0\0\0\0\x8c\x01"
                                "b\x8c\x04text\x8c\x01"
                                "a](K\x02K\x03"
                                "eu.";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_pickle p = { 0 };
    struct lpo_pickle_walk w = { 0 };
    struct lpo_err err = { 0 };
    const struct lpo_pickle_value *list;
    char path[UNIT_PATH];

    (void)state;
    unit_file(bytes, sizeof bytes - 1, path);
    assert_int_equal(lpo_snapshot_pickle_read(a, path, &p, &err), 0);
    unlink(path);
    assert_int_equal(p.bytes, sizeof bytes - 1);
    list = lpo_snapshot_pickle_get(&p.root, "a");
    assert_int_equal(lpo_snapshot_pickle_next(list, &w)->integer, 2);
    assert_int_equal(lpo_snapshot_pickle_next(list, &w)->integer, 3);
    assert_null(lpo_snapshot_pickle_next(list, &w));
    assert_true(lpo_snapshot_pickle_is(lpo_snapshot_pickle_text(&p.root, "b"), "text"));
    assert_null(lpo_snapshot_pickle_text(&p.root, "a"));
    assert_int_equal(lpo_snapshot_pickle_int(&p.root, "c", 7), 7);
}

static void check_reader(const char *bytes, size_t len, const char *says)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    unit_file(bytes, len, path);
    assert_true(lpo_trace_read(path, t, &err) < 0);
    unlink(path);
    if (!strstr(lpo_err_cause(&err), says))
        fail_msg("'%s' does not say '%s'", lpo_err_cause(&err), says);
}

static void another_pickle_is_no_snapshot(void **state)
{
    (void)state;
    check_reader(BYTES("\x80\x04}\x94\x8c\x01"
                       "aK\x01s."),
                 "_dump_snapshot");
}

/* A list of 6,000 references to one list of 6,000 segments: 24 KB that ask for 36 million. */
static void a_small_file_cannot_ask_for_much_work(void **state)
{
    enum { MANY = 6000 };
    static char bytes[MANY * 4 + 200];
    size_t n = 0;

#define PUT(text)                                                                                  \
    do {                                                                                           \
        memcpy(bytes + n, text, sizeof text - 1);                                                  \
        n += sizeof text - 1;                                                                      \
    } while (0)
    (void)state;
    PUT("\x80\x04}(\x8c\x08segments](}(\x8c\x0atotal_sizeK\x01\x8c\x06"
        "blocks]\x94(");
    for (int i = 0; i < MANY; i++)
        PUT("N");
    PUT("eu\x94");
    for (int i = 0; i < MANY; i++)
        PUT("h\x01");
    PUT("eu.");
#undef PUT
    check_reader(bytes, n, "more often than it can have written");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, refused, check_refused);
    UNIT_ROWS(&u, values, check_value);
    UNIT_TEST(&u, members_are_found);
    UNIT_TEST(&u, another_pickle_is_no_snapshot);
    UNIT_TEST(&u, a_small_file_cannot_ask_for_much_work);
    return unit_run(&u);
}
