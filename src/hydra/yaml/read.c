/* SPDX-License-Identifier: Apache-2.0 */
/* YAML text to nodes. A document is first a tree of words, because merge keys and repeated keys are
 * matters of the text, not of the values. */
#include "hydra/yaml/yaml.h"

#include <yaml.h>

#include "hydra/node.h"

enum lpo_ykind { LPO_Y_SCALAR, LPO_Y_SEQ, LPO_Y_MAP };

struct lpo_ynode {
    enum lpo_ykind kind;
    enum lpo_scalar_tag tag;
    const char *tag_text; /* of an unknown tag */
    struct lpo_where where;
    char quote;
    const char *text; /* scalar */
    size_t len;
    struct lpo_ynode **kids; /* items; keys and values in turn */
    size_t count, cap;
    struct lpo_node *made; /* the value, once it exists */
    bool flat;             /* merge keys are resolved */
    bool open;             /* on the way down to it, to find loops */
};

/* --- libyaml's events to a tree of words --------------------------------------------------------
 */

/* Tabs
 *
 * libyaml accepts a tab as a blank between words ("a:<TAB>1"); PyYAML, and so Hydra, refuses it.
 * The text between events is looked at, so that a file means the same here as there. */

struct tabs {
    const char *text;
    size_t len;
    size_t byte, chars; /* how far it was looked at */
    unsigned line, column;
};

static char step(struct tabs *t)
{
    char c = t->text[t->byte++];

    while (t->byte < t->len && ((unsigned char)t->text[t->byte] & 0xc0) == 0x80)
        t->byte++;
    t->chars++;
    t->column++;
    if (c == '\n') {
        t->line++;
        t->column = 1;
    }
    return c;
}

/* `to` counts characters, as libyaml's marks do. True when there is a bad tab; then line and column
 * (from 1) say where. */
static bool tab_between(struct tabs *t, size_t to)
{
    bool comment = false;

    while (t->chars < to && t->byte < t->len) {
        char c = t->text[t->byte];

        if (c == '\t' && !comment)
            return true;
        if (c == '#')
            comment = true;
        if (c == '\n' || c == '\r')
            comment = false;
        step(t);
    }
    return false;
}

/* Passes over [here, to), where tabs are allowed unless `plain`. */
static bool tab_over(struct tabs *t, size_t to, bool plain)
{
    while (t->chars < to && t->byte < t->len) {
        if (plain && t->text[t->byte] == '\t')
            return true;
        step(t);
    }
    return false;
}

/* Events */

struct reading {
    struct lpo_arena *arena;
    const char *file;
    yaml_parser_t parser;
    struct lpo_map *anchors; /* name to struct lpo_ynode * */
    size_t values;
    bool aliases;
    struct tabs tabs;
    struct lpo_err *err;
};

static void push_kid(struct lpo_arena *a, struct lpo_ynode *n, struct lpo_ynode *kid)
{
    if (n->count == n->cap) {
        size_t cap = n->cap ? n->cap * 2 : 4;
        struct lpo_ynode **kids = lpo_arena_array(a, cap, sizeof(*kids));

        if (n->count)
            memcpy(kids, n->kids, n->count * sizeof(*kids));
        n->kids = kids;
        n->cap = cap;
    }
    n->kids[n->count++] = kid;
}

static struct lpo_where place(const struct reading *r, yaml_mark_t m)
{
    return (struct lpo_where){ r->file, (unsigned)m.line + 1, (unsigned)m.column + 1 };
}

static int fail_at(const struct reading *r, yaml_mark_t m, const char *what, const char *name)
{
    return lpo_fail(r->err, LPO_E_FORMAT, "%s:%zu:%zu: %s%s", r->file, m.line + 1, m.column + 1,
                    what, name);
}

/* A bare ${…} in a flow mapping is the mistake people make most; say how to write it. */
static const char *hint(const char *problem)
{
    if (strstr(problem, "did not find expected ',' or '}'") ||
        strstr(problem, "did not find expected ',' or ']'"))
        return " (an interpolation inside {} or [] needs quotes: '${key}')";
    return "";
}

static int parse_error(const struct reading *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";

    if (p->error == YAML_MEMORY_ERROR)
        lpo_xmalloc_failed(0); /* it does not say how much it asked for */
    if (p->error == YAML_READER_ERROR)
        return lpo_fail(r->err, LPO_E_FORMAT, "%s: byte %zu: %s (#x%02X)", r->file,
                        p->problem_offset, problem, (unsigned)p->problem_value);
    return lpo_fail(r->err, LPO_E_FORMAT, "%s:%zu:%zu: %s%s%s%s%s", r->file,
                    p->problem_mark.line + 1, p->problem_mark.column + 1,
                    p->context ? p->context : "", p->context ? ": " : "", problem, hint(problem),
                    "");
}

