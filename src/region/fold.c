/* SPDX-License-Identifier: Apache-2.0 */
#include "region/fold.h"

#include <ctype.h>

typedef LPO_VEC(uint32_t) row_vec;

/* Siblings that go into one line, or may. */
struct family {
    row_vec rows;
    const char *name;    /* of the line */
    const char *pattern; /* of the whole names: what selects these regions */
};

typedef LPO_VEC(struct family) family_vec;

struct folder {
    struct lpo_region_fold *out;
    const struct lpo_region_scope *scope;
    uint32_t *first_child, *next; /* per row of the scope */
    size_t over;
};

static const char *row_name(struct folder *f, uint32_t row)
{
    const struct lpo_region_row *r = &f->scope->rows.at[row];
    LPO_STR s = { 0 };

    if (r->node == LPO_NODE_OUTSIDE)
        return "(outside)";
    /* a row whose parent was not selected stands at the top and needs its whole path */
    if (r->parent_row == LPO_NONE)
        lpo_region_row_add_path(f->scope, r, &s);
    else
        lpo_region_add_name(f->scope->cells->tree, r->node, &s);
    return lpo_arena_name(f->out->arena, lpo_str_text(&s), s.len);
}

size_t lpo_region_shown_len(const char *name, size_t len)
{
    static const char *const marks[] = { ", seq = ", ", op_id = " };

    for (size_t i = 1; i < len; i++) {
        if (name[i] != ',')
            continue;
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
            size_t mark = strlen(marks[k]);

            if (len - i > mark && memcmp(name + i, marks[k], mark) == 0 &&
                isdigit((unsigned char)name[i + mark]))
                return i;
        }
    }
    return len;
}

void lpo_region_add_shown_path(const struct lpo_region_tree *tree, uint32_t node, size_t levels,
                               struct lpo_str *out)
{
    uint32_t chain[LPO_REGION_DEPTH];
    size_t n = 0;

    for (; node != LPO_NONE && n < LPO_REGION_DEPTH && n < levels;
         node = tree->nodes.at[node].parent)
        chain[n++] = node;
    if (node != LPO_NONE)
        lpo_str_add(out, "…/");
    while (n--) {
        LPO_STR name = { 0 };

        lpo_region_add_name(tree, chain[n], &name);
        lpo_str_addn(out, lpo_str_text(&name), lpo_region_shown_len(lpo_str_text(&name), name.len));
        if (n)
            lpo_str_addc(out, '/');
    }
}

/* Where nothing is folded, names stay whole: they are what tells the lines apart. */
static const char *shown_name(struct folder *f, uint32_t row)
{
    const struct lpo_region_row *r = &f->scope->rows.at[row];
    const char *whole = row_name(f, row);
    size_t len = strlen(whole), shown = lpo_region_shown_len(whole, len);
    LPO_STR path = { 0 };

    if (f->over == SIZE_MAX || shown == len)
        return whole;
    if (r->parent_row != LPO_NONE)
        return lpo_arena_strndup(f->out->arena, whole, shown);
    lpo_region_add_shown_path(f->scope->cells->tree, r->node, SIZE_MAX, &path);
    return lpo_arena_name(f->out->arena, lpo_str_text(&path), path.len);
}

