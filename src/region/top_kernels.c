/* SPDX-License-Identifier: Apache-2.0 */
#include "region/top_kernels.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/checked.h"

static int by_cost(const void *pa, const void *pb, void *trace)
{
    const struct lpo_top_row *a = pa, *b = pb;

    if (a->sum.ns != b->sum.ns)
        return a->sum.ns > b->sum.ns ? -1 : 1;
    if (a->sum.launches != b->sum.launches)
        return a->sum.launches > b->sum.launches ? -1 : 1;
    return strcmp(lpo_trace_text(trace, a->name), lpo_trace_text(trace, b->name));
}

void lpo_region_top(const struct lpo_region_cells *cells, enum lpo_gpu_op_kind kind,
                    lpo_top_rows *out)
{
    struct lpo_map_pair map = { 0 };
    int64_t total_ns = 0;

    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];
        bool fresh;
        uint32_t row;

        if (c->kind != kind)
            continue;
        row = lpo_map_pair_put(&map, c->name, 0, &fresh);
        if (fresh)
            lpo_vec_push(out, (struct lpo_top_row){ .name = c->name });
        lpo_region_sum_add(&out->at[row].sum, &c->sum);
        total_ns = lpo_ns_add(total_ns, c->sum.ns);
    }
    for (size_t i = 0; i < out->len && total_ns > 0; i++)
        out->at[i].share = (double)out->at[i].sum.ns / (double)total_ns;
    if (out->len)
        qsort_r(out->at, out->len, sizeof *out->at, by_cost, (void *)cells->tree->trace);
    lpo_map_pair_free(&map);
}

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Where the parameter list begins: the '(' outside <> that does not open "(anonymous namespace)"
 * or the "(lambda…)" of an enclosing scope, that is, the first not followed later by "::". */
static size_t name_end(const char *name)
{
    const size_t len = strlen(name);
    size_t end = len;
    int angle = 0, round = 0;

    for (size_t i = 0; name[i]; i++) {
        if (name[i] == '<')
            angle++;
        else if (name[i] == '>' && angle && name[i - 1] != '-')
            angle--;
        else if (name[i] == '(' && !angle && round++ == 0 && end == len)
            end = i;
        else if (name[i] == ')' && !angle && round)
            round--;
        else if (name[i] == ':' && name[i + 1] == ':' && !angle && !round && end < i)
            end = len; /* that was part of a scope */
    }
    return end;
}

const char *lpo_region_kernel_function(const char *name, size_t *len)
{
    size_t end = name_end(name), from;
    int angle = 0;

    while (end && name[end - 1] == ' ')
        end--;
    if (end && name[end - 1] == '>') { /* template arguments */
        for (from = end; from > 0; from--) {
            angle += name[from - 1] == '>' ? 1 : name[from - 1] == '<' ? -1 : 0;
            if (angle == 0)
                break;
        }
        if (from > 1)
            end = from - 1;
    }
    for (from = end; from && word(name[from - 1]); from--)
        ;
    if (from == end) { /* nothing that looks like a function: the name as it is */
        *len = strlen(name);
        return name;
    }
    *len = end - from;
    return name + from;
}