/* Only texts that hold a tab are looked at. */
static int check_tabs(struct reading *r, const yaml_event_t *ev)
{
    bool plain = ev->type == YAML_SCALAR_EVENT && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (!r->tabs.text || (!tab_between(&r->tabs, ev->start_mark.index) &&
                          !tab_over(&r->tabs, ev->end_mark.index, plain)))
        return 0;
    return lpo_fail(r->err, LPO_E_FORMAT, "%s:%u:%u: a tab is not allowed here; use blanks",
                    r->file, r->tabs.line, r->tabs.column);
}

static int next(struct reading *r, yaml_event_t *ev)
{
    int rc = yaml_parser_parse(&r->parser, ev) ? check_tabs(r, ev) : parse_error(r);

    if (rc < 0)
        yaml_event_delete(ev);
    return rc;
}

static struct lpo_ynode *fresh(struct reading *r, enum lpo_ykind kind, const yaml_event_t *ev)
{
    struct lpo_ynode *n = LPO_NEW(r->arena, struct lpo_ynode);

    n->kind = kind;
    n->where = place(r, ev->start_mark);
    return n;
}

static void set_tag(struct reading *r, struct lpo_ynode *n, const yaml_char_t *tag,
                    enum lpo_scalar_tag fallback)
{
    if (tag && strcmp((const char *)tag, "!") == 0)
        tag = NULL; /* a lone '!' names no tag */
    n->tag = tag ? lpo_yaml_scalar_tag_of((const char *)tag) : fallback;
    if (n->tag == LPO_TAG_UNKNOWN)
        n->tag_text = lpo_arena_strdup(r->arena, (const char *)tag);
}

/* plain_implicit is false for quoted text, which is always a string; an explicit tag (!!int '3')
 * wins over both. */
static struct lpo_ynode *scalar(struct reading *r, const yaml_event_t *ev)
{
    struct lpo_ynode *n = fresh(r, LPO_Y_SCALAR, ev);
    const char *text = (const char *)ev->data.scalar.value;
    enum lpo_scalar_tag bare = LPO_TAG_STR;

    n->len = ev->data.scalar.length;
    n->text = lpo_arena_strndup(r->arena, text, n->len);
    if (ev->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE)
        n->quote = '\'';
    else if (ev->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE)
        n->quote = '"';
    if (ev->data.scalar.plain_implicit || ev->data.scalar.tag)
        bare = lpo_yaml_scalar_resolve(n->text, n->len);
    set_tag(r, n, ev->data.scalar.tag, bare);
    return n;
}

/* libyaml's events say nothing of an anchor that is defined twice; PyYAML refuses it. */
static int remember(struct reading *r, const yaml_event_t *ev, const yaml_char_t *name,
                    struct lpo_ynode *n)
{
    const char *anchor = (const char *)name;
    bool is_new;
    uint64_t *slot;

    if (!anchor)
        return 0;
    slot = lpo_map_put(r->anchors, anchor, strlen(anchor), &is_new);
    if (!is_new)
        return fail_at(r, ev->start_mark, "found duplicate anchor ", anchor);
    *slot = (uint64_t)(uintptr_t)n;
    return 0;
}

static int compose(struct reading *r, yaml_event_t *ev, unsigned depth, struct lpo_ynode **out);

static int compose_kids(struct reading *r, struct lpo_ynode *n, unsigned depth)
{
    yaml_event_type_t end = n->kind == LPO_Y_SEQ ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;

    for (;;) {
        struct lpo_ynode *kid;
        yaml_event_t ev;
        int rc = next(r, &ev);

        if (rc < 0)
            return rc;
        if (ev.type == end) {
            yaml_event_delete(&ev);
            return 0;
        }
        rc = compose(r, &ev, depth + 1, &kid);
        yaml_event_delete(&ev);
        if (rc < 0)
            return rc;
        push_kid(r->arena, n, kid);
    }
}

