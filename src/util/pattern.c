/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "util/pattern.h"

#include <pcre2.h>

/* Enough for any sane name; a pattern that explodes stops after a fraction of a millisecond. */
enum { MATCH_LIMIT = 100000, DEPTH_LIMIT = 2000, LONGEST_PATTERN = 4096 };

struct lpo_pattern {
    char *text;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    bool gave_up;
};

#define ONE_CHAR "(?:[\\x00-\\x7f\\x80-\\xbf]|[\\xc0-\\xff][\\x80-\\xbf]*)"

static void add_literal(struct lpo_str *re, char c)
{
    if (strchr("\\^$.[]|()?*+{}#-", c) && c)
        lpo_str_addc(re, '\\');
    lpo_str_addc(re, c);
}

/* "[a-z]" as it is, '!' for '^'; without a closing bracket it is a plain '['. */
static size_t add_set(struct lpo_str *re, const char *glob)
{
    const char *p = glob + 1;

    if (*p == '!' || *p == '^')
        p++;
    if (*p == ']')
        p++;
    while (*p && *p != ']')
        p++;
    if (!*p) {
        add_literal(re, '[');
        return 1;
    }
    lpo_str_addc(re, '[');
    for (const char *c = glob + 1; c < p; c++) {
        if (c == glob + 1 && *c == '!')
            lpo_str_addc(re, '^');
        else {
            if (*c == '\\' || *c == '[' || (*c == ']' && c > glob))
                lpo_str_addc(re, '\\');
            lpo_str_addc(re, *c);
        }
    }
    lpo_str_addc(re, ']');
    return (size_t)(p - glob) + 1;
}

static void glob_to_regex(const char *glob, struct lpo_str *re)
{
    lpo_str_add(re, "\\A");
    while (*glob) {
        if (*glob == '*') {
            lpo_str_add(re, ".*");
            glob++;
        } else if (*glob == '?') {
            lpo_str_add(re, ONE_CHAR);
            glob++;
        } else if (*glob == '[') {
            glob += add_set(re, glob);
        } else {
            if (*glob == '\\' && glob[1])
                glob++;
            add_literal(re, *glob++);
        }
    }
    lpo_str_add(re, "\\z");
}

static int compile(struct lpo_pattern *p, const char *re, size_t len, size_t shift,
                   struct lpo_err *err)
{
    int code;
    PCRE2_SIZE at;
    char why[160];

    p->code = pcre2_compile((PCRE2_SPTR)re, len, PCRE2_DOTALL, &code, &at, NULL);
    if (!p->code && code == PCRE2_ERROR_HEAP_FAILED)
        lpo_xmalloc_failed(len);
    if (!p->code) {
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        return lpo_fail(err, LPO_E_CONFIG, "pattern '%s': %s at character %zu", p->text, why,
                        (size_t)at + shift + 1);
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* without JIT it matches too, slower */
    p->data = pcre2_match_data_create(1, NULL);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->data || !p->limits)
        lpo_xmalloc_failed(0);
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    return 0;
}

int lpo_pattern_create(const char *text, struct lpo_pattern **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    LPO_STR re = { 0 };
    int rc;

    if (strlen(text) > LONGEST_PATTERN)
        return lpo_fail(err, LPO_E_LIMIT, "a pattern of %zu characters; %d are allowed",
                        strlen(text), LONGEST_PATTERN);
    p = lpo_xcalloc(1, sizeof *p);
    p->text = lpo_xstrdup(text);
    if (lpo_str_starts(text, "regex:")) {
        rc = compile(p, text + 6, strlen(text + 6), 6, err);
    } else {
        glob_to_regex(text, &re);
        rc = compile(p, lpo_str_text(&re), re.len, 0, err);
    }
    if (rc < 0)
        return rc;
    *out = p;
    p = NULL;
    return 0;
}

void lpo_pattern_destroy(struct lpo_pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->limits);
    free(p->text);
    free(p);
}

bool lpo_pattern_matches(struct lpo_pattern *p, const char *text, size_t len)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text, len, 0, 0, p->data, p->limits);

    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        p->gave_up = true;
    return rc >= 0;
}

const char *lpo_pattern_text(const struct lpo_pattern *p)
{
    return p->text;
}

bool lpo_pattern_gave_up(const struct lpo_pattern *p)
{
    return p->gave_up;
}
