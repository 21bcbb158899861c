/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs timed as a whole: lists of nodes that are right, cut short, or made up. */
#include "../unit.h"
#include "lpo/trace_format.h"
#include "trace/native/native.h"
#include "trace/trace.h"
#include "util/crc32c.h"
#include "util/str.h"

static void put_v(struct lpo_str *s, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        lpo_str_addc(s, (char)(v | 0x80));
    lpo_str_addc(s, (char)v);
}

static void put_u(struct lpo_str *s, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        lpo_str_addc(s, (char)(v >> (8 * i)));
}

static void put_block(struct lpo_str *file, unsigned kind, const struct lpo_str *payload)
{
    LPO_STR head = { 0 }, rest = { 0 };

    put_u(&head, LPOT_BLOCK_MAGIC, 4);
    put_u(&head, kind, 2);
    put_u(&head, 0, 2);
    put_u(&head, payload->len, 4);
    put_u(&rest, 0, 8); /* stream, sequence */
    put_u(&rest, 1000, 8);
    put_u(&rest, 1000000, 8);
    lpo_str_addn(&rest, lpo_str_text(payload), payload->len);
    put_u(&head, lpo_crc32c(lpo_crc32c(0, head.at, head.len), rest.at, rest.len), 4);
    lpo_str_addn(file, head.at, head.len);
    lpo_str_addn(file, rest.at, rest.len);
}

/* One definition from its text: "k1" a kernel of 8 blocks named by string 1, "c64" a copy, "s64" a
 * set, "?" a type of another age. */
static void put_graph(struct lpo_str *defs, uint64_t id, unsigned state, const char *nodes)
{
    LPO_STR body = { 0 };

    put_v(&body, id);
    lpo_str_addc(&body, (char)state);
    for (; *nodes; nodes += strspn(nodes, "0123456789 ")) {
        char kind = *nodes++;
        uint64_t number = strtoull(nodes, NULL, 10);

        lpo_str_addc(&body, (char)(kind == 'k' ? 1 : kind == 'c' ? 2 : kind == 's' ? 3 : 99));
        put_v(&body, 0);
        put_v(&body, number);
        for (int i = 0; kind == 'k' && i < 7; i++)
            put_v(&body, i == 0 ? 8 : i < 6); /* grid 8,1,1, block 1,1,1, no shared memory */
    }
    lpo_str_addc(defs, LPOT_DEF_GRAPH);
    put_v(defs, body.len);
    lpo_str_addn(defs, body.at, body.len);
}

static void put_name(struct lpo_str *defs, const char *name)
{
    lpo_str_addc(defs, LPOT_DEF_STRING);
    put_v(defs, strlen(name));
    lpo_str_add(defs, name);
}

/* A kernel outside graphs, 1000 ns after the last. */
static void put_kernel(struct lpo_str *gpu, unsigned shape, unsigned ns)
{
    lpo_str_addc(gpu, LPOT_GPU_KERNEL);
    put_v(gpu, shape);
    put_v(gpu, 2000); /* zigzag */
    put_v(gpu, ns);
    put_v(gpu, 0);
}

static void put_shape(struct lpo_str *gpu, unsigned string, unsigned grid)
{
    const unsigned numbers[] = { string, grid, 1, 1, 1, 1, 1, 32, 0, 0, 0, 0 };

    lpo_str_addc(gpu, LPOT_GPU_SHAPE);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_v(gpu, numbers[i]);
}

static void put_whole(struct lpo_str *gpu, uint64_t graph, unsigned ns)
{
    lpo_str_addc(gpu, LPOT_GPU_WHOLE);
    put_v(gpu, 0);
    put_v(gpu, graph);
    put_v(gpu, 10000); /* 5000 ns after the last: there is a gap between launches */
    put_v(gpu, ns);
    put_v(gpu, 0);
}

static const struct row {
    const char *name;
    const char *pieces[3]; /* "last: k1 k2" or "more: …", all of graph 5 */
    unsigned seen[3];      /* ns of kernels outside graphs: 1 and 2 as listed, 1 in another shape */
    const char *want;
} rows[] = {
    { "in proportion to what was seen",
      { "last: k1 k2" },
      { 100, 300, 0 },
      "one 100, two 300; one 250 two 750 | one 250 two 750 | " },
    { "the same kernel in another shape",
      { "last: k1 k2" },
      { 0, 300, 100 },
      "two 300, one 100; one 250 two 750 | one 250 two 750 | " },
    { "never seen: the mean of all",
      { "last: k1 k2 c4 s4" },
      { 0, 300, 0 },
      "two 300; one 250 two 250 Memcpy (CUDA graph) 250 Memset (CUDA graph) 250 | one 250 two 250 "
      "Memcpy (CUDA graph) 250 Memset (CUDA graph) 250 | note 2" },
    { "nothing seen at all: alike",
      { "last: k1 k2" },
      { 0, 0, 0 },
      "one 500 two 500 | one 500 two 500 | note 4" },
    { "in two pieces",
      { "more: k1", "last: k2" },
      { 100, 100, 0 },
      "one 100, two 100; one 500 two 500 | one 500 two 500 | " },
    { "without its last piece",
      { "more: k1 k2" },
      { 100, 100, 0 },
      "one 100, two 100; CUDA graph 5 1000 | CUDA graph 5 1000 | " },
    { "a node of a later version",
      { "last: k1 ?7 k2" },
      { 100, 100, 0 },
      "one 100, two 100; CUDA graph 5 1000 | CUDA graph 5 1000 | " },
    { "a node of a later version in the first piece",
      { "more: k1 ?7", "last: k2" },
      { 100, 100, 0 },
      "one 100, two 100; CUDA graph 5 1000 | CUDA graph 5 1000 | " },
    { "told again after its last piece",
      { "last: k1", "last: k2 k2 k2" },
      { 100, 0, 0 },
      "one 100; one 1000 | one 1000 | " },
    { "a graph of nothing",
      { "last: " },
      { 100, 0, 0 },
      "one 100; CUDA graph 5 1000 | CUDA graph 5 1000 | " },
    { "a name that the file never told",
      { "last: k9" },
      { 0, 0, 0 },
      "(unknown) 1000 | (unknown) 1000 | note 2" },
};

