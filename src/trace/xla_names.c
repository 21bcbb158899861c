/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xla_names.h"

#include "trace/times.h"
#include "trace/trace.h"

/* --- scopes of the program -----------------------------------------------------------------------
 */

struct span {
    const char *at;
    size_t len;
};

static bool is(struct span s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* What JAX writes around a level: "jvp(layer)". */
static const struct wrapper {
    const char *word;
    enum { UNWRAP, TURN, DROP } what; /* TURN: it is the backward pass of what is inside */
} wrappers[] = {
    { "jvp", UNWRAP },  { "vmap", UNWRAP },       { "linearize", UNWRAP }, { "remat", UNWRAP },
    { "pmap", UNWRAP }, { "checkpoint", UNWRAP }, { "transpose", TURN },   { "jit", DROP },
    { "pjit", DROP },   { "xla_call", DROP },
};

/* Levels that no program named: control flow and calls of JAX itself. */
static bool is_jaxs_own(struct span s)
{
    static const char *const words[] = {
        "while",
        "body",
        "body_fun",
        "cond",
        "cond_fun",
        "scan",
        "checkpoint",
        "rematted_computation",
        "remat",
        "pjit",
        "closed_call",
        "core_call",
        "shard_map",
        "xla_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(s, words[i]))
            return true;
    return s.len > 11 && memcmp(s.at, "branch_", 7) == 0 &&
           memcmp(s.at + s.len - 4, "_fun", 4) == 0;
}

/* The next level; a '/' in brackets is part of it. */
static struct span next_level(const char **p, const char *end)
{
    struct span s = { *p, 0 };
    int depth = 0;

    for (; *p < end && (**p != '/' || depth > 0); (*p)++)
        depth += (**p == '(') - (**p == ')');
    s.len = (size_t)(*p - s.at);
    *p += *p < end;
    return s;
}

/* Takes the outermost wrapper off; false: there is none. */
static bool unwrap(struct span *s, bool *backward)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        size_t len = strlen(wrappers[i].word);

        if (s->len < len + 2 || memcmp(s->at, wrappers[i].word, len) != 0 || s->at[len] != '(' ||
            s->at[s->len - 1] != ')')
            continue;
        *backward |= wrappers[i].what == TURN;
        s->at += len + 1;
        s->len = wrappers[i].what == DROP ? 0 : s->len - len - 2;
        return true;
    }
    return false;
}

size_t lpo_trace_xla_scopes(struct lpo_trace *t, const char *op_name, size_t len,
                            uint32_t out[LPO_XLA_SCOPES])
{
    const char *p = op_name, *end = op_name + len;
    bool backward = false;
    size_t n = 0;
    LPO_STR text = { 0 };

    while (p < end && n < LPO_XLA_SCOPES) {
        struct span s = next_level(&p, end);

        if (p >= end) /* the primitive */
            break;
        while (unwrap(&s, &backward))
            ;
        if (!s.len || is_jaxs_own(s))
            continue;
        lpo_str_clear(&text);
        lpo_str_addn(&text, s.at, s.len);
        if (backward && n == 0)
            lpo_str_add(&text, " (backward)");
        out[n++] = lpo_trace_namen(t, lpo_str_text(&text), text.len);
    }
    return n;
}

/* --- names ---------------------------------------------------------------------------------------
 */

/* "Kind:#key=value,key=value#" */
static const struct kind {
    const char *kind, *key;
    bool alone; /* the value says enough without the kind */
} kinds[] = {
    { "XlaModule", "hlo_module", true },
    { "Thunk", "hlo_op", true },
    { "", "name", false }, /* any other: XlaPass, XlaPassPipeline, … */
    { "", "module", false },
    { "", "hlo_module", false },
};

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

/* Does a key begin at `p`? Values hold commas too: "name=f(a,b),hlo_op=…". */
static bool begins_key(const char *p, const char *end)
{
    const char *from = p;

    while (p < end && is_key_char(*p))
        p++;
    return p > from && p < end && *p == '=';
}

/* The value of `key` among key=value,key=value. */
static struct span value_of(struct span args, const char *key)
{
    const char *p = args.at, *end = args.at + args.len;
    size_t key_len = strlen(key);

    while (p < end) {
        const char *comma = p;
        bool mine =
            (size_t)(end - p) > key_len && memcmp(p, key, key_len) == 0 && p[key_len] == '=';

        while (comma < end && !(*comma == ',' && begins_key(comma + 1, end)))
            comma++;
        if (mine)
            return (struct span){ p + key_len + 1, (size_t)(comma - p) - key_len - 1 };
        p = comma + (comma < end);
    }
    return (struct span){ NULL, 0 };
}