static int compose_alias(struct reading *r, const yaml_event_t *ev, struct lpo_ynode **out)
{
    const char *name = (const char *)ev->data.alias.anchor;
    const uint64_t *slot = lpo_map_find(r->anchors, name, strlen(name));

    if (!slot)
        return fail_at(r, ev->start_mark, "found undefined alias ", name);
    *out = (struct lpo_ynode *)(uintptr_t)*slot;
    r->aliases = true;
    return 0;
}

static int compose(struct reading *r, yaml_event_t *ev, unsigned depth, struct lpo_ynode **out)
{
    int rc;

    if (depth > LPO_YAML_MAX_DEPTH)
        return fail_at(r, ev->start_mark, "nested too deeply", "");
    if (++r->values > LPO_YAML_MAX_VALUES)
        return fail_at(r, ev->start_mark, "too many values for a config", "");
    switch (ev->type) {
    case YAML_ALIAS_EVENT:
        return compose_alias(r, ev, out);
    case YAML_SCALAR_EVENT:
        *out = scalar(r, ev);
        return remember(r, ev, ev->data.scalar.anchor, *out);
    case YAML_SEQUENCE_START_EVENT:
        *out = fresh(r, LPO_Y_SEQ, ev);
        set_tag(r, *out, ev->data.sequence_start.tag, LPO_TAG_SEQ);
        rc = remember(r, ev, ev->data.sequence_start.anchor, *out);
        return rc < 0 ? rc : compose_kids(r, *out, depth);
    case YAML_MAPPING_START_EVENT:
        *out = fresh(r, LPO_Y_MAP, ev);
        set_tag(r, *out, ev->data.mapping_start.tag, LPO_TAG_MAP);
        rc = remember(r, ev, ev->data.mapping_start.anchor, *out);
        return rc < 0 ? rc : compose_kids(r, *out, depth);
    default:
        return fail_at(r, ev->start_mark, "unexpected YAML event", "");
    }
}

/* One step that must give an event of `type`, e.g. the end of a document. */
static int skip(struct reading *r, yaml_event_type_t type, const char *otherwise)
{
    yaml_event_t ev;
    int rc = next(r, &ev);

    if (rc < 0)
        return rc;
    if (ev.type != type)
        rc = fail_at(r, ev.start_mark, otherwise, "");
    yaml_event_delete(&ev);
    return rc;
}

static int read_document(struct reading *r, struct lpo_ynode **out)
{
    yaml_event_t ev = { 0 };
    int rc = skip(r, YAML_STREAM_START_EVENT, "not a YAML stream");

    if (rc == 0)
        rc = next(r, &ev);
    if (rc < 0)
        return rc;
    if (ev.type == YAML_STREAM_END_EVENT) {
        yaml_event_delete(&ev);
        return 0;
    }
    yaml_event_delete(&ev); /* the document's start */
    rc = next(r, &ev);
    if (rc < 0)
        return rc;
    rc = compose(r, &ev, 0, out);
    yaml_event_delete(&ev);
    if (rc == 0)
        rc = skip(r, YAML_DOCUMENT_END_EVENT, "expected the end of the document");
    if (rc == 0)
        rc = skip(r, YAML_STREAM_END_EVENT,
                  "expected a single document in the stream, but found another document");
    return rc;
}

static int read_tree(struct lpo_arena *a, const char *text, size_t len, const char *file,
                     struct lpo_ynode **out, bool *aliases, struct lpo_err *err)
{
    LPO_AUTO(lpo_map) anchors = lpo_map_create();
    struct reading r = { .arena = a, .anchors = anchors, .file = file, .err = err };
    int rc;

    *out = NULL;
    if (!yaml_parser_initialize(&r.parser))
        lpo_xmalloc_failed(sizeof r.parser);
    /* with a fixed encoding libyaml does not look for the mark; PyYAML drops it */
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark */
        len -= 3;
    }
    if (memchr(text, '\t', len))
        r.tabs = (struct tabs){ .text = text, .len = len, .line = 1, .column = 1 };
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    rc = read_document(&r, out);
    yaml_parser_delete(&r.parser);
    *aliases = r.aliases;
    return rc;
}

/* --- the tree to nodes: merge keys, repeated keys -----------------------------------------------
 */

struct making {
    struct lpo_arena *arena;
    struct lpo_arena *scratch; /* of the tree: gone when the values exist */
    struct lpo_ynode *root;
    LPO_VEC(struct lpo_ynode *) queue; /* containers that exist but are not filled yet */
    size_t merged;                     /* pairs brought in by merge keys: they multiply */
    struct lpo_err *err;
    struct lpo_err
        why; /* of a scalar; here, since zeroing one for each scalar takes longer than it */
};

