/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events to a tree of words. */
#include <string.h>
#include <yaml.h>

#include "hydra/yaml/tree.h"
#include "hydra/yaml/yaml.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/map.h"
#include "util/str.h"
#include "util/xmalloc.h"

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

void lpo_yaml_node_push(struct lpo_arena *a, struct lpo_ynode *n, struct lpo_ynode *kid)
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
        lpo_yaml_node_push(r->arena, n, kid);
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
    yaml_event_t ev;
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

int lpo_yaml_tree_read(struct lpo_arena *a, const char *text, size_t len, const char *file,
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
