/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/snapshot/pickle.h"

#include "util/budget.h"
#include "util/input.h"

enum {
    MOST_TEXT = 1 << 26, /* of one text or int; a frame of C++ has some thousand bytes */
    MOST_MARKS = 1000, /* containers that are being filled at one time: json.loads allows as many */
    INT_BYTES = 8,
};

struct machine {
    struct lpo_arena *a;
    struct lpo_input *in;
    struct lpo_input_window w;
    size_t used;      /* of the window */
    uint64_t op_at;   /* byte of the instruction */
    const char *name; /* its name */
    bool stopped;
    LPO_VEC(struct lpo_pickle_value) stack;
    LPO_VEC(struct lpo_pickle_value) memo;
    LPO_VEC(size_t) marks; /* heights of the stack */
    struct lpo_err *err;
};

enum { MARKED = UINT8_MAX };

/* What follows the instruction, a number, or bytes that the number counts; and what its row of the
 * table says. */
struct argument {
    uint64_t number;
    const char *at;
    uint8_t kind, of;
};

typedef int run_fn(struct machine *m, const struct argument *arg);

static int fail(struct machine *m, const char *why)
{
    return lpo_fail(m->err, LPO_E_FORMAT, "byte %llu: %s: %s", (unsigned long long)m->op_at,
                    m->name, why);
}

/* --- the stack ------------------------------------------------------------------------------ */

static int push(struct machine *m, struct lpo_pickle_value v)
{
    lpo_vec_push(&m->stack, v);
    return 0;
}

static size_t floor_of(const struct machine *m)
{
    return m->marks.len ? m->marks.at[m->marks.len - 1] : 0;
}

/* The container below the last `count` values; NULL: it is not there, or of another kind. */
static struct lpo_pickle_box *box_below(struct machine *m, size_t count, unsigned kind)
{
    size_t at = m->stack.len - count - 1;

    if (m->stack.len < count + 1 || m->stack.at[at].kind != kind)
        return NULL;
    return m->stack.at[at].box;
}

/* Moves the last `count` values of the stack into a container. */
static void move_into(struct machine *m, struct lpo_pickle_box *box, size_t count)
{
    struct lpo_pickle_part *p;

    if (!count)
        return;
    p = lpo_arena_alloc(m->a, sizeof *p + count * sizeof *p->at);
    m->stack.len -= count;
    memcpy(p->at, m->stack.at + m->stack.len, count * sizeof *p->at);
    p->count = count;
    if (box->last)
        box->last->next = p;
    else
        box->first = p;
    box->last = p;
    box->count += count;
}

/* Takes the last mark away; how many values stood above it in *count. */
static int take_mark(struct machine *m, size_t *count)
{
    if (!m->marks.len)
        return fail(m, "no mark was set");
    *count = m->stack.len - m->marks.at[--m->marks.len];
    return 0;
}

/* --- instructions --------------------------------------------------------------------------- */

static int run_proto(struct machine *m, const struct argument *arg)
{
    if (arg->number < 2 || arg->number > 5)
        return fail(m, "only protocols 2 to 5 are read");
    return 0;
}

static int run_nothing(struct machine *m, const struct argument *arg)
{
    (void)m;
    (void)arg;
    return 0;
}

static int run_stop(struct machine *m, const struct argument *arg)
{
    (void)arg;
    if (m->stack.len != 1 || m->marks.len)
        return fail(m, "it does not leave one value");
    m->stopped = true;
    return 0;
}

static int run_mark(struct machine *m, const struct argument *arg)
{
    (void)arg;
    if (m->marks.len == MOST_MARKS)
        return fail(m, "nested too deeply");
    lpo_vec_push(&m->marks, m->stack.len);
    return 0;
}

static int run_constant(struct machine *m, const struct argument *arg)
{
    return push(m, (struct lpo_pickle_value){ .integer = arg->of, .kind = arg->kind });
}

static int run_int(struct machine *m, const struct argument *arg)
{
    return push(
        m, (struct lpo_pickle_value){ .integer = (int64_t)arg->number, .kind = LPO_PICKLE_INT });
}

