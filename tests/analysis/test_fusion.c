/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of short kernels that repeat. A text is a stream, a letter a kernel of 2 us with a gap
 * of 1 us behind it; `G` is a matrix product, `L` a kernel of 20 us, `.` a pause of 2 ms, `c` a
 * copy of the driver, `g` a kernel of a CUDA graph. */
#include "../unit.h"

#include "analysis/fusion/fusion.h"
#include "region/tree.h"
#include "trace/trace.h"

enum { US = 1000 };

static const struct fusion_case {
    const char *name, *text;
    const char *want[4]; /* "abc 3": sequences, most time first */
    uint64_t kernels;
} cases[] = {
    { "one that fills the run", "abcGabcGabc", { "abc 3" }, 9 },
    { "twice is not often", "abcGabc", { NULL }, 6 },
    { "a neighbour that is not always there is left out", "abcGabdGabe", { "ab 3" }, 9 },
    { "nine of ten are enough, and the tenth is given up",
      "abcGabcGabcGabcGabcGabcGabcGabcGabcGab",
      { "abc 9" },
      29 },
    { "a run of one kernel over and over", "aaaaaaa", { "aa 3" }, 7 },
    { "a loop is cut into its rounds", "abababab", { "ab 4" }, 8 },
    { "grown to the front too", "xabGyabGxabGxab", { "ab 4" }, 12 },
    { "a whole layer", "nabmGnabmGnabmGnabm", { "nabm 4" }, 16 },
    { "two sequences", "abGcdGabGcdGabGcdGab", { "ab 4", "cd 3" }, 14 },
    { "long kernels end a run", "abLabLab", { "ab 3" }, 6 },
    { "so do pauses", "a.ba.ba.b", { NULL }, 4 },
    { "so do copies", "aCbaCbaCb", { NULL }, 4 },
    { "kernels of graphs are no candidates", "gggggg", { NULL }, 0 },
    { "alone between matrix products", "aGaGaG", { NULL }, 0 },
};

static int64_t put(struct lpo_trace *t, char letter, int64_t at)
{
    static const char *const names[] = { ['G'] = "ampere_sgemm_128x64_nn", ['C'] = "Memcpy DtoD" };
    char name[80];
    struct lpo_gpu_op op = { .start_ns = at,
                             .end_ns = at + (letter == 'L' ? 20 : 2) * US,
                             .launch = LPO_NONE,
                             .stack = LPO_NONE,
                             .capture = LPO_NONE,
                             .shape = LPO_NONE,
                             .metrics = LPO_NONE,
                             .stream = 7,
                             .kind = letter == 'C' ? LPO_COPY : LPO_KERNEL,
                             .flags = letter == 'g' ? LPO_GPU_OP_GRAPH : 0 };

    if (letter == '.')
        return at + 2000 * US;
    snprintf(name, sizeof name, "void at::native::vectorized_elementwise_kernel<4, %c>", letter);
    op.name = lpo_trace_name(t, letter == 'G' || letter == 'C' ? names[(int)letter] : name);
    lpo_vec_push(&t->gpu_ops, op);
    return op.end_ns + US;
}

static struct lpo_trace *make_trace(const char *text)
{
    struct lpo_trace *t = lpo_trace_create();
    int64_t at = 0;

    lpo_trace_process(t, 1, -1);
    lpo_trace_device(t, 0, -1);
    for (const char *p = text; *p; p++)
        at = put(t, *p, at);
    return t;
}

static void check_fusion(void **state)
{
    const struct fusion_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c->text);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_fusion) f = lpo_fusion_create(tree);
    size_t n = 0;

    for (; n < 4 && c->want[n] && c->want[n][0]; n++) {
        const struct lpo_fusion_sequence *s;
        char got[64] = "";

        assert_in_range(n, 0, f->sequences.len - 1);
        s = &f->sequences.at[n];
        for (uint32_t k = 0; k < s->length; k++) {
            const char *text = lpo_trace_text(t, s->names[k]);

            got[k] = text[strlen(text) - 2];
        }
        snprintf(got + s->length, sizeof got - s->length, " %d", (int)s->count);
        assert_string_equal(got, c->want[n]);
        assert_int_equal(s->gpu_ns, (int64_t)(s->count * s->length) * 2 * US);
        assert_int_equal(s->rest_ns, (int64_t)(s->count * (s->length - 1)) * 2 * US);
        assert_int_equal(s->gap_ns, (int64_t)(s->count * (s->length - 1)) * US);
    }
    assert_int_equal(f->sequences.len, n);
    assert_int_equal(f->kernels, c->kernels);
    assert_int_equal(f->gpu_ns, (int64_t)c->kernels * 2 * US);
}

/* Streams do not mix, whatever the order of time. */
static void streams_apart(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace("axbyaxbyaxby");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_fusion) f = NULL;

    for (size_t i = 1; i < t->gpu_ops.len; i += 2)
        t->gpu_ops.at[i].stream = 20;
    tree = lpo_region_tree_create(t);
    f = lpo_fusion_create(tree);
    assert_int_equal(f->sequences.len, 2);
    assert_int_equal(f->sequences.at[0].count, 3);
    assert_int_equal(f->sequences.at[0].length, 2);
    assert_int_equal(f->sequences.at[0].gap_ns, 3 * 4 * US);
}

/* A sequence has at most so many kernels. */
static void longest(void **state)
{
    char text[4 * 50 + 1] = "";
    LPO_AUTO(lpo_trace) t = NULL;
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_fusion) f = NULL;

    for (int i = 0; i < 4; i++) {
        for (int k = 0, letter = '0'; k < 49; letter++)
            if (!strchr("CGLg", letter))
                text[i * 50 + k++] = (char)letter;
        text[i * 50 + 49] = 'G';
    }
    t = make_trace(text);
    tree = lpo_region_tree_create(t);
    f = lpo_fusion_create(tree);
    assert_int_equal(f->sequences.len, 2);
    assert_int_equal(f->sequences.at[0].length, LPO_FUSION_LONGEST);
    assert_int_equal(f->sequences.at[0].length + f->sequences.at[1].length, 49);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_fusion);
    UNIT_TEST(&u, streams_apart);
    UNIT_TEST(&u, longest);
    return unit_run(&u);
}
