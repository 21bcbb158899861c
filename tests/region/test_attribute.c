/* SPDX-License-Identifier: Apache-2.0 */
#include "source_cases.h"

/* `want` lists the rows of the aggregate: path=launches/inclusive/exclusive*visits, and ^captured
 * where kernels of a CUDA graph were captured there. Every row runs over every source that can say
 * such a thing: the same text, the same regions. */
static const struct source_case cases[] = {
    { "nested", "A 0-100 A1 10-40 k 20-22=5 k 50-51=7", "A=2/12/7*1 A/A1=1/5/5*1" },
    { "no ranges", "k 1-2=3", "(outside)=1/3/3*0" },
    { "no kernels", "A 0-9", "A=0/0/0*1" },
    { "the whole call must lie inside", "A 0-100 B 10-20 k 15-25=5", "A=1/5/5*1 A/B=0/0/0*1" },
    { "borders belong to the range", "A 10-20 k 10-20=5", "A=1/5/5*1" },
    { "a call around the range is outside", "A 10-20 k 9-20=5 k 10-21=1",
      "A=0/0/0*1 (outside)=2/6/6*0" },
    { "another thread is outside", "A 0-100 @2 k 20-22=5", "A=0/0/0*1 (outside)=1/5/5*0" },
    { "two processes share a region", "A 0-10 k 1-2=5 #2 A 0-10 k 1-2=6", "A=2/11/11*2" },
    { "visits add up", "A 0-10 A 20-30 A 40-50 k 21-22=1", "A=1/1/1*3" },
    { "a range inside its own name", "A 0-10 A 2-8 k 3-4=1", "A=1/1/0*1 A/A=1/1/1*1" },
    { "order in the file does not matter", "A1 10-40 k 50-51=7 k 20-22=5 A 0-100",
      "A=2/12/7*1 A/A1=1/5/5*1" },
    { "equal times: the first is outer", "A 0-9 B 0-9 k 1-2=1", "A=1/1/0*1 A/B=1/1/1*1" },
    { "equal starts: the longer is outer", "B 0-5 A 0-9 k 1-2=1", "A=1/1/0*1 A/B=1/1/1*1" },
    { "side by side at one instant", "A 0-10 B 10-20 k 12-13=1", "B=1/1/1*1 A=0/0/0*1" },
    { "an instant on the border is in both", "A 0-10 B 10-20 k 10-10=1",
      "A=1/1/0*1 A/B=1/1/1*0 B=0/0/0*1" },
    { "overlap: both hold the launch", "A 0-10 B 5-15 k 6-7=3", "A=1/3/0*1 A/B=1/3/3*1" },
    { "overlap: the outer has ended", "A 0-10 B 5-15 k 12-13=3",
      "B=1/3/3*0 A=0/0/0*1 A/B=0/0/0*1" },
    { "overlap: a child of the survivor", "A 0-10 B 5-30 C 12-20 k 13-14=3",
      "B=1/3/0*0 B/C=1/3/3*1 A=0/0/0*1 A/B=0/0/0*1" },
    { "overlap: three deep", "A 0-10 B 5-20 C 8-15 k 9-9=1 k 12-12=2 k 17-17=4",
      "B=2/6/4*0 B/C=1/2/2*0 A=1/1/0*1 A/B=1/1/0*1 A/B/C=1/1/1*1" },
    { "a range never closed", "A 0-0... k 50-51=7", "A=1/7/7*1" },
    { "start/end counts once, beside the tree", "A 0-100 S:S 10-50 k 20-22=5",
      "A=1/5/5*1 S=1/5/5*1" },
    { "start/end alone is not outside", "S:S 10-50 k 20-22=5 k 60-61=1",
      "S=1/5/5*1 (outside)=1/1/1*0" },
    { "start/end crosses threads", "S:S 10-50 @2 k 20-22=5", "S=1/5/5*1" },
    { "start/end stays in its process", "S:S 10-50 #2 k 20-22=5", "S=0/0/0*1 (outside)=1/5/5*0" },
    { "overlapping start/end each count", "S:S 0-50 S:T 10-60 k 20-22=5", "S=1/5/5*1 T=1/5/5*1" },
    { "twice open counts once", "S:S 0-50 S:S 10-60 k 20-22=5 k 52-53=1", "S=2/6/6*2" },
    { "start/end: borders belong to the range", "S:S 10-20 k 10-20=5", "S=1/5/5*1" },
    { "start/end: the whole call must lie inside", "S:S 10-20 k 15-25=5 k 5-15=2",
      "S=0/0/0*1 (outside)=2/7/7*0" },
    { "start/end: an instant on the border is in both", "S:S 0-10 S:T 10-20 k 10-10=1",
      "S=1/1/1*1 T=1/1/1*1" },
    { "start/end never ended", "S:S 10-10... k 50-51=7", "S=1/7/7*1" },
    { "start/end around and between threads", "A 0-100 k 5-6=1 @2 S:S 10-50 B 20-40 k 25-26=2",
      "B=1/2/2*1 A=1/1/1*1 S=1/2/2*1" },
    { "a graph belongs to its launch and to its capture",
      "A 0-100 A1 10-40 B 200-300 k 210-220=5^20", "B=1/5/5*1 A=0/0/0*1^1 A/A1=0/0/0*1^1" },
    { "captured on the border of a range", "A 0-10 B 10-20 k 30-31=5^10",
      "A=0/0/0*1^1 A/B=0/0/0*0^1 B=0/0/0*1 (outside)=1/5/5*0" },
    { "captured outside", "A 10-20 k 12-13=5^5", "A=1/5/5*1" },
    { "start/end ranges do not hold captures", "S:S 0-9 k 12-13=5^5",
      "S=0/0/0*1 (outside)=1/5/5*0" },
};

