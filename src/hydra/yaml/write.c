/* SPDX-License-Identifier: Apache-2.0 */
/* Config values as YAML text, laid out as PyYAML does it.
 *
 * Which quotes a scalar needs and where its lines break are PyYAML's choices: bare where that is
 * safe, else single quotes, double quotes only where a character needs an escape; long text is
 * folded at blanks near column 80. */

#include "hydra/node.h"
#include "hydra/yaml/yaml.h"

/* Scalars */

/* What was written so far, and the column it ends at. */
struct pen {
    struct lpo_str *out;
    int column, indent;
    bool whitespace; /* the last thing written separates */
    bool indention;  /* this line holds only its indentation so far */
};

/* A scalar ready to be written. */
struct scalar {
    uint32_t *chars; /* the text, in code points; released with scalar_free() */
    size_t count;
    const char *tag;    /* "!!str": its length counts for what is a short key */
    bool plain, single; /* allowed styles; double always is */
    bool multiline, empty;
    bool literal; /* binary: a block scalar with its tag */
};

enum { WIDTH = 80, SHORT_KEY = 128, STEP = 2 };

static bool is_break(uint32_t c)
{
    return c == '\n' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_blank(uint32_t c)
{
    return c == 0 || c == ' ' || c == '\t' || c == '\r' || is_break(c);
}

/* Needs an escape. PyYAML writes U+0085 as it is, but reads it back as a blank; we escape it. */
static bool is_special(uint32_t c)
{
    if (c == '\n' || (c >= 0x20 && c <= 0x7e))
        return false;
    return !((c >= 0xa0 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd) ||
             (c >= 0x10000 && c < 0x10ffff)) ||
           c == 0xfeff;
}

static uint32_t *code_points(const char *text, size_t len, size_t *count)
{
    uint32_t *out = lpo_xcalloc(len + 1, sizeof(*out));
    size_t n = 0;

    for (size_t i = 0; i < len;) {
        static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        size_t size = lpo_str_utf8_len(text + i, len - i);
        uint32_t cp = size ? (unsigned char)text[i] & lead[size] : 0xfffd;

        for (size_t j = 1; j < size; j++)
            cp = cp << 6 | ((unsigned char)text[i + j] & 0x3f);
        out[n++] = cp;
        i += size ? size : 1;
    }
    *count = n;
    return out;
}

/* Which characters the text has: they decide which styles are allowed. */
static void analyze(struct scalar *s)
{
    bool indicators = false, special = false, edge_blank, break_space = false, space_break = false;
    const uint32_t *c = s->chars;
    size_t n = s->count;

    s->empty = n == 0;
    if (s->empty) {
        s->plain = s->single = true;
        return;
    }
    if (n >= 3 && ((c[0] == '-' && c[1] == '-' && c[2] == '-') ||
                   (c[0] == '.' && c[1] == '.' && c[2] == '.')))
        indicators = true;
    for (size_t i = 0; i < n; i++) {
        bool before = i == 0 || is_blank(c[i - 1]), after = i + 1 >= n || is_blank(c[i + 1]);

        if (i == 0 && c[0] && c[0] < 0x80 && strchr("#,[]{}&*!|>'\"%@`", (int)c[0]))
            indicators = true;
        if ((c[i] == ':' && after) || (c[i] == '#' && before && i > 0))
            indicators = true;
        if (i == 0 && (c[0] == '?' || c[0] == '-') && after)
            indicators = true;
        s->multiline = s->multiline || is_break(c[i]);
        special = special || is_special(c[i]);
        if (i > 0 && c[i] == ' ' && is_break(c[i - 1]))
            break_space = true;
        if (i > 0 && c[i - 1] == ' ' && is_break(c[i]))
            space_break = true;
    }
    edge_blank = c[0] == ' ' || is_break(c[0]) || c[n - 1] == ' ' || is_break(c[n - 1]);
    s->single = !break_space && !space_break && !special;
    s->plain = s->single && !edge_blank && !s->multiline && !indicators;
}

static bool is_yaml_bool(const char *text, size_t len)
{
    static const char *const words[] = { "y",    "Y",     "yes",   "Yes",   "YES",  "n",
                                         "N",    "no",    "No",    "NO",    "true", "True",
                                         "TRUE", "false", "False", "FALSE", "on",   "On",
                                         "ON",   "off",   "Off",   "OFF" };

    return lpo_any(i, sizeof words / sizeof *words,
                   words[i][0] == *text && strlen(words[i]) == len &&
                       memcmp(words[i], text, len) == 0);
}

static void init_string(struct scalar *s, const struct lpo_node *n)
{
    s->tag = "!!str";
    s->chars = code_points(n->text, n->len, &s->count);
    analyze(s);
    if (is_yaml_bool(n->text, n->len) || lpo_yaml_py_is_int(n->text, n->len) ||
        lpo_yaml_py_is_float(n->text, n->len) || !lpo_yaml_scalar_is_plain_text(n->text, n->len))
        s->plain = false;
}

/* PyYAML writes a point in every float, because plain YAML 1.1 reads 1e-05 back as text. */
static void add_float(struct lpo_str *out, double d)
{
    LPO_STR t = { 0 };
    char *e;

    if (isnan(d) || isinf(d)) {
        lpo_str_add(out, isnan(d) ? ".nan" : d < 0 ? "-.inf" : ".inf");
        return;
    }
    lpo_yaml_py_add_float(&t, d);
    e = strchr(t.at, 'e');
    if (!e || strchr(t.at, '.'))
        lpo_str_add(out, t.at);
    else
        lpo_str_addf(out, "%.*s.0%s", (int)(e - t.at), t.at, e);
}

static void scalar_init(struct scalar *s, const struct lpo_node *n)
{
    LPO_STR text = { 0 };

    *s = (struct scalar){ .tag = "!!null" };
    switch (n->kind) {
    case LPO_NODE_STRING:
        init_string(s, n);
        return;
    case LPO_NODE_BYTES:
        s->tag = "!!binary";
        s->literal = true;
        lpo_str_add_base64(&text, n->text, n->len, 57); /* as Python breaks its lines */
        break;
    case LPO_NODE_BOOL:
        s->tag = "!!bool";
        lpo_str_add(&text, n->boolean ? "true" : "false");
        break;
    case LPO_NODE_INT:
        s->tag = "!!int";
        lpo_str_addf(&text, "%" PRId64, n->integer);
        break;
    case LPO_NODE_BIGINT:
        s->tag = "!!int";
        lpo_str_addn(&text, n->text, n->len);
        break;
    case LPO_NODE_FLOAT:
        s->tag = "!!float";
        add_float(&text, n->real);
        break;
    default:
        lpo_str_add(&text, "null");
    }
    s->chars = code_points(lpo_str_text(&text), text.len, &s->count);
    analyze(s);
}

static void scalar_free(struct scalar *s)
{
    free(s->chars);
    s->chars = NULL;
}

static bool scalar_is_short_key(const struct scalar *s)
{
    return strlen(s->tag) + s->count < SHORT_KEY && !s->empty && !s->multiline;
}

/* The pen */

static void line_break(struct pen *p, uint32_t c)
{
    lpo_str_add_utf8(p->out, c);
    p->whitespace = p->indention = true;
    p->column = 0;
}

static void put_chars(struct pen *p, const uint32_t *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        lpo_str_add_utf8(p->out, c[i]);
    p->column += (int)(to - from);
}

static void put_text(struct pen *p, const char *text)
{
    lpo_str_add(p->out, text);
    p->column += (int)strlen(text);
}

static void pen_indicator(struct pen *p, const char *text, bool needs_blank, bool keep_indention)
{
    if (needs_blank && !p->whitespace)
        put_text(p, " ");
    put_text(p, text);
    p->whitespace = false;
    p->indention = p->indention && keep_indention;
}

static void pen_indent(struct pen *p)
{
    int indent = p->indent < 0 ? 0 : p->indent;

    if (!p->indention || p->column > indent || (p->column == indent && !p->whitespace))
        line_break(p, '\n');
    if (p->column < indent)
        p->whitespace = true;
    while (p->column < indent)
        put_text(p, " ");
}

/* The three styles */

static void write_plain(struct pen *p, const struct scalar *s, bool split)
{
    const uint32_t *c = s->chars;
    size_t start = 0, end;

    if (s->count == 0)
        return;
    if (!p->whitespace)
        put_text(p, " ");
    p->whitespace = p->indention = false;
    while (start < s->count) {
        bool spaces = c[start] == ' ';

        for (end = start; end < s->count && (c[end] == ' ') == spaces;)
            end++;
        if (spaces && end == start + 1 && p->column > WIDTH && split) {
            pen_indent(p);
            p->whitespace = p->indention = false;
        } else {
            put_chars(p, c, start, end);
        }
        start = end;
    }
}

/* A newline inside single quotes is written as an empty line more. */
static void write_breaks(struct pen *p, const uint32_t *c, size_t start, size_t end)
{
    if (c[start] == '\n')
        line_break(p, '\n');
    for (size_t i = start; i < end; i++)
        line_break(p, c[i]);
    pen_indent(p);
}

static void write_single(struct pen *p, const struct scalar *s, bool split)
{
    const uint32_t *c = s->chars;
    size_t start = 0, end;

    pen_indicator(p, "'", true, false);
    while (start < s->count) {
        end = start + 1;
        if (c[start] == '\'') {
            put_text(p, "''");
        } else if (c[start] == ' ') {
            while (end < s->count && c[end] == ' ')
                end++;
            if (end == start + 1 && p->column > WIDTH && split && start != 0 && end != s->count)
                pen_indent(p);
            else
                put_chars(p, c, start, end);
        } else if (is_break(c[start])) {
            while (end < s->count && is_break(c[end]))
                end++;
            write_breaks(p, c, start, end);
        } else {
            while (end < s->count && c[end] != ' ' && c[end] != '\'' && !is_break(c[end]))
                end++;
            put_chars(p, c, start, end);
        }
        start = end;
    }
    pen_indicator(p, "'", false, false);
}

static bool needs_escape(uint32_t c)
{
    if (c == '"' || c == '\\' || c == 0x85 || c == 0x2028 || c == 0x2029 || c == 0xfeff)
        return true;
    return !((c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xd7ff) ||
             (c >= 0xe000 && c <= 0xfffd));
}

static void put_escape(struct pen *p, uint32_t c)
{
    static const struct {
        uint32_t c;
        char letter;
    } named[] = {
        { 0, '0' },     { 7, 'a' },    { 8, 'b' },    { 9, 't' },      { 10, 'n' },
        { 11, 'v' },    { 12, 'f' },   { 13, 'r' },   { 27, 'e' },     { '"', '"' },
        { '\\', '\\' }, { 0x85, 'N' }, { 0xa0, '_' }, { 0x2028, 'L' }, { 0x2029, 'P' },
    };
    char text[16] = "";

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].c == c)
            snprintf(text, sizeof text, "\\%c", named[i].letter);
    if (!text[0])
        snprintf(text, sizeof text, c <= 0xff ? "\\x%02X" : c <= 0xffff ? "\\u%04X" : "\\U%08X", c);
    put_text(p, text);
}

