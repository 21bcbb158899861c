/* SPDX-License-Identifier: Apache-2.0 */
/* Whole names: `_Z`, an encoding, and the suffix of a compiler's copy. */
#include "trace/demangle.h"

#include <ctype.h>
#include <string.h>

#include "trace/demangle/parser.h"
#include "util/arena.h"
#include "util/str.h"

/* What no compiler writes is not read. */
enum { LONGEST = 65536 };

struct text lpo_demangle_fail(struct parser *m)
{
    m->failed = true;
    m->p = m->end; /* nothing more is read */
    return TEXT("?");
}

bool lpo_demangle_enter(struct parser *m)
{
    return ++m->depth <= DEMANGLE_DEPTH;
}

struct text lpo_demangle_join(struct parser *m, const struct text *parts, size_t count)
{
    size_t len = 0, at = 0;
    char *to;

    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    if (m->failed || len > DEMANGLE_BYTES - m->bytes)
        return lpo_demangle_fail(m);
    m->bytes += len;
    to = lpo_arena_alloc(m->arena, len + 1);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len) /* the right side of most types is no text at all */
            memcpy(to + at, parts[i].at, parts[i].len);
        at += parts[i].len;
    }
    return (struct text){ to, len };
}

void lpo_demangle_keep(struct parser *m, struct type t, const char *from)
{
    if (m->again)
        return;
    if (m->nsubs == DEMANGLE_SUBSTITUTES) {
        lpo_demangle_fail(m);
        return;
    }
    if (m->nsubs == m->subs_cap) {
        struct substitute *more = lpo_arena_array(m->arena, m->subs_cap * 2 + 16, sizeof *more);

        if (m->nsubs)
            memcpy(more, m->subs, m->nsubs * sizeof *more);
        m->subs = more;
        m->subs_cap = m->subs_cap * 2 + 16;
    }
    m->subs[m->nsubs++] = (struct substitute){ t, from, m->template };
}

static bool special(struct parser *m, struct text *out)
{
    static const struct {
        char code[3];
        const char *text;
    } tables[] = {
        { "TV", "vtable for " },
        { "TT", "VTT for " },
        { "TI", "typeinfo for " },
        { "TS", "typeinfo name for " },
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (peek(m, 0) == tables[i].code[0] && peek(m, 1) == tables[i].code[1]) {
            m->p += 2;
            *out = JOIN(m, ((struct text){ tables[i].text, strlen(tables[i].text) }),
                        whole(m, lpo_demangle_type(m)));
            return true;
        }
    if (peek(m, 0) == 'G' && peek(m, 1) == 'V') {
        m->p += 2;
        *out = JOIN(m, TEXT("guard variable for "), lpo_demangle_name(m, true).text);
        return true;
    }
    return false;
}

/* A function's return type is shown for the outermost name alone. */
struct text lpo_demangle_encoding(struct parser *m, bool outer)
{
    struct arguments *before = m->template;
    unsigned lambda = m->in_lambda;
    struct type result = plain_type(TEXT(""));
    struct text all, parameters;
    struct name n;

    if (m->failed || !lpo_demangle_enter(m))
        return lpo_demangle_fail(m);
    m->in_lambda = 0;
    m->template = NULL;
    if (special(m, &all)) {
        m->depth--;
        m->in_lambda = lambda;
        m->template = before;
        return all;
    }
    n = lpo_demangle_name(m, true);
    if (m->p < m->end && *m->p != 'E' && *m->p != '.') {
        if (n.template_args && !n.no_return)
            result = lpo_demangle_type(m);
        parameters = lpo_demangle_parameters(m);
        all = JOIN(m, n.text, TEXT("("), parameters, TEXT(")"), n.quals);
        if (outer && result.left.len)
            all = result.bare || result.right.len ? JOIN(m, result.left, all, result.right)
                                                  : JOIN(m, result.left, TEXT(" "), all);
    } else {
        all = JOIN(m, n.text, n.quals);
    }
    m->template = before;
    m->in_lambda = lambda;
    m->depth--;
    return all;
}

/* ".kd", ".constprop.0": shown as a copy of the function. */
static bool add_suffix(const struct parser *m, struct lpo_str *out)
{
    for (const char *p = m->p; p < m->end; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_')
            return false;
    if (m->p < m->end)
        lpo_str_addf(out, " [clone %.*s]", (int)(m->end - m->p), m->p);
    return true;
}

bool lpo_trace_demangle(const char *name, struct lpo_str *out)
{
    size_t len = strnlen(name, LONGEST + 1), from = out->len;
    struct parser m = { .p = name + 2, .end = name + len, .pack_len = SIZE_MAX };
    struct text all;
    bool good;

    if (len < 3 || len > LONGEST || name[0] != '_' || name[1] != 'Z')
        return false;
    m.arena = lpo_arena_create();
    all = lpo_demangle_encoding(&m, true);
    good = !m.failed && all.len && (m.p == m.end || *m.p == '.');
    if (good) {
        lpo_str_addn(out, all.at, all.len);
        good = add_suffix(&m, out);
    }
    if (!good && out->at) {
        out->len = from;
        out->at[from] = 0;
    }
    lpo_arena_destroy(m.arena);
    return good;
}