static void describe(const struct lpo_region_scope *s, struct lpo_str *out)
{
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->node == LPO_NODE_OUTSIDE && !r->all.launches)
            continue;
        if (out->len)
            lpo_str_addc(out, ' ');
        lpo_region_row_add_path(s, r, out);
        lpo_str_addf(out, "=%llu/%lld/%lld*%llu", (unsigned long long)r->all.launches,
                     (long long)r->all.ns, (long long)r->self.ns, (unsigned long long)r->visits);
        if (r->captured.launches)
            lpo_str_addf(out, "^%llu", (unsigned long long)r->captured.launches);
    }
}

static void check_trace(const struct lpo_trace *t, const char *want)
{
    check_scope(t, describe, NULL, want);
}

static void check_tree(void **state)
{
    const struct source_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);

    check_trace(t, c->want);
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_row(c);

    check_trace(t, c->row->want);
}

static void paths_escape_slashes_and_name_domains(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-100 k 20-22=5");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_STR path = { 0 };

    (void)state;
    lpo_vec_push(&t->ranges, (struct lpo_range){ 10, 30, lpo_trace_name(t, "x/y"), 0,
                                                 lpo_trace_domain(t, "LLM", 3), LPO_PUSH_POP, 0 });
    tree = lpo_region_tree_create(t);
    lpo_region_add_path(tree, 1, &path);
    assert_string_equal(path.at, "A/LLM@x\\/y");
}

static void depth_is_bounded(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("k 5000-5001=1");
    LPO_AUTO(lpo_region_tree) tree = NULL;

    (void)state;
    for (int i = 0; i < 4000; i++)
        lpo_vec_push(&t->ranges, (struct lpo_range){ i, 10000 - i, lpo_trace_name(t, "r"), 0, 0,
                                                     LPO_PUSH_POP, 0 });
    tree = lpo_region_tree_create(t);
    assert_int_equal(tree->nodes.len, LPO_REGION_DEPTH);
    assert_int_equal(tree->too_deep, 4000 - LPO_REGION_DEPTH);
    assert_int_equal(tree->places.at[tree->launch_place[0]].leaf, LPO_REGION_DEPTH - 1);
}

