/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the program gave: payloads of its ranges, and marks of the domain "lpo" (lpo.h,
 * lpo.py), which have names. */
#include <math.h>
#include <string.h>

#include "trace/native/private.h"

enum { NUMBERS_MOST = 1 << 20 }; /* kept one by one, with the moment that each was given in */

static const char lpo_domain[] = "lpo";

bool lpo_native_is_number(const struct native *n, uint16_t domain)
{
    return domain &&
           strcmp(lpo_trace_text(n->trace, n->trace->domains.at[domain]), lpo_domain) == 0;
}

static void add(struct lpo_number *r, double value)
{
    r->least = r->count && r->least < value ? r->least : value;
    r->most = r->count && r->most > value ? r->most : value;
    r->sum += value;
    r->count++;
}

/* A row that serves all numbers of (a, b); *fresh when `r` was added as it. */
static struct lpo_number *shared_row(struct native *n, uint64_t a, uint64_t b, struct lpo_number r,
                                     bool *fresh)
{
    uint32_t at = lpo_map_pair_put(&n->by_number_path, a, b, fresh);

    if (*fresh) {
        lpo_vec_push(&n->number_rows, (uint32_t)n->trace->numbers.len);
        lpo_vec_push(&n->trace->numbers, r);
    }
    return &n->trace->numbers.at[n->number_rows.at[at]];
}

/* Which region it belongs to is known when all ranges are: the moment is kept, as that of a capture
 * is. Where ranges are summed the path is known at once, and one row serves all of its numbers. */
void lpo_native_number(struct native *n, struct native_thread *t, int64_t ns, uint32_t name,
                       double value)
{
    struct lpo_trace *trace = n->trace;
    struct lpo_number r = { .name = name, .capture = (uint32_t)trace->captures.len };
    uint32_t path = 0;
    bool fresh = true;

    if (!isfinite(value) || (!n->sums && (trace->skip & LPO_SKIP_RANGES)))
        return;
    if (n->sums) {
        path = lpo_native_sums_path(n, t, ns, ns);
        add(shared_row(n, path, name, r, &fresh), value);
    } else if (n->numbers == NUMBERS_MOST) {
        n->numbers_lost++;
        return;
    } else {
        n->numbers++;
        add(&r, value);
        lpo_vec_push(&trace->numbers, r);
    }
    if (fresh)
        lpo_vec_push(&trace->captures, (struct lpo_capture){ ns, t->row, path });
}

void lpo_native_start_number(struct native *n, uint32_t range, uint16_t domain, double value)
{
    const uint64_t after_paths = (uint64_t)1 << 32;
    struct lpo_number r = {
        .name = LPO_NONE, .capture = LPO_NONE, .range = range, .domain = domain
    };
    bool fresh;

    if (isfinite(value) && range != LPO_NONE)
        add(shared_row(n, after_paths + range, domain, r, &fresh), value);
}
