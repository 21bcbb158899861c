/* SPDX-License-Identifier: Apache-2.0 */
/* What was open on a thread: the one table of the rule of trace/host.h, and the same questions
 * asked of random slices, which may overlap without nesting, by looking at all of them. */
#include "../unit.h"

#include "trace/host.h"
#include "trace/trace.h"
#include "util/order.h"
#include "util/str.h"

/* "r:A 0-10 o:mm 2-5 L 3-4 @2 …": r range, s start/end range, m module, p Python function, o
 * operator, c call, L launch; @N goes on with thread N. An end of … is a range never closed. */
static void add_item(struct lpo_trace *t, char kind, const char *name, int64_t start, int64_t end,
                     uint32_t thread, bool open)
{
    char module[64];
    uint32_t id;

    snprintf(module, sizeof module, "%s%s", kind == 'm' ? LPO_MODULE_PREFIX : "", name);
    id = lpo_trace_name(t, module);
    if (kind == 'r' || kind == 's')
        lpo_vec_push(&t->ranges,
                     ((struct lpo_range){ .start_ns = start,
                                          .end_ns = end,
                                          .name = id,
                                          .thread = thread,
                                          .kind = kind == 's' ? LPO_START_END : LPO_PUSH_POP,
                                          .flags = open ? LPO_RANGE_OPEN : 0 }));
    if (kind == 'p' || kind == 'm')
        lpo_vec_push(&t->python, ((struct lpo_python_call){ start, end, id, thread }));
    if (kind == 'o')
        lpo_vec_push(&t->ops, ((struct lpo_op){ .start_ns = start,
                                                .end_ns = end,
                                                .name = id,
                                                .thread = thread,
                                                .args = LPO_NONE,
                                                .sequence = LPO_NONE }));
    if (kind == 'c')
        lpo_vec_push(&t->calls, ((struct lpo_api_call){ start, end, id, thread }));
    if (kind == 'L')
        lpo_vec_push(&t->launches, ((struct lpo_launch){ start, end, thread, 0 }));
}

static struct lpo_trace *make(const char *text)
{
    struct lpo_trace *t = lpo_trace_create();
    char *copy = strdup(text), *save = NULL;
    uint16_t process = lpo_trace_process(t, 1, -1);
    uint32_t thread = lpo_trace_thread(t, process, 1);

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *end, *span;
        int64_t start, stop;

        if (w[0] == '@') {
            thread = lpo_trace_thread(t, process, atoi(w + 1));
            continue;
        }
        span = strtok_r(NULL, " ", &save);
        start = strtoll(span, &end, 10);
        stop = strtoll(end + 1, NULL, 10);
        add_item(t, w[0], w[0] == 'L' ? "" : w + 2, start, stop, thread, end[1] == '.');
    }
    free(copy);
    return t;
}

static const char *name_of(const struct lpo_trace *t, const struct lpo_slice *s)
{
    const char *text = lpo_trace_text(t, s->name);

    return s->kind == LPO_HOST_MODULE ? text + strlen(LPO_MODULE_PREFIX) : text;
}

enum { ALL = LPO_HOST_SLICES, R = LPO_HOST_RANGE, O = LPO_HOST_OP };