static bool same_but_numbers(const char *a, const char *b)
{
    for (;;) {
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");

        if (!x != !y)
            return false;
        a += x;
        b += y;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

/* The common name of a folded family: numbers that all share stay. `names` have the same starred
 * form, so their runs of digits are in the same order. */
static const char *common_name(struct folder *f, const char *const *names, size_t count)
{
    LPO_STR s = { 0 };
    LPO_FREED const char **at = lpo_xcalloc(count, sizeof *at);

    memcpy(at, names, count * sizeof *at);
    while (*at[0]) {
        size_t run = strspn(at[0], "0123456789");
        bool same = true;

        if (!run) {
            lpo_str_addc(&s, *at[0]);
            for (size_t i = 0; i < count; i++)
                at[i]++;
            continue;
        }
        for (size_t i = 1; i < count && same; i++)
            same = strspn(at[i], "0123456789") == run && memcmp(at[i], at[0], run) == 0;
        if (same)
            lpo_str_addn(&s, at[0], run);
        else
            lpo_str_addc(&s, '*');
        for (size_t i = 0; i < count; i++)
            at[i] += strspn(at[i], "0123456789");
    }
    return lpo_arena_name(f->out->arena, lpo_str_text(&s), s.len);
}

/* What selects the regions of a family: a star for each number in which their whole names differ.
 * Operators that PyTorch numbers in two ways have a star for all that follows the shown name. */
static const char *pattern_of(struct folder *f, const struct family *family)
{
    const char **names = lpo_xcalloc(family->rows.len, sizeof *names), *out;
    bool same = true;

    for (size_t i = 0; i < family->rows.len; i++) {
        names[i] = row_name(f, family->rows.at[i]);
        same = same && same_but_numbers(names[0], names[i]);
    }
    if (same)
        out = common_name(f, names, family->rows.len);
    else
        out = lpo_arena_printf(f->out->arena, "%s*", family->name);
    free(names);
    return out;
}

/* Rows by a key into families, in order of first appearance. */
static struct family *family_of(struct lpo_map *map, family_vec *families, const char *kind,
                                const char *key)
{
    LPO_STR text = { 0 };
    bool fresh;
    uint64_t *slot;

    lpo_str_addf(&text, "%s:", kind);
    lpo_str_add(&text, key);
    slot = lpo_map_put(map, lpo_str_text(&text), text.len, &fresh);
    if (fresh) {
        *slot = families->len;
        lpo_vec_push(families, (struct family){ .name = key });
    }
    return &families->at[*slot];
}

/* Splits a starred family that is too small to fold into its exact names. */
static void settle(struct folder *f, struct family *starred, family_vec *out)
{
    LPO_AUTO(lpo_map) exact = lpo_map_create();
    LPO_FREED family_vec parts = { 0 };
    LPO_FREED const char **names = lpo_xcalloc(starred->rows.len, sizeof *names);

    for (size_t i = 0; i < starred->rows.len; i++) {
        struct family *part;

        names[i] = shown_name(f, starred->rows.at[i]);
        part = family_of(exact, &parts, "", names[i]);
        lpo_vec_push(&part->rows, starred->rows.at[i]);
    }
    if (parts.len > f->over) {
        starred->name = common_name(f, names, starred->rows.len);
        starred->pattern = pattern_of(f, starred);
        lpo_vec_push(out, *starred);
        for (size_t i = 0; i < parts.len; i++)
            lpo_vec_free(&parts.at[i].rows);
    } else {
        for (size_t i = 0; i < parts.len; i++) {
            parts.at[i].pattern = pattern_of(f, &parts.at[i]);
            lpo_vec_push(out, parts.at[i]);
        }
        lpo_vec_free(&starred->rows);
    }
}

LPO_COMPARE(by_ns, int64_t, LPO_UP_OF(*a, *b));

static void add_row(struct lpo_region_row *to, const struct lpo_region_row *from)
{
    lpo_region_sum_add(&to->all, &from->all);
    lpo_region_sum_add(&to->self, &from->self);
    lpo_region_sum_add(&to->copies, &from->copies);
    lpo_region_sum_add(&to->captured, &from->captured);
    lpo_region_sum_add(&to->adopted, &from->adopted);
    lpo_region_sum_add(&to->backward, &from->backward);
    lpo_region_sum_add(&to->recomputed, &from->recomputed);
    to->visits += from->visits;
    to->host_ns += from->host_ns;
    to->host_self_ns += from->host_self_ns;
    to->firsts = to->firsts && from->firsts ? to->firsts + from->firsts : 0;
    to->first_host_ns += from->first_host_ns;
    to->first_gpu_ns += from->first_gpu_ns;
    to->open += from->open;
    to->measured += from->measured;
    to->estimated += from->estimated;
}

/* Operators that emit_nvtx() numbered: two of them may get other shapes. */
static bool is_operator(const struct lpo_region_tree *tree, uint32_t node)
{
    uint32_t name = tree->nodes.at[node].name;
    size_t len = lpo_trace_text_len(tree->trace, name);

    return lpo_region_shown_len(lpo_trace_text(tree->trace, name), len) < len;
}

/* The only visit of a row; NULL: it has none or more, it was never closed, or it is an operator. */
static const struct lpo_visits *only_visit(const struct folder *f, const struct lpo_region_row *r)
{
    const struct lpo_region_tree *tree = f->scope->cells->tree;
    uint32_t row = r->node == LPO_NODE_OUTSIDE ? LPO_NONE : tree->nodes.at[r->node].visits;

    if (!r->visits_known || r->visits != 1 || r->firsts != 1 || r->open || row == LPO_NONE ||
        is_operator(tree, r->node))
        return NULL;
    return &tree->visits.at[row];
}

enum {
    LEAST_LATER = 3, /* calls that show what is normal; fewer do where the first takes … */
    TIMES = 10
};

/* Does one call with these sums come before `later` others with the rest, does it as much on the
 * GPU, and take longer than any of them (`longest`)? */
static bool is_first_call(const struct lpo_region_row *first, const struct lpo_region_row *sum,
                          int64_t later, int64_t longest)
{
    int64_t host = (sum->host_ns - first->host_ns) / later,
            gpu = (sum->all.ns - first->all.ns) / later;

    if (first->host_ns <= longest || (later < LEAST_LATER && first->host_ns / TIMES < host))
        return false;
    return first->all.ns / 2 <= gpu && first->all.ns - gpu < (first->host_ns - host) / 2;
}

/* Where a program numbers its steps, each is visited once, and the first of them is the first call
 * of all. Numbers may also stand for different work, as of a prompt and its tokens. */
static void set_first_member(const struct folder *f, const struct family *family,
                             struct lpo_fold_row *line)
{
    struct lpo_region_row *sum = &line->sum;
    const struct lpo_region_row *first = NULL;
    const struct lpo_visits *earliest = NULL;
    int64_t longest = INT64_MIN; /* of the others */

    for (size_t i = 0; i < family->rows.len; i++) {
        const struct lpo_region_row *r = &f->scope->rows.at[family->rows.at[i]], *other = r;
        const struct lpo_visits *v = only_visit(f, r);

        if (!v || (earliest && v->process != earliest->process))
            return;
        if (!earliest || v->first_start_ns < earliest->first_start_ns) {
            other = first;
            first = r;
            earliest = v;
        }
        if (other && other->host_ns > longest)
            longest = other->host_ns;
    }
    if (family->rows.len < 2 || !is_first_call(first, sum, (int64_t)family->rows.len - 1, longest))
        return;
    line->first = (uint32_t)(first - f->scope->rows.at);
    sum->firsts = 1;
    sum->first_host_ns = first->host_ns;
    sum->first_gpu_ns = first->all.ns;
}

static struct lpo_fold_row sum_up(struct folder *f, const struct family *family, const char *parent,
                                  unsigned depth)
{
    const struct lpo_region_row *rows = f->scope->rows.at;
    struct lpo_fold_row out = { .sum = rows[family->rows.at[0]],
                                .depth = depth,
                                .first = LPO_NONE };
    size_t n = family->rows.len;
    LPO_FREED int64_t *costs = lpo_xcalloc(n, sizeof *costs);
    bool gpu = f->scope->coverage.total.launches > 0;

    for (size_t i = 0; i < n; i++) {
        const struct lpo_region_row *r = &rows[family->rows.at[i]];

        costs[i] = gpu ? r->all.ns : r->host_ns;
        if (i)
            add_row(&out.sum, r);
    }
    set_first_member(f, family, &out);
    qsort(costs, n, sizeof *costs, by_ns);
    out.members = (uint32_t)n;
    out.min_ns = costs[0];
    out.median_ns = costs[(n - 1) / 2];
    out.max_ns = costs[n - 1];
    out.name = family->name;
    out.path = parent ? lpo_arena_printf(f->out->arena, "%s/%s", parent, family->pattern)
                      : family->pattern;
    return out;
}

/* As in the scope: start/end regions after the tree, `(outside)` last, else most expensive first.
 */
static int by_cost(const void *pa, const void *pb, void *tree)
{
    const struct lpo_fold_row *a = pa, *b = pb;
    const struct lpo_region *nodes = ((const struct lpo_region_tree *)tree)->nodes.at;

    if (a->sum.node == LPO_NODE_OUTSIDE || b->sum.node == LPO_NODE_OUTSIDE)
        return (a->sum.node == LPO_NODE_OUTSIDE) - (b->sum.node == LPO_NODE_OUTSIDE);
    if (nodes[a->sum.node].kind != nodes[b->sum.node].kind)
        return nodes[a->sum.node].kind - nodes[b->sum.node].kind;
    if (a->sum.all.ns != b->sum.all.ns)
        return a->sum.all.ns > b->sum.all.ns ? -1 : 1;
    if (a->sum.host_ns != b->sum.host_ns)
        return a->sum.host_ns > b->sum.host_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void find_families(struct folder *f, const row_vec *rows, family_vec *out)
{
    LPO_AUTO(lpo_map) map = lpo_map_create();
    LPO_FREED family_vec starred = { 0 };

    for (size_t i = 0; i < rows->len; i++) {
        uint32_t row = rows->at[i];
        struct family *family;
        LPO_STR key = { 0 };

        lpo_str_add_starred(&key, shown_name(f, row), strlen(shown_name(f, row)));
        family = family_of(map, &starred, lpo_region_row_kind(f->scope, &f->scope->rows.at[row]),
                           lpo_arena_strndup(f->out->arena, lpo_str_text(&key), key.len));
        lpo_vec_push(&family->rows, row);
    }
    for (size_t i = 0; i < starred.len; i++)
        settle(f, &starred.at[i], out);
}

/* The lines of `rows`, which are siblings in the folded tree, each followed by its children's. */
static void fold_level(struct folder *f, const row_vec *rows, const char *parent, unsigned depth)
{
    LPO_FREED family_vec families = { 0 };
    LPO_FREED struct lpo_fold_row *lines = NULL;

    find_families(f, rows, &families);
    lines = lpo_xcalloc(families.len, sizeof *lines);
    for (size_t i = 0; i < families.len; i++) {
        lines[i] = sum_up(f, &families.at[i], parent, depth);
        lines[i].sum.parent_row = (uint32_t)i; /* where its family is, until it is written */
    }
    qsort_r(lines, families.len, sizeof *lines, by_cost, (void *)f->scope->cells->tree);
    for (size_t i = 0; i < families.len; i++) {
        struct family *family = &families.at[lines[i].sum.parent_row];
        LPO_FREED row_vec below = { 0 };

        lines[i].sum.parent_row = f->scope->rows.at[family->rows.at[0]].parent_row;
        lpo_vec_push(&f->out->rows, lines[i]);
        for (size_t k = 0; k < family->rows.len; k++)
            f->out->line_of[family->rows.at[k]] = (uint32_t)(f->out->rows.len - 1);
        for (size_t k = 0; k < family->rows.len; k++)
            for (uint32_t c = f->first_child[family->rows.at[k]]; c != LPO_NONE; c = f->next[c])
                lpo_vec_push(&below, c);
        if (below.len)
            fold_level(f, &below, lines[i].path, depth + 1);
        lpo_vec_free(&family->rows);
    }
}

struct lpo_region_fold *lpo_region_fold_create(const struct lpo_region_scope *scope, size_t over)
{
    struct lpo_region_fold *out = lpo_xcalloc(1, sizeof *out);
    struct folder f = { .out = out, .scope = scope, .over = over };
    LPO_FREED row_vec top = { 0 };
    size_t n = scope->rows.len;

    out->arena = lpo_arena_create();
    out->line_of = lpo_xcalloc(n + 1, sizeof *out->line_of);
    f.first_child = lpo_xcalloc(n + 1, sizeof *f.first_child);
    f.next = lpo_xcalloc(n + 1, sizeof *f.next);
    memset(f.first_child, 0xff, (n + 1) * sizeof *f.first_child);
    for (size_t i = n; i-- > 0;) {
        uint32_t parent = scope->rows.at[i].parent_row;

        f.next[i] = LPO_NONE;
        if (parent == LPO_NONE)
            continue;
        f.next[i] = f.first_child[parent];
        f.first_child[parent] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++)
        if (scope->rows.at[i].parent_row == LPO_NONE)
            lpo_vec_push(&top, (uint32_t)i);
    fold_level(&f, &top, NULL, 0);
    free(f.first_child);
    free(f.next);
    return out;
}

void lpo_region_fold_destroy(struct lpo_region_fold *f)
{
    if (!f)
        return;
    lpo_vec_free(&f->rows);
    free(f->line_of);
    lpo_arena_destroy(f->arena);
    free(f);
}