static int fail_of(const struct making *m, const struct lpo_ynode *n, const char *what,
                   const char *name)
{
    return lpo_fail(m->err, LPO_E_FORMAT, "%s:%u:%u: %s%s", n->where.file, n->where.line,
                    n->where.column, what, name);
}

static bool path_to(const struct lpo_ynode *from, const struct lpo_ynode *to, struct lpo_str *s,
                    unsigned depth)
{
    size_t step = from->kind == LPO_Y_MAP ? 2 : 1, len = s->len;

    if (from == to)
        return true;
    if (from->kind == LPO_Y_SCALAR || depth > LPO_YAML_MAX_DEPTH)
        return false;
    for (size_t i = 0; i + step <= from->count; i += step) {
        if (step == 1)
            lpo_str_addf(s, "[%zu]", i);
        else
            lpo_str_addf(s, "%s%s", len ? "." : "", from->kids[i]->text ? from->kids[i]->text : "");
        if (path_to(from->kids[i + step - 1], to, s, depth + 1))
            return true;
        s->len = len;
        s->at[len] = '\0';
    }
    return false;
}

/* Values that YAML has and a config cannot hold: sets and dates. */
static int unsupported(const struct making *m, const struct lpo_ynode *n, const char *type)
{
    LPO_STR path = { 0 };

    path_to(m->root, n, &path, 0);
    return lpo_fail(m->err, LPO_E_FORMAT,
                    "%s:%u:%u: Value '%s' is not a supported primitive type (key '%s')",
                    n->where.file, n->where.line, n->where.column, type, lpo_str_text(&path));
}

static int make_scalar(struct making *m, struct lpo_ynode *n)
{
    struct lpo_node *v;

    if (n->tag == LPO_TAG_TIMESTAMP)
        return unsupported(m, n, "datetime");
    if (n->tag == LPO_TAG_UNKNOWN || n->tag == LPO_TAG_MERGE || n->tag == LPO_TAG_VALUE)
        return fail_of(m, n, "could not determine a constructor for the tag ",
                       n->tag_text               ? n->tag_text
                       : n->tag == LPO_TAG_MERGE ? "tag:yaml.org,2002:merge"
                                                 : "tag:yaml.org,2002:value");
    if (n->tag >= LPO_TAG_SEQ)
        return fail_of(m, n, "expected a collection for this tag, but found a scalar", "");
    if (lpo_yaml_scalar_make(m->arena, n->tag, n->text, n->len, &v, &m->why) < 0)
        return fail_of(m, n, "", lpo_err_cause(&m->why));
    v->quote = v->kind == LPO_NODE_STRING ? n->quote : 0;
    v->where = n->where;
    n->made = v;
    return 0;
}

static int check_container_tag(struct making *m, const struct lpo_ynode *n)
{
    if (n->tag == LPO_TAG_UNKNOWN)
        return fail_of(m, n, "could not determine a constructor for the tag ", n->tag_text);
    if (n->kind == LPO_Y_MAP && n->tag == LPO_TAG_SET)
        return unsupported(m, n, "set");
    if (n->kind == LPO_Y_MAP
            ? n->tag != LPO_TAG_MAP
            : n->tag != LPO_TAG_SEQ && n->tag != LPO_TAG_OMAP && n->tag != LPO_TAG_PAIRS)
        return fail_of(m, n, "the tag does not fit a ",
                       n->kind == LPO_Y_MAP ? "mapping" : "sequence");
    return 0;
}

/* The node that will hold the value; a container is empty until its turn in the queue. */
static int make(struct making *m, struct lpo_ynode *n)
{
    int rc;

    if (n->made)
        return 0;
    if (n->kind == LPO_Y_SCALAR)
        return make_scalar(m, n);
    rc = check_container_tag(m, n);
    if (rc < 0)
        return rc;
    n->made = n->kind == LPO_Y_MAP ? lpo_node_map(m->arena) : lpo_node_list(m->arena);
    n->made->where = n->where;
    lpo_vec_push(&m->queue, n);
    return 0;
}

static int by_text(const void *x, const void *y)
{
    const struct lpo_ynode *a = **(struct lpo_ynode *const *const *)x;
    const struct lpo_ynode *b = **(struct lpo_ynode *const *const *)y;
    size_t len = a->len < b->len ? a->len : b->len;
    int diff = memcmp(a->text, b->text, len);

    if (diff)
        return diff;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return *(struct lpo_ynode *const *const *)x < *(struct lpo_ynode *const *const *)y ? -1 : 1;
}