/* A stretch from `start` to `end` of the first thread, or a moment where end is -1. */
static const struct at_case {
    const char *name, *trace;
    int64_t start, end;
    unsigned kinds;
    const char *want; /* NULL: none */
} questions[] = {
    { "nothing", "", 5, -1, ALL, NULL },
    { "inside", "r:A 0-10", 5, -1, ALL, "A" },
    { "it contains its start", "r:A 5-10", 5, -1, ALL, "A" },
    { "it does not contain its end", "r:A 0-5", 5, -1, ALL, NULL },
    { "where one ends the next is open", "r:A 0-5 r:B 5-9", 5, -1, ALL, "B" },
    { "an empty slice contains no moment", "r:A 5-5", 5, -1, ALL, NULL },
    { "the innermost", "r:A 0-10 r:B 2-8 r:C 3-4", 5, -1, ALL, "B" },
    { "the one that started last, though it ends later", "r:A 0-10 r:B 5-15", 7, -1, ALL, "B" },
    { "after the inner one has ended", "r:A 0-10 r:B 2-4 r:C 5-6", 9, -1, ALL, "A" },
    { "of two that start together the shorter", "r:A 0-5 r:B 0-10", 2, -1, ALL, "A" },
    { "of equals the one further down in the file", "r:A 0-5 r:B 0-5", 2, -1, ALL, "B" },
    { "of equal kinds the operator is inside", "o:mm 0-5 r:A 0-5", 2, -1, ALL, "mm" },
    { "a kind that was not asked for is passed over", "r:A 0-10 o:mm 2-8", 5, -1, R, "A" },
    { "kinds that overlap without nesting", "r:A 0-10 o:mm 5-15", 12, -1, ALL, "mm" },
    { "modules apart from functions", "m:Linear 0-10 p:f 2-8", 5, -1, LPO_HOST_MODULE, "Linear" },
    { "functions apart from modules", "p:f 0-10 m:Linear 2-8", 5, -1, LPO_HOST_PYTHON, "f" },
    { "a range never closed", "r:A 3-... L 8-9", 7, -1, ALL, "A" },
    { "it ends with its process", "r:A 3-... L 8-9", 9, -1, ALL, NULL },
    { "start/end ranges are no slices of a thread", "s:S 0-10", 5, -1, ALL, NULL },
    { "another thread", "@2 r:A 0-10", 5, -1, ALL, NULL },
    { "a stretch inside", "r:A 0-10 r:B 2-8", 3, 4, ALL, "B" },
    { "both borders are inside", "r:A 2-8", 2, 8, ALL, "A" },
    { "one that begins too late", "r:A 0-10 r:B 3-8", 2, 4, ALL, "A" },
    { "one that ends too early", "r:A 0-10 r:B 2-8", 7, 9, ALL, "A" },
    { "an empty stretch on the end", "r:A 0-10", 10, 10, ALL, "A" },
    { "overlapping without nesting", "r:A 0-10 r:B 5-15", 12, 14, ALL, "B" },
    { "in the first of two that overlap", "r:A 0-10 r:B 5-8 r:C 7-15", 6, 9, ALL, "A" },
};

static void check_question(void **state)
{
    const struct at_case *c = *state;
    LPO_AUTO(lpo_trace) t = make(c->trace);
    struct lpo_slice s;
    bool found = c->end < 0 ? lpo_host_at(t, 0, c->start, c->kinds, &s)
                            : lpo_host_holding(t, 0, c->start, c->end, c->kinds, &s);

    assert_int_equal(found, c->want != NULL);
    if (found)
        assert_string_equal(name_of(t, &s), c->want);
}

/* What lies in what: all slices and launches of the first thread as the walk gives them. */
static const struct walk_case {
    const char *name, *trace, *want;
} walks[] = {
    { "outer ones first", "r:B 2-5 r:A 0-9", "A B<A" },
    { "kinds in one order", "o:mm 2-5 r:A 0-9 L 3-4 p:f 1-8", "A f<A mm<f L<mm" },
    { "equals by kind", "c:launch 1-2 L 1-2 o:mm 1-2 r:A 1-2", "A mm<A launch<mm L<launch" },
    { "equals by file", "r:A 1-2 r:B 1-2", "A B<A" },
    { "overlapping without nesting", "r:A 0-10 r:B 5-15 r:C 6-9", "A B C<B" },
    { "back to back", "r:A 0-5 r:B 5-9 L 5-6", "A B L<B" },
    { "a launch that outlasts", "r:A 0-9 o:mm 2-5 L 4-6", "A mm<A L<A" },
};