static void write_file(const struct row *r, struct lpo_str *file)
{
    LPO_STR defs = { 0 }, gpu = { 0 };

    lpo_str_add(file, LPOT_MAGIC);
    put_u(file, LPOT_MAJOR, 2);
    put_u(file, LPOT_MINOR, 2);
    put_u(file, 0, 4);
    put_name(&defs, "one");
    put_name(&defs, "two");
    for (int i = 0; i < 3 && r->pieces[i]; i++)
        put_graph(&defs, 5, r->pieces[i][0] == 'm' ? LPOT_GRAPH_MORE : LPOT_GRAPH_LAST,
                  r->pieces[i] + sizeof "last: " - 1);
    put_block(file, LPOT_DEFS, &defs);
    lpo_str_addc(&gpu, LPOT_GPU_PLACE);
    lpo_str_addn(&gpu, "\0\1\7", 3);
    put_shape(&gpu, 1, 8);
    put_shape(&gpu, 2, 8);
    put_shape(&gpu, 1, 99);
    for (unsigned i = 0; i < 3; i++)
        if (r->seen[i])
            put_kernel(&gpu, i, r->seen[i]);
    put_whole(&gpu, 5, 1000);
    put_whole(&gpu, 5, 1000);
    put_block(file, LPOT_GPU, &gpu);
}

/* "one 100, two 300; one 250 two 750 | …": outside graphs, then launch by launch, each without a
 * gap inside. */
static void tell(const struct lpo_trace *t, struct lpo_str *out)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        bool graph = w->flags & LPO_GPU_OP_GRAPH, last = i + 1 == t->gpu_ops.len;

        lpo_str_addf(out, "%s %lld", lpo_trace_text(t, w->name), (long long)lpo_trace_gpu_op_ns(w));
        if (!graph) {
            lpo_str_add(out, last || t->gpu_ops.at[i + 1].flags & LPO_GPU_OP_GRAPH ? "; " : ", ");
            continue;
        }
        lpo_str_add(out, last || t->gpu_ops.at[i + 1].start_ns != w->end_ns ? " | " : " ");
    }
    for (size_t i = 0; i < t->notes.len; i++)
        if (strstr(lpo_trace_text(t, t->notes.at[i].text), "never seen outside"))
            lpo_str_addf(out, "note %llu", (unsigned long long)t->notes.at[i].count);
}

static void check(void **state)
{
    const struct row *r = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR file = { 0 }, text = { 0 };

    write_file(r, &file);
    assert_int_equal(lpo_native_read_bytes(file.at, file.len, t, NULL), 0);
    tell(t, &text);
    assert_string_equal(lpo_str_text(&text), r->want);
}

/* A second context of the same device is said; one on another device is not. */
static void contexts_are_counted(void **unused)
{
    static const struct {
        const char *places;
        uint64_t more;
    } cases[] = { { "\0\1\7\0\1\10\1\2\7", 0 }, { "\0\1\7\0\2\7\0\2\10", 1 } };

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        LPO_AUTO(lpo_trace) t = lpo_trace_create();
        LPO_STR file = { 0 }, gpu = { 0 };
        uint64_t more = 0;

        lpo_str_add(&file, LPOT_MAGIC);
        put_u(&file, LPOT_MAJOR, 2);
        put_u(&file, LPOT_MINOR, 2);
        put_u(&file, 0, 4);
        for (int k = 0; k < 3; k++) {
            lpo_str_addc(&gpu, LPOT_GPU_PLACE);
            lpo_str_addn(&gpu, cases[i].places + 3 * k, 3);
        }
        put_block(&file, LPOT_GPU, &gpu);
        assert_int_equal(lpo_native_read_bytes(file.at, file.len, t, NULL), 0);
        for (size_t k = 0; k < t->notes.len; k++)
            if (strstr(lpo_trace_text(t, t->notes.at[k].text), "CUDA contexts"))
                more = t->notes.at[k].count;
        assert_int_equal(more, cases[i].more);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, rows, check);
    UNIT_TEST(&u, contexts_are_counted);
    return unit_run(&u);
}