static bool same_text(const struct lpo_ynode *a, const struct lpo_ynode *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Only text keys are checked, as OmegaConf does. Sorted, so that thousands of keys cost little. */
static int check_repeats(struct making *m, const struct lpo_ynode *n)
{
    LPO_FREED struct lpo_ynode ***keys = lpo_xcalloc(n->count / 2 + 1, sizeof *keys);
    struct lpo_ynode **worst = NULL;
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i + 1 < n->count; i += 2)
        if (n->kids[i]->kind == LPO_Y_SCALAR && n->kids[i]->tag == LPO_TAG_STR)
            keys[count++] = &n->kids[i];
    qsort(keys, count, sizeof(*keys), by_text);
    for (size_t i = 1; i < count; i++)
        if (same_text(*keys[i - 1], *keys[i]) && (!worst || keys[i] < worst))
            worst = keys[i];
    if (worst)
        rc = fail_of(m, *worst, "found duplicate key ", (*worst)->text);
    return rc;
}

static int flatten(struct making *m, struct lpo_ynode *n, unsigned depth);

static int merge_from(struct making *m, struct lpo_ynode *into, struct lpo_ynode *from,
                      unsigned depth)
{
    int rc = flatten(m, from, depth + 1);

    if (rc < 0)
        return rc;
    m->merged += from->count;
    if (m->merged > 2 * LPO_YAML_MAX_VALUES)
        return fail_of(m, from, "merge keys expand to too many values", "");
    for (size_t i = 0; i < from->count; i++)
        push_kid(m->scratch, into, from->kids[i]);
    return 0;
}

static int merge_value(struct making *m, struct lpo_ynode *into, struct lpo_ynode *value,
                       unsigned depth)
{
    if (value->kind == LPO_Y_MAP)
        return merge_from(m, into, value, depth);
    if (value->kind == LPO_Y_SCALAR)
        return fail_of(m, value, "expected a mapping or list of mappings for merging, found ",
                       "a scalar");
    for (size_t i = 0; i < value->count; i++)
        if (value->kids[i]->kind != LPO_Y_MAP)
            return fail_of(m, value->kids[i], "expected a mapping for merging", "");
    for (size_t i = value->count; i-- > 0;) { /* the first of a list wins, so it comes last */
        int rc = merge_from(m, into, value->kids[i], depth);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Replaces `<<` by the pairs it stands for, before the mapping's own. */
static int flatten(struct making *m, struct lpo_ynode *n, unsigned depth)
{
    struct lpo_ynode merged = { .kind = LPO_Y_MAP };
    size_t kept = 0;

    if (n->flat)
        return 0;
    if (n->open || depth > LPO_YAML_MAX_DEPTH)
        return fail_of(m, n, "a merge key leads back to its own mapping", "");
    n->open = true;
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        struct lpo_ynode *key = n->kids[i];

        if (key->kind == LPO_Y_SCALAR && key->tag == LPO_TAG_MERGE) {
            int rc = merge_value(m, &merged, n->kids[i + 1], depth);

            if (rc < 0)
                return rc;
            continue;
        }
        if (key->kind == LPO_Y_SCALAR && key->tag == LPO_TAG_VALUE)
            key->tag = LPO_TAG_STR;
        n->kids[kept++] = key;
        n->kids[kept++] = n->kids[i + 1];
    }
    n->open = false;
    n->flat = true;
    n->count = kept;
    if (merged.count == 0)
        return 0;
    for (size_t i = 0; i < kept; i++)
        push_kid(m->scratch, &merged, n->kids[i]);
    n->kids = merged.kids;
    n->count = merged.count;
    n->cap = merged.cap;
    return 0;
}

static int fill_map(struct making *m, struct lpo_ynode *n)
{
    int rc = check_repeats(m, n);

    if (rc == 0)
        rc = flatten(m, n, 0);
    for (size_t i = 0; rc == 0 && i + 1 < n->count; i += 2) {
        struct lpo_ynode *key = n->kids[i], *value = n->kids[i + 1];

        if (key->kind != LPO_Y_SCALAR)
            return fail_of(m, key, "found unhashable key", "");
        rc = make(m, key);
        if (rc == 0)
            rc = make(m, value);
        if (rc == 0)
            lpo_node_set_key(m->arena, n->made, key->made, value->made);
    }
    return rc;
}

/* !!omap and !!pairs: a list of one-key mappings becomes a list of [key, value]. */
static int fill_pairs(struct making *m, struct lpo_ynode *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct lpo_ynode *one = n->kids[i];
        struct lpo_node *pair = lpo_node_list(m->arena);

        if (one->kind != LPO_Y_MAP || one->count != 2)
            return fail_of(m, one, "expected a mapping of length 1", "");
        for (int j = 0; j < 2; j++) {
            int rc = make(m, one->kids[j]);

            if (rc < 0)
                return rc;
            lpo_node_push(m->arena, pair, one->kids[j]->made);
        }
        lpo_node_push(m->arena, n->made, pair);
    }
    return 0;
}