static void check_walk(void **state)
{
    const struct walk_case *c = *state;
    LPO_AUTO(lpo_trace) t = make(c->trace);
    struct lpo_host_walk w = lpo_host_walk(t, 0, LPO_HOST_SLICES | LPO_HOST_LAUNCH);
    struct lpo_slice s, around;
    LPO_STR got = { 0 };

    while (lpo_host_next(&w, &s)) {
        bool launch = s.kind == LPO_HOST_LAUNCH;
        bool inside =
            launch ? lpo_host_around(t, s.row, ALL, &around) : lpo_host_parent(t, &s, ALL, &around);

        lpo_str_addf(&got, "%s%s%s%s", got.len ? " " : "", launch ? "L" : name_of(t, &s),
                     inside ? "<" : "", inside ? name_of(t, &around) : "");
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct open_case {
    const char *name, *trace;
    int64_t ns;
    unsigned kinds;
    size_t room;
    const char *want;
} opens[] = {
    { "outermost first", "r:A 0-9 p:f 1-8 o:mm 2-7 r:B 3-4", 5, ALL, 8, "A f mm" },
    { "the innermost stay", "r:A 0-9 p:f 1-8 o:mm 2-7", 5, ALL, 2, "f mm" },
    { "of some kinds", "r:A 0-9 p:f 1-8 o:mm 2-7", 5, R | O, 8, "A mm" },
    { "none", "r:A 0-5", 5, ALL, 8, "" },
};

static void check_open(void **state)
{
    const struct open_case *c = *state;
    LPO_AUTO(lpo_trace) t = make(c->trace);
    struct lpo_slice s[8];
    size_t n = lpo_host_open(t, 0, c->ns, c->kinds, s, c->room);
    LPO_STR got = { 0 };

    for (size_t i = 0; i < n; i++)
        lpo_str_addf(&got, "%s%s", i ? " " : "", name_of(t, &s[i]));
    assert_string_equal(lpo_str_text(&got), c->want);
}

/* --- random slices -------------------------------------------------------------------------- */

static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static bool lies_further_in(const struct lpo_slice *a, const struct lpo_slice *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns;
    return a->kind != b->kind ? a->kind > b->kind : a->row > b->row;
}

/* All slices, one by one. */
static bool look_at_all(const struct lpo_trace *t, uint32_t thread, int64_t start, int64_t end,
                        unsigned kinds, bool moment, struct lpo_slice *out)
{
    struct lpo_host_walk w = lpo_host_walk(t, thread, kinds);
    struct lpo_slice s;
    bool found = false;

    while (lpo_host_next(&w, &s)) {
        if (s.start_ns > start || (moment ? s.end_ns <= end : s.end_ns < end))
            continue;
        if (!found || lies_further_in(&s, out))
            *out = s;
        found = true;
    }
    return found;
}

static void random_slices(void **state)
{
    static const char kinds[] = "rrpmoocL";
    static const unsigned masks[] = { ALL, R, O, R | O, LPO_HOST_MODULE, LPO_HOST_CALL | R };

    (void)state;
    for (int round = 0; round < 400; round++) {
        LPO_AUTO(lpo_trace) t = make("");
        struct lpo_slice got, want;

        lpo_trace_thread(t, 0, 2);
        for (uint32_t i = below(40); i; i--) {
            int64_t start = below(30);

            add_item(t, kinds[below(8)], "x", start, start + below(12), below(2), false);
        }
        for (uint32_t i = 0; i < t->launches.len; i++) /* whose rows name several threads */
            if (!below(8))
                t->launches.at[i].thread = LPO_NONE;
        for (int q = 0; q < 40; q++) {
            int64_t start = below(34), end = start + below(6);
            unsigned mask = masks[below(6)];
            uint32_t thread = below(2);
            bool found = look_at_all(t, thread, start, end, mask, false, &want);

            assert_int_equal(lpo_host_holding(t, thread, start, end, mask, &got), found);
            assert_true(!found || (got.row == want.row && got.kind == want.kind));
            found = look_at_all(t, thread, start, start, mask, true, &want);
            assert_int_equal(lpo_host_at(t, thread, start, mask, &got), found);
            assert_true(!found || (got.row == want.row && got.kind == want.kind));
        }
        assert_false(lpo_host_around(t, LPO_NONE, ALL, &got));
        for (uint32_t i = 0; i < t->launches.len; i++) {
            const struct lpo_launch *l = &t->launches.at[i];
            bool found = l->thread != LPO_NONE &&
                         look_at_all(t, l->thread, l->start_ns, l->end_ns, ALL, false, &want);

            assert_int_equal(lpo_host_around(t, i, ALL, &got), found);
            assert_true(!found || (got.row == want.row && got.kind == want.kind));
        }
    }
}

/* --- sorting -------------------------------------------------------------------------------- */

static bool by_value(const void *ctx, uint32_t a, uint32_t b)
{
    const char *values = ctx;

    return values[a] < values[b];
}

/* Digits are values; equal ones must keep their order. */
static const struct sort_case {
    const char *name, *values;
} sorts[] = {
    { "nothing", "" },
    { "one", "5" },
    { "in order", "0123456789" },
    { "turned round", "9876543210" },
    { "all equal", "4444444" },
    { "equal ones in a falling run", "5544332211" },
    { "two runs", "0246813579" },
    { "saw teeth", "1212121212121" },
    { "anything", "3141592653589793238462643383279502884197" },
};

static void check_sort(void **state)
{
    const struct sort_case *c = *state;
    size_t n = strlen(c->values);
    uint32_t rows[64] = { 0 };

    for (size_t i = 0; i < n; i++)
        rows[i] = (uint32_t)i;
    lpo_order_sort(rows, n, by_value, c->values);
    for (size_t i = 1; i < n; i++)
        assert_true(c->values[rows[i - 1]] < c->values[rows[i]] ||
                    (c->values[rows[i - 1]] == c->values[rows[i]] && rows[i - 1] < rows[i]));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, questions, check_question);
    UNIT_ROWS(&u, walks, check_walk);
    UNIT_ROWS(&u, opens, check_open);
    UNIT_ROWS(&u, sorts, check_sort);
    UNIT_TEST(&u, random_slices);
    return unit_run(&u);
}