static int run_int4(struct machine *m, const struct argument *arg)
{
    return push(m, (struct lpo_pickle_value){ .integer = (int32_t)(uint32_t)arg->number,
                                              .kind = LPO_PICKLE_INT });
}

/* Two's complement, the lowest byte first, as many bytes as it takes. */
static int run_long(struct machine *m, const struct argument *arg)
{
    struct lpo_pickle_value v = { .kind = LPO_PICKLE_INT };
    const unsigned char *p = (const unsigned char *)arg->at;
    bool negative = arg->number && p[arg->number - 1] & 0x80;
    uint64_t bits = negative ? UINT64_MAX : 0;

    for (size_t i = 0; i < arg->number; i++) {
        if (i < INT_BYTES)
            bits = (bits & ~((uint64_t)0xff << 8 * i)) | (uint64_t)p[i] << 8 * i;
        else if (p[i] != (negative ? 0xff : 0))
            v.kind = LPO_PICKLE_BIG;
    }
    if (arg->number > INT_BYTES && (bits >> 63) != negative)
        v.kind = LPO_PICKLE_BIG;
    v.integer = v.kind == LPO_PICKLE_INT ? (int64_t)bits : 0;
    return push(m, v);
}

static int run_float(struct machine *m, const struct argument *arg)
{
    uint64_t bits = __builtin_bswap64(arg->number); /* the one number with its highest byte first */
    struct lpo_pickle_value v = { .kind = LPO_PICKLE_FLOAT };

    memcpy(&v.real, &bits, sizeof v.real);
    return push(m, v);
}

static int run_text(struct machine *m, const struct argument *arg)
{
    char *copy = lpo_arena_alloc(m->a, arg->number + 1);

    memcpy(copy, arg->at, arg->number);
    return push(m, (struct lpo_pickle_value){
                       .text = copy, .len = (uint32_t)arg->number, .kind = arg->kind });
}

/* How many values the instruction takes: that many, or those above the last mark. */
static int count_of(struct machine *m, const struct argument *arg, size_t *count)
{
    *count = arg->of;
    return arg->of == MARKED ? take_mark(m, count) : 0;
}

static int run_box(struct machine *m, const struct argument *arg)
{
    struct lpo_pickle_box *box = LPO_NEW(m->a, struct lpo_pickle_box);
    size_t count;

    if (count_of(m, arg, &count) < 0)
        return m->err->code;
    if (m->stack.len - floor_of(m) < count)
        return fail(m, "there are not that many values");
    move_into(m, box, count);
    return push(m, (struct lpo_pickle_value){ .box = box, .kind = arg->kind });
}

static int run_add(struct machine *m, const struct argument *arg)
{
    struct lpo_pickle_box *box;
    size_t count;

    if (count_of(m, arg, &count) < 0)
        return m->err->code;
    box = box_below(m, count, arg->kind);
    if (!box || m->stack.len - count - 1 < floor_of(m))
        return fail(m, arg->kind == LPO_PICKLE_LIST ? "there is no list" : "there is no dict");
    if (arg->kind == LPO_PICKLE_DICT && count % 2)
        return fail(m, "a key without a value");
    move_into(m, box, count);
    return 0;
}

/* --- the memo ------------------------------------------------------------------------------- */

/* Numbers are given in order, and each takes a byte of the file at least: one beyond the bytes so
 * far is no number of a pickle, and would cost memory. */
static int remember(struct machine *m, uint64_t number)
{
    if (m->stack.len == floor_of(m))
        return fail(m, "there is no value");
    if (number > m->op_at)
        return fail(m, "a memo index that the pickle never defined");
    while (m->memo.len <= number)
        lpo_vec_push(&m->memo, (struct lpo_pickle_value){ .kind = LPO_PICKLE_NONE });
    m->memo.at[number] = m->stack.at[m->stack.len - 1];
    return 0;
}

static int run_put(struct machine *m, const struct argument *arg)
{
    return remember(m, arg->number);
}

static int run_memoize(struct machine *m, const struct argument *arg)
{
    (void)arg;
    return remember(m, m->memo.len);
}