static int fill(struct making *m, struct lpo_ynode *n)
{
    if (n->kind == LPO_Y_MAP)
        return fill_map(m, n);
    if (n->tag != LPO_TAG_SEQ)
        return fill_pairs(m, n);
    for (size_t i = 0; i < n->count; i++) {
        int rc = make(m, n->kids[i]);

        if (rc < 0)
            return rc;
        lpo_node_push(m->arena, n->made, n->kids[i]->made);
    }
    return 0;
}

/* Gives every alias its own copy: what is merged into one place must not show in another. */
static int unshare(struct making *m, struct lpo_node *n, size_t *budget, unsigned depth,
                   struct lpo_node **out)
{
    struct lpo_node *copy;

    if (*budget == 0 || depth > LPO_YAML_MAX_DEPTH)
        return lpo_fail(m->err, LPO_E_LIMIT,
                        "%s:%u:%u: aliases expand to too many values, or to themselves",
                        n->where.file, n->where.line, n->where.column);
    --*budget;
    *out = copy = LPO_NEW(m->arena, struct lpo_node);
    *copy = *n;
    if (n->kind == LPO_NODE_LIST) {
        copy->items = lpo_arena_array(m->arena, n->count, sizeof(*copy->items));
        copy->cap = n->count;
        for (size_t i = 0; i < n->count; i++) {
            int rc = unshare(m, n->items[i], budget, depth + 1, &copy->items[i]);

            if (rc < 0)
                return rc;
        }
    } else if (n->kind == LPO_NODE_MAP) {
        *copy = *lpo_node_map(m->arena);
        copy->where = n->where;
        for (size_t i = 0; i < n->npairs; i++) {
            struct lpo_node *value;
            int rc = unshare(m, n->pairs[i].value, budget, depth + 1, &value);

            if (rc < 0)
                return rc;
            lpo_node_set_key(m->arena, copy, n->pairs[i].key, value);
        }
    }
    return 0;
}

static int make_tree(struct lpo_arena *a, struct lpo_arena *scratch, struct lpo_ynode *root,
                     bool aliases, struct lpo_node **out, struct lpo_err *err)
{
    struct making m = { .arena = a, .scratch = scratch, .root = root, .err = err };
    size_t budget = LPO_YAML_MAX_VALUES;
    int rc = make(&m, root);

    for (size_t i = 0; rc == 0 && i < m.queue.len; i++)
        rc = fill(&m, m.queue.at[i]);
    lpo_vec_free(&m.queue);
    if (rc < 0)
        return rc;
    *out = root->made;
    return aliases ? unshare(&m, root->made, &budget, 0, out) : 0;
}

int lpo_yaml_parse(struct lpo_arena *a, const char *text, size_t len, const char *file,
                   struct lpo_node **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) scratch = NULL;
    struct lpo_ynode *root = NULL;
    bool aliases = false;
    size_t bad;
    int rc;

    if (len > LPO_YAML_MAX_BYTES)
        return lpo_fail(err, LPO_E_LIMIT, "%s: %zu bytes are too many for a config (limit %u)",
                        file, len, LPO_YAML_MAX_BYTES);
    if (!lpo_str_utf8_valid(text, len, &bad)) {
        unsigned line = 1;

        for (size_t i = 0; i < bad; i++)
            line += text[i] == '\n';
        return lpo_fail(err, LPO_E_FORMAT, "%s:%u: byte %zu is not UTF-8", file, line, bad);
    }
    scratch = lpo_arena_create();
    rc = read_tree(scratch, text, len, lpo_arena_strdup(a, file), &root, &aliases, err);
    if (rc < 0)
        return rc;
    if (!root) {
        *out = lpo_node_null(a);
        return 0;
    }
    return make_tree(a, scratch, root, aliases, out, err);
}