static void write_double(struct pen *p, const struct scalar *s, bool split)
{
    const uint32_t *c = s->chars;
    size_t start = 0;

    pen_indicator(p, "\"", true, false);
    for (size_t end = 0; end <= s->count; end++) {
        if (end == s->count || needs_escape(c[end])) {
            put_chars(p, c, start, end);
            start = end;
            if (end < s->count) {
                put_escape(p, c[end]);
                start = end + 1;
            }
        }
        if (end > 0 && end + 1 < s->count && (c[end] == ' ' || start >= end) && split &&
            p->column + (int)end - (int)start > WIDTH) {
            if (start < end) {
                put_chars(p, c, start, end);
                start = end;
            }
            put_text(p, "\\");
            pen_indent(p);
            p->whitespace = p->indention = false;
            if (c[start] == ' ')
                put_text(p, "\\");
        }
    }
    pen_indicator(p, "\"", false, false);
}

static void write_literal(struct pen *p, const struct scalar *s)
{
    size_t start = 0;

    pen_indicator(p, s->count ? "|" : "\"\"", true, false);
    if (s->count == 0)
        return;
    line_break(p, '\n');
    for (size_t end = 0; end < s->count; end++) {
        if (s->chars[end] != '\n')
            continue;
        pen_indent(p);
        put_chars(p, s->chars, start, end);
        line_break(p, '\n');
        start = end + 1;
    }
}