static int run_get(struct machine *m, const struct argument *arg)
{
    if (arg->number >= m->memo.len)
        return fail(m, "nothing was put there");
    return push(m, m->memo.at[arg->number]);
}

/* --- the table ------------------------------------------------------------------------------ */

/* `run` NULL: known and refused. */
static const struct instruction {
    const char *name;
    run_fn *run;
    unsigned char width; /* bytes of the number behind it */
    bool counts;         /* the number counts bytes that follow */
    uint8_t kind, of; /* what is pushed or added to; its value, or of how many values, or MARKED */
} instructions[256] = {
    [0x80] = { "PROTO", run_proto, 1, false },
    [0x95] = { "FRAME", run_nothing, 8, false }, /* a hint for readers that read in pieces */
    ['.'] = { "STOP", run_stop, 0, false },
    ['('] = { "MARK", run_mark, 0, false },
    ['N'] = { "NONE", run_constant, 0, false, LPO_PICKLE_NONE, 0 },
    [0x88] = { "NEWTRUE", run_constant, 0, false, LPO_PICKLE_BOOL, 1 },
    [0x89] = { "NEWFALSE", run_constant, 0, false, LPO_PICKLE_BOOL, 0 },
    ['J'] = { "BININT", run_int4, 4, false },
    ['K'] = { "BININT1", run_int, 1, false },
    ['M'] = { "BININT2", run_int, 2, false },
    [0x8a] = { "LONG1", run_long, 1, true },
    [0x8b] = { "LONG4", run_long, 4, true },
    ['G'] = { "BINFLOAT", run_float, 8, false },
    [0x8c] = { "SHORT_BINUNICODE", run_text, 1, true, LPO_PICKLE_TEXT, 0 },
    ['X'] = { "BINUNICODE", run_text, 4, true, LPO_PICKLE_TEXT, 0 },
    [0x8d] = { "BINUNICODE8", run_text, 8, true, LPO_PICKLE_TEXT, 0 },
    ['C'] = { "SHORT_BINBYTES", run_text, 1, true, LPO_PICKLE_BYTES, 0 },
    ['B'] = { "BINBYTES", run_text, 4, true, LPO_PICKLE_BYTES, 0 },
    [0x8e] = { "BINBYTES8", run_text, 8, true, LPO_PICKLE_BYTES, 0 },
    [0x96] = { "BYTEARRAY8", run_text, 8, true, LPO_PICKLE_BYTES, 0 },
    [']'] = { "EMPTY_LIST", run_box, 0, false, LPO_PICKLE_LIST, 0 },
    ['a'] = { "APPEND", run_add, 0, false, LPO_PICKLE_LIST, 1 },
    ['e'] = { "APPENDS", run_add, 0, false, LPO_PICKLE_LIST, MARKED },
    [')'] = { "EMPTY_TUPLE", run_box, 0, false, LPO_PICKLE_TUPLE, 0 },
    [0x85] = { "TUPLE1", run_box, 0, false, LPO_PICKLE_TUPLE, 1 },
    [0x86] = { "TUPLE2", run_box, 0, false, LPO_PICKLE_TUPLE, 2 },
    [0x87] = { "TUPLE3", run_box, 0, false, LPO_PICKLE_TUPLE, 3 },
    ['t'] = { "TUPLE", run_box, 0, false, LPO_PICKLE_TUPLE, MARKED },
    ['}'] = { "EMPTY_DICT", run_box, 0, false, LPO_PICKLE_DICT, 0 },
    ['s'] = { "SETITEM", run_add, 0, false, LPO_PICKLE_DICT, 2 },
    ['u'] = { "SETITEMS", run_add, 0, false, LPO_PICKLE_DICT, MARKED },
    ['q'] = { "BINPUT", run_put, 1, false },
    ['r'] = { "LONG_BINPUT", run_put, 4, false },
    [0x94] = { "MEMOIZE", run_memoize, 0, false },
    ['h'] = { "BINGET", run_get, 1, false },
    ['j'] = { "LONG_BINGET", run_get, 4, false },
    /* these import, call or fetch */
    ['c'] = { "GLOBAL", NULL, 0, false },
    [0x93] = { "STACK_GLOBAL", NULL, 0, false },
    ['R'] = { "REDUCE", NULL, 0, false },
    ['b'] = { "BUILD", NULL, 0, false },
    ['i'] = { "INST", NULL, 0, false },
    ['o'] = { "OBJ", NULL, 0, false },
    [0x81] = { "NEWOBJ", NULL, 0, false },
    [0x92] = { "NEWOBJ_EX", NULL, 0, false },
    ['P'] = { "PERSID", NULL, 0, false },
    ['Q'] = { "BINPERSID", NULL, 0, false },
    [0x82] = { "EXT1", NULL, 0, false },
    [0x83] = { "EXT2", NULL, 0, false },
    [0x84] = { "EXT4", NULL, 0, false },
    [0x97] = { "NEXT_BUFFER", NULL, 0, false },
    [0x98] = { "READONLY_BUFFER", NULL, 0, false },
};

