/* SPDX-License-Identifier: Apache-2.0 */
/* Several regular expressions as one, because ncu uses a single one of a kind; and what cannot be
 * one. */
#include "pipeline/ncu/nvtx_expr.h"

#include <string.h>

#include "util/arena.h"
#include "util/err.h"

static bool is_name(const char *part)
{
    return *part && strcmp(part, LPO_EXPR_ANY_DEPTH) != 0;
}

/* Alternatives in one part match what the two expressions match; in two parts they would also match
 * combinations that neither does. */
static bool joinable(const struct lpo_expr *x, const struct lpo_expr *y, size_t *part)
{
    size_t differ = 0;

    if (x->start_end != y->start_end || x->nparts != y->nparts)
        return false;
    *part = 0;
    for (size_t i = 0; i < x->nparts; i++) {
        if (strcmp(x->parts[i], y->parts[i]) != 0) {
            *part = i;
            differ++;
        }
    }
    return differ == 0 || (differ == 1 && is_name(x->parts[*part]) && is_name(y->parts[*part]));
}

/* "(a|b)" and "c" are "(a|b|c)"; a bracket of a name is behind a backslash. */
static const char *either(struct lpo_arena *a, const char *x, const char *y)
{
    size_t nx = strlen(x), ny = strlen(y);

    if (strcmp(x, y) == 0)
        return x;
    if (*x == '(')
        x++, nx -= 2;
    if (*y == '(')
        y++, ny -= 2;
    return lpo_arena_printf(a, "(%.*s|%.*s)", (int)nx, x, (int)ny, y);
}

static void drop(struct lpo_exprs *exprs, size_t i)
{
    memmove(&exprs->at[i], &exprs->at[i + 1], (exprs->len - i - 1) * sizeof *exprs->at);
    exprs->len--;
}

static bool ours(const struct lpo_expr *e)
{
    return e->regex && e->parts;
}

/* Makes one expression of a pair that can be one; false: no pair can. */
static bool join_pair(struct lpo_arena *a, struct lpo_exprs *exprs)
{
    for (size_t i = 0; i < exprs->len; i++) {
        for (size_t j = i + 1; j < exprs->len; j++) {
            struct lpo_expr *x = &exprs->at[i], *y = &exprs->at[j];
            size_t part;

            if (!ours(x) || !ours(y) || !joinable(x, y, &part))
                continue;
            x->parts[part] = either(a, x->parts[part], y->parts[part]);
            drop(exprs, j);
            return true;
        }
    }
    return false;
}

/* Beside a regular expression ncu ignores the bare name of a start/end range (measured), so those
 * become regular expressions, too. */
static void spread_regex(struct lpo_exprs *exprs)
{
    bool any = false;

    for (size_t i = 0; i < exprs->len; i++)
        any |= exprs->at[i].start_end && ours(&exprs->at[i]);
    for (size_t i = 0; any && i < exprs->len; i++)
        exprs->at[i].regex |= exprs->at[i].start_end && exprs->at[i].parts;
}

/* Two of this kind of which ncu would use one; if possible the first is a regular expression of
 * ours, because then we can refuse. */
static bool clash(const struct lpo_exprs *exprs, bool start_end, const struct lpo_expr *pair[2])
{
    size_t all = 0, regexes = 0;

    pair[0] = pair[1] = NULL;
    for (size_t i = 0; i < exprs->len; i++) {
        const struct lpo_expr *e = &exprs->at[i];

        if (e->start_end != start_end)
            continue;
        all++;
        regexes += e->regex;
        if (e->regex && (!pair[0] || (ours(e) && !ours(pair[0])))) {
            pair[1] = pair[0];
            pair[0] = e;
        } else if (!pair[1] && (e->regex || start_end)) {
            pair[1] = e;
        }
    }
    return start_end ? regexes && all > 1 : regexes > 1;
}

int lpo_pipeline_ncu_exprs_join(struct lpo_arena *a, struct lpo_exprs *exprs, const char **note,
                                struct lpo_err *err)
{
    static const char *const kinds[] = { "push/pop", "start/end" };
    const struct lpo_expr *pair[2];

    *note = NULL;
    spread_regex(exprs);
    while (join_pair(a, exprs))
        ;
    for (size_t i = 0; i < exprs->len; i++)
        if (ours(&exprs->at[i]))
            exprs->at[i].text = lpo_pipeline_ncu_expr_regex(a, &exprs->at[i]);
    for (int kind = 0; kind < 2; kind++) {
        if (!clash(exprs, kind, pair))
            continue;
        if (ours(pair[0]))
            return lpo_fail(err, LPO_E_CONFIG,
                            "'%s' and '%s' in one capture: ncu takes a single regular expression "
                            "for %s ranges and would pass over the other. Name the regions, or "
                            "enable pipeline.native, whose regions then stand for the globs",
                            pair[0]->pattern, pair[1]->pattern, kinds[kind]);
        *note = lpo_arena_printf(a,
                                 "'%s' and '%s' in one capture: ncu 2025.3.1 takes a single "
                                 "regular expression for %s ranges and passes over the other",
                                 pair[0]->text, pair[1]->text, kinds[kind]);
    }
    return 0;
}
