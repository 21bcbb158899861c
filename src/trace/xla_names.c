/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xla_names.h"

#include <string.h>

#include "trace/times.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/str.h"

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

struct span {
    const char *at;
    size_t len;
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

struct renaming {
    struct lpo_trace *t;
    struct lpo_map_u64 *names; /* name to readable name */
    uint16_t domain;
};

static uint32_t renamed(struct renaming *r, uint32_t name)
{
    bool fresh;
    uint32_t *to = lpo_map_u64_put(r->names, name, &fresh);
    LPO_STR text = { 0 };

    if (fresh)
        *to = lpo_trace_xla_name(lpo_trace_text(r->t, name), lpo_trace_text_len(r->t, name), &text)
                  ? lpo_trace_namen(r->t, lpo_str_text(&text), text.len)
                  : name;
    return *to;
}

void lpo_trace_xla_rename(struct lpo_trace *t, const struct lpo_trace_mark *mark)
{
    struct renaming r = { .t = t };

    while (r.domain < t->domains.len &&
           strcmp(lpo_trace_text(t, t->domains.at[r.domain]), LPO_XLA_DOMAIN) != 0)
        r.domain++;
    if (r.domain == t->domains.len)
        return;
    r.names = lpo_map_u64_create(0);
    for (size_t i = mark->ranges; i < t->ranges.len; i++)
        if (t->ranges.at[i].domain == r.domain)
            t->ranges.at[i].name = renamed(&r, t->ranges.at[i].name);
    for (size_t i = mark->paths; i < t->paths.len; i++)
        if (t->paths.at[i].domain == r.domain)
            t->paths.at[i].name = renamed(&r, t->paths.at[i].name);
    for (size_t i = mark->frames; i < t->frames.len; i++)
        if (t->frames.at[i].domain == r.domain)
            t->frames.at[i].name = renamed(&r, t->frames.at[i].name);
    lpo_map_u64_destroy(r.names);
}