bool lpo_trace_xla_name(const char *text, size_t len, struct lpo_str *out)
{
    const char *colon = memmem(text, len, ":#", 2);
    struct span kind = { text, colon ? (size_t)(colon - text) : 0 }, args;

    if (!kind.len || text[len - 1] != '#' || (size_t)(colon - text) + 3 > len)
        return false;
    args = (struct span){ colon + 2, len - kind.len - 3 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *k = &kinds[i];
        struct span value;

        if (*k->kind && (strlen(k->kind) != kind.len || memcmp(k->kind, kind.at, kind.len) != 0))
            continue;
        value = value_of(args, k->key);
        if (!value.len)
            continue;
        if (!k->alone) {
            lpo_str_addn(out, kind.at, kind.len);
            lpo_str_addc(out, ' ');
        }
        lpo_str_addn(out, value.at, value.len);
        return true;
    }
    return false;
}

/* The value of `key` in such a name, as it stands there; NULL: it has none. */
static const char *lpo_trace_xla_value(const char *text, size_t len, const char *key,
                                       size_t *value_len)
{
    const char *colon = memmem(text, len, ":#", 2);
    struct span value = { NULL, 0 };

    if (colon && text[len - 1] == '#' && (size_t)(colon - text) + 3 <= len)
        value = value_of((struct span){ colon + 2, len - (size_t)(colon - text) - 3 }, key);
    *value_len = value.len;
    return value.at;
}

enum { MOST_SCOPES = 4 << 20 }; /* ranges that are added at most: about 120 MB */

/* What a range becomes: the scopes around it, outermost first, and its readable name. */
struct levels {
    size_t first, count; /* of `names` below */
};

struct renaming {
    struct lpo_trace *t;
    uint16_t domain;
    struct lpo_map_u64 *known; /* name to a row of `levels` */
    LPO_VEC(struct levels) levels;
    LPO_VEC(uint32_t) names;
    size_t added;
};

static void find_levels(struct renaming *r, uint32_t name)
{
    LPO_STR whole = { 0 }, readable = { 0 }; /* names that are added may move the text */
    uint32_t scopes[LPO_XLA_SCOPES];
    size_t first = r->names.len, len, count = 0;
    const char *place;

    lpo_str_addn(&whole, lpo_trace_text(r->t, name), lpo_trace_text_len(r->t, name));
    place = lpo_trace_xla_value(lpo_str_text(&whole), whole.len, "name", &len);
    if (place && strncmp(lpo_str_text(&whole), "Thunk:", 6) == 0)
        count = lpo_trace_xla_scopes(r->t, place, len, scopes);
    for (size_t i = 0; i < count; i++)
        lpo_vec_push(&r->names, scopes[i]);
    lpo_vec_push(&r->names, lpo_trace_xla_name(lpo_str_text(&whole), whole.len, &readable)
                                ? lpo_trace_namen(r->t, lpo_str_text(&readable), readable.len)
                                : name);
    lpo_vec_push(&r->levels, ((struct levels){ first, count + 1 }));
}

static struct levels levels_of(struct renaming *r, uint32_t name)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(r->known, name, &fresh);

    if (fresh) {
        *row = (uint32_t)r->levels.len;
        find_levels(r, name);
    }
    return r->levels.at[*row];
}

static uint32_t renamed(struct renaming *r, uint32_t name)
{
    struct levels l = levels_of(r, name);

    return r->names.at[l.first + l.count - 1];
}

/* The outermost scope takes the place of the range, because of two ranges of equal times the first
 * in the trace is outside; what is inside it follows at the end. */
static void rename_range(struct renaming *r, size_t row)
{
    struct lpo_range range = r->t->ranges.at[row];
    struct levels l = levels_of(r, range.name);

    if (r->added + l.count > MOST_SCOPES)
        l = (struct levels){ l.first + l.count - 1, 1 };
    r->added += l.count - 1;
    r->t->ranges.at[row].name = r->names.at[l.first];
    for (size_t i = 1; i < l.count; i++) {
        range.name = r->names.at[l.first + i];
        lpo_vec_push(&r->t->ranges, range);
    }
}

void lpo_trace_xla_rename(struct lpo_trace *t, const struct lpo_trace_mark *mark)
{
    struct renaming r = { .t = t };

    while (r.domain < t->domains.len &&
           strcmp(lpo_trace_text(t, t->domains.at[r.domain]), LPO_XLA_DOMAIN) != 0)
        r.domain++;
    if (r.domain == t->domains.len)
        return;
    r.known = lpo_map_u64_create(0);
    for (size_t i = mark->ranges, end = t->ranges.len; i < end; i++)
        if (t->ranges.at[i].domain == r.domain)
            rename_range(&r, i);
    for (size_t i = mark->paths; i < t->paths.len; i++)
        if (t->paths.at[i].domain == r.domain)
            t->paths.at[i].name = renamed(&r, t->paths.at[i].name);
    for (size_t i = mark->frames; i < t->frames.len; i++)
        if (t->frames.at[i].domain == r.domain)
            t->frames.at[i].name = renamed(&r, t->frames.at[i].name);
    lpo_map_u64_destroy(r.known);
    lpo_vec_free(&r.levels);
    lpo_vec_free(&r.names);
}
