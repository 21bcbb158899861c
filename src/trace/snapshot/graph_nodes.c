/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations and Python stacks of the nodes of CUDA graphs, as PyTorch writes them beside a trace:
 * a pickle or JSON, from the id of a node to the scopes that it was captured in.
 *
 *     {"4294967301": [{"name": "layers.0"}, {"name": "attn", "stream": 7}], …}
 *     {"4294967301": "/srv/model.py:32:forward\n/srv/train.py:88:step", …}   innermost first */
#include <ctype.h>

#include "trace/reader.h"
#include "trace/snapshot/private.h"
#include "trace/trace.h"

enum { MOST_SCOPES = 64, MOST_DIGITS = 20 };

struct nodes {
    struct snapshot s;
    struct lpo_frame frames[MOST_SCOPES];
    size_t depth;
};

static void enter(struct nodes *n, uint32_t name, enum lpo_range_kind kind)
{
    if (n->depth < MOST_SCOPES)
        n->frames[n->depth++] = (struct lpo_frame){ .name = name, .kind = (uint8_t)kind };
}

/* "/srv/app/model.py:32:forward" as the profiler of torch writes a function: "app/model.py(32):
 * forward". False: it is none. */
static bool add_line(const char *at, const char *end, struct lpo_str *out)
{
    const char *function = memrchr(at, ':', (size_t)(end - at)), *line, *from;

    line = function ? memrchr(at, ':', (size_t)(function - at)) : NULL;
    if (!line || line + 1 == function || line == at)
        return false;
    for (const char *p = line + 1; p < function; p++)
        if (!isdigit((unsigned char)*p))
            return false;
    from = line;
    for (int slashes = 0; from > at && (from[-1] != '/' || ++slashes < 2);)
        from--;
    lpo_str_addn(out, from, (size_t)(line - from));
    lpo_str_addf(out, "(%.*s): ", (int)(function - line - 1), line + 1);
    lpo_str_addn(out, function + 1, (size_t)(end - function - 1));
    return true;
}

/* Lines of a stack, innermost first; or one name. */
static void enter_text(struct nodes *n, const struct lpo_pickle_value *text)
{
    const char *end = text->text + text->len;

    while (end > text->text && end[-1] == '\n')
        end--;
    for (const char *from = end; end > text->text; end = from > text->text ? from - 1 : from) {
        LPO_STR line = { 0 };

        from = memrchr(text->text, '\n', (size_t)(end - text->text));
        from = from ? from + 1 : text->text;
        if (!lpo_snapshot_step(&n->s))
            return;
        if (add_line(from, end, &line))
            enter(n, lpo_trace_namen(n->s.t, lpo_str_text(&line), line.len), LPO_PYTHON);
        else if (end > from)
            enter(n, lpo_trace_namen(n->s.t, from, (size_t)(end - from)), LPO_PUSH_POP);
    }
}

/* {"name": …}; older files: {"str": …}, or the text alone. */
static void enter_scope(struct nodes *n, const struct lpo_pickle_value *scope)
{
    const struct lpo_pickle_value *name = lpo_snapshot_pickle_text(scope, "name");

    name = name ? name : lpo_snapshot_pickle_text(scope, "str");
    if (scope->kind == LPO_PICKLE_TEXT)
        enter_text(n, scope);
    else if (name && name->len)
        enter(n, lpo_trace_namen(n->s.t, name->text, name->len), LPO_PUSH_POP);
}

static void add_node(struct nodes *n, uint64_t id, const struct lpo_pickle_value *scopes)
{
    struct lpo_trace *t = n->s.t;
    const struct lpo_pickle_value *scope;
    struct lpo_pickle_walk w = { 0 };

    n->depth = 0;
    if (scopes->kind == LPO_PICKLE_TEXT || scopes->kind == LPO_PICKLE_DICT)
        enter_scope(n, scopes);
    else
        while (lpo_snapshot_step(&n->s) && (scope = lpo_snapshot_pickle_next(scopes, &w)))
            enter_scope(n, scope);
    if (n->depth)
        lpo_vec_push(&t->graph_nodes,
                     (struct lpo_graph_node){ id, (int32_t)t->file_rank - 1,
                                              lpo_trace_stack(t, n->frames, n->depth) });
}

static bool node_id(const struct lpo_pickle_value *key, uint64_t *id)
{
    char *end;

    if (key->kind == LPO_PICKLE_INT)
        *id = (uint64_t)key->integer;
    else if (key->kind != LPO_PICKLE_TEXT || !key->len || key->len > MOST_DIGITS)
        return false;
    else if (*id = strtoull(key->text, &end, 10), *end)
        return false;
    return true;
}

LPO_COMPARE(by_id, struct lpo_graph_node, LPO_UP(id));

static int read_nodes(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const size_t first = into->graph_nodes.len;
    struct lpo_pickle p = { 0 };
    struct nodes n = { .s = { .t = into } };
    uint64_t id;

    if (lpo_snapshot_plain_read(a, path, &p, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    if (p.root.kind != LPO_PICKLE_DICT)
        return lpo_fail(err, LPO_E_FORMAT, "it is not a map from graph nodes to scopes");
    n.s.most_steps = lpo_snapshot_most_steps(&p);
    for (const struct lpo_pickle_part *part = p.root.box->first; part; part = part->next)
        for (size_t i = 0; i + 1 < part->count && lpo_snapshot_step(&n.s); i += 2)
            if (node_id(&part->at[i], &id))
                add_node(&n, id, &part->at[i + 1]);
    if (into->graph_nodes.len > first)
        qsort(into->graph_nodes.at + first, into->graph_nodes.len - first,
              sizeof *into->graph_nodes.at, by_id);
    return 0;
}

/* A pickle: protocol, a frame, an empty dict that is remembered, a mark, an integer. */
static bool is_pickle_of_nodes(const unsigned char *at, size_t len)
{
    size_t i = 2;

    i += i + 9 < len && at[i] == 0x95 ? 9 : 0;
    if (i >= len || at[i++] != '}')
        return false;
    i += i < len && at[i] == 0x94 ? 1 : i < len && at[i] == 'q' ? 2 : 0;
    i += i < len && at[i] == '(';
    return i < len && strchr("KMJ\x8a", at[i]) && at[i];
}

/* {"123": " or [ or { */
static bool is_json_of_nodes(const unsigned char *at, size_t len)
{
    static const char *const parts[] = { "{", "\"", NULL, "\"", ":" };
    size_t i = 0, digits = 0;

    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (!parts[k]) {
            for (; i < len && isdigit(at[i]); i++)
                digits++;
            continue;
        }
        while (i < len && isspace(at[i]))
            i++;
        if (i >= len || at[i++] != (unsigned char)*parts[k])
            return false;
    }
    while (i < len && isspace(at[i]))
        i++;
    return digits && digits <= MOST_DIGITS && i < len && strchr("\"[{", at[i]) && at[i];
}

static bool sniff_nodes(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return lpo_snapshot_is_plain(head, len) &&
           (*head == 0x80 ? is_pickle_of_nodes(head, len) : is_json_of_nodes(head, len));
}

const struct lpo_reader lpo_graph_nodes_reader = {
    .name = "graph-nodes",
    .summary = "annotations or stacks of the nodes of CUDA graphs (PyTorch: JSON, or a pickle)",
    .first = true,
    .sniff = sniff_nodes,
    .read = read_nodes,
};