static void scalar_write(struct pen *p, const struct scalar *s, bool as_key)
{
    int outer = p->indent;

    p->indent = outer < 0 ? STEP : outer + STEP; /* for the lines after the first */
    if (s->literal) {
        pen_indicator(p, s->tag, true, false);
        write_literal(p, s);
    } else if (s->plain && !(as_key && (s->empty || s->multiline))) {
        write_plain(p, s, !as_key);
    } else if (s->single && !(as_key && s->multiline)) {
        write_single(p, s, !as_key);
    } else {
        write_double(p, s, !as_key);
    }
    p->indent = outer;
}

/* Lists and maps */

static void write_node(struct pen *p, const struct lpo_node *n, bool in_map);

static void write_scalar(struct pen *p, const struct lpo_node *n)
{
    struct scalar s;

    scalar_init(&s, n);
    scalar_write(p, &s, false);
    scalar_free(&s);
}

static void write_key(struct pen *p, const struct lpo_node *key)
{
    struct scalar s;

    scalar_init(&s, key);
    pen_indent(p);
    if (scalar_is_short_key(&s)) {
        scalar_write(p, &s, true);
        pen_indicator(p, ":", false, false);
    } else {
        pen_indicator(p, "?", true, true);
        scalar_write(p, &s, false);
        pen_indent(p);
        pen_indicator(p, ":", true, true);
    }
    scalar_free(&s);
}

