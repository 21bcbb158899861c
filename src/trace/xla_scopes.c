/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xla_scopes.h"

#include <stdbool.h>
#include <string.h>

#include "trace/trace.h"
#include "util/str.h"

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