/* --- the file ------------------------------------------------------------------------------- */

/* `n` bytes together in the window. */
static int need(struct machine *m, size_t n)
{
    while (m->w.len - m->used < n) {
        int rc = lpo_input_next(m->in, m->w.len - m->used, &m->w, m->err);

        m->used = 0;
        if (rc < 0)
            return rc;
        if (rc == 0 && m->w.len < n)
            return lpo_fail(m->err, LPO_E_FORMAT, "the pickle breaks off at byte %llu%s%s",
                            (unsigned long long)(m->w.offset + m->w.len),
                            lpo_input_damage(m->in) ? ": " : "",
                            lpo_input_damage(m->in) ? lpo_input_damage(m->in) : "");
    }
    return 0;
}

static int read_argument(struct machine *m, const struct instruction *i, struct argument *arg)
{
    if (need(m, i->width) < 0)
        return m->err->code;
    for (unsigned k = 0; k < i->width; k++)
        arg->number |= (uint64_t)(unsigned char)m->w.at[m->used + k] << 8 * k;
    m->used += i->width;
    if (!i->counts)
        return 0;
    if (arg->number > MOST_TEXT)
        return fail(m, "longer than 64 MiB");
    if (need(m, (size_t)arg->number) < 0)
        return m->err->code;
    arg->at = m->w.at + m->used;
    m->used += (size_t)arg->number;
    return 0;
}

static int step(struct machine *m)
{
    const struct instruction *i;
    struct argument arg = { 0 };
    unsigned char code;

    if (need(m, 1) < 0)
        return m->err->code;
    m->op_at = m->w.offset + m->used;
    code = (unsigned char)m->w.at[m->used++];
    i = &instructions[code];
    m->name = i->name;
    arg.kind = i->kind;
    arg.of = i->of;
    if (m->op_at == 0 && code != 0x80)
        return lpo_fail(m->err, LPO_E_FORMAT, "not a pickle of protocol 2 to 5");
    if (!i->name)
        return lpo_fail(m->err, LPO_E_FORMAT,
                        "byte %llu: plain data does not need instruction 0x%02x",
                        (unsigned long long)m->op_at, code);
    if (!i->run)
        return fail(m, "refused: Python would run code for it, and lpo reads plain data alone");
    if (m->op_at > lpo_budget()->whole_file_bytes)
        return lpo_fail(m->err, LPO_E_LIMIT, "the pickle has more than %llu GB (%s)",
                        (unsigned long long)lpo_budget()->whole_file_bytes >> 30, LPO_BUDGET_HINT);
    if (read_argument(m, i, &arg) < 0)
        return m->err->code;
    return i->run(m, &arg);
}

int lpo_snapshot_pickle_read(struct lpo_arena *a, const char *path, struct lpo_pickle *out,
                             struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_err own = { 0 };
    struct machine m = { .a = a, .name = "", .err = err ? err : &own };
    int rc = lpo_input_open(path, &in, m.err);

    m.in = in;
    while (rc == 0 && !m.stopped)
        rc = step(&m);
    if (rc == 0) {
        out->root = m.stack.at[0];
        out->bytes = m.op_at + 1;
    }
    lpo_vec_free(&m.stack);
    lpo_vec_free(&m.memo);
    lpo_vec_free(&m.marks);
    return rc;
}