/* Works that carry their own stack, as ncu's do. */
static void stacks_are_taken_at_their_word(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-100 k 20-22=5");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    struct lpo_frame frames[] = { { lpo_trace_name(t, "X"), 0, LPO_PUSH_POP, 0 },
                                  { lpo_trace_name(t, "Y"), 0, LPO_PUSH_POP, 0 },
                                  { lpo_trace_name(t, "S"), 0, LPO_START_END, 0 } };
    LPO_STR path = { 0 };
    const struct lpo_place *place;

    (void)state;
    t->gpu_ops.at[0].stack = lpo_trace_stack(t, frames, 3);
    tree = lpo_region_tree_create(t);
    place = &tree->places.at[lpo_region_place(tree, &t->gpu_ops.at[0])];
    lpo_region_add_path(tree, place->leaf, &path);
    assert_string_equal(path.at, "X/Y");
    assert_int_equal(tree->sets.at[place->set].count, 1);
}

/* Linker names of the kernels "f", in order; "-" is none told. */
static const struct linker_case {
    const char *name, *linkers, *want;
} linker_cases[] = {
    { "linker: told", "_Z1fi _Z1fi", "_Z1fi" },
    { "linker: never told", "- -", "" },
    { "linker: told by some", "- _Z1fi", "_Z1fi" },
    { "linker: two that read the same", "_Z1fi _Z1gi _Z1fi", "" },
};

static void check_linker(void **state)
{
    const struct linker_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace("A 0-100 k:f 1-2=1 k:f 3-4=1 k:f 5-6=1");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_region_cells) cells = NULL;
    char *copy = strdup(c->linkers), *save = NULL;
    size_t i = 0;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        t->gpu_ops.at[i++].linker = *w == '-' ? 0 : lpo_trace_name(t, w);
    tree = lpo_region_tree_create(t);
    cells = lpo_region_cells_create(tree, NULL);
    assert_string_equal(lpo_trace_text(t, lpo_region_cells_linker(cells, lpo_trace_name(t, "f"))),
                        c->want);
    free(copy);
}

/* One row for each process, whatever order they come in. */
static void visits_have_a_row_for_each_process(void **state)
{
    static const struct {
        uint16_t process;
        uint32_t row; /* counted from the first of them */
    } order[] = { { 7, 0 }, { 7, 0 }, { 2, 1 }, { 7, 0 }, { 5, 2 }, { 2, 1 }, { 7, 0 }, { 5, 2 } };
    LPO_AUTO(lpo_trace) t = build_trace("A 0-10 B 20-30");
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    uint32_t node = lpo_region_node(tree, LPO_NONE, lpo_trace_name(t, "C"), 0, LPO_PUSH_POP);
    uint32_t first = (uint32_t)tree->visits.len, rows = 0;

    (void)state;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        assert_int_equal(lpo_region_visits_of(tree, node, order[i].process), first + order[i].row);
    assert_int_equal(tree->visits.len, first + 3);
    for (uint32_t v = tree->nodes.at[node].visits; v != LPO_NONE; v = tree->visits.at[v].next)
        rows++;
    assert_int_equal(rows, 3);
}

int main(void)
{
    static struct file_case files[BUILD_SOURCES * sizeof cases / sizeof *cases];
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_tree);
    add_files(&u, cases, sizeof cases / sizeof *cases, check_file, files);
    UNIT_ROWS(&u, linker_cases, check_linker);
    UNIT_TEST(&u, paths_escape_slashes_and_name_domains);
    UNIT_TEST(&u, depth_is_bounded);
    UNIT_TEST(&u, stacks_are_taken_at_their_word);
    UNIT_TEST(&u, visits_have_a_row_for_each_process);
    return unit_run(&u);
}