static void write_map(struct pen *p, const struct lpo_node *map)
{
    int outer = p->indent;

    p->indent = outer < 0 ? 0 : outer + STEP;
    for (size_t i = 0; i < map->npairs; i++) {
        write_key(p, map->pairs[i].key);
        write_node(p, map->pairs[i].value, true);
    }
    p->indent = outer;
}

static void write_list(struct pen *p, const struct lpo_node *list, bool in_map)
{
    int outer = p->indent;
    bool indentless = in_map && !p->indention;

    if (outer < 0)
        p->indent = 0;
    else if (!indentless)
        p->indent = outer + STEP;
    for (size_t i = 0; i < list->count; i++) {
        pen_indent(p);
        pen_indicator(p, "-", true, true);
        write_node(p, list->items[i], false);
    }
    p->indent = outer;
}

static void write_node(struct pen *p, const struct lpo_node *n, bool in_map)
{
    if (n->kind == LPO_NODE_MAP && n->npairs)
        write_map(p, n);
    else if (n->kind == LPO_NODE_LIST && n->count)
        write_list(p, n, in_map);
    else if (lpo_node_is_container(n))
        pen_indicator(p, n->kind == LPO_NODE_MAP ? "{}" : "[]", true, false);
    else
        write_scalar(p, n);
}

void lpo_yaml_add(struct lpo_str *s, const struct lpo_node *root)
{
    struct pen p = { .out = s, .indent = -1, .whitespace = true, .indention = true };

    write_node(&p, root, false);
    p.indent = -1;
    pen_indent(&p);
}
