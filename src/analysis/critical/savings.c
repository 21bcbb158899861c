/* SPDX-License-Identifier: Apache-2.0 */
/* What the wall time would be less by, without a part of the path or with half of it. */
#include "analysis/critical/private.h"

enum { ONE_PERCENT = 100, MOST = LPO_PATH_PARTS + CRITICAL_NAMES + CRITICAL_REGIONS };

struct changes {
    struct critical_change at[MOST];
    struct lpo_critical_saving *saving[MOST]; /* where each result goes */
    size_t len;
};

/* What is below one percent cannot save more. */
static bool worth(const struct critical_graph *g, int64_t ns)
{
    return ns > 0 && ns >= (g->end_ns - g->start_ns) / ONE_PERCENT;
}

static void add(struct changes *c, struct critical_change change,
                struct lpo_critical_saving *saving)
{
    c->at[c->len] = change;
    c->saving[c->len++] = saving;
}

static void add_parts(struct changes *c, const struct critical_graph *g,
                      struct lpo_critical_path *path)
{
    bool waits = false;

    for (size_t i = 0; i < g->calls.len; i++)
        waits |= g->calls.at[i].waits != LPO_NONE;
    for (int i = 0; i < LPO_PATH_NOT_RECORDED; i++)
        /* without waiting more is gone than the way back from it */
        if (worth(g, path->parts.ns[i]) || (i == LPO_PATH_RETURN && waits))
            add(c,
                (struct critical_change){ .kind = CRITICAL_PART,
                                          .part = (enum lpo_critical_part)i },
                &path->savings[i]);
}

static void add_names(struct changes *c, const struct critical_graph *g,
                      struct lpo_critical_path *path)
{
    for (size_t i = 0; i < CRITICAL_NAMES && i < path->entries.len; i++) {
        struct lpo_critical_entry *e = &path->entries.at[i];
        bool host = e->part == LPO_PATH_HOST || e->part == LPO_PATH_CALLS;

        if (worth(g, e->ns))
            add(c,
                (struct critical_change){ .kind = host ? CRITICAL_HOST_NAME : CRITICAL_GPU_NAME,
                                          .part = e->part,
                                          .name = e->name },
                &e->saving);
    }
}

static void add_regions(struct changes *c, const struct critical_graph *g,
                        struct lpo_critical_path *path)
{
    for (size_t i = 0; i < CRITICAL_REGIONS && i < path->regions.len; i++)
        if (worth(g, path->regions.at[i].ns))
            add(c,
                (struct critical_change){ .kind = CRITICAL_REGION,
                                          .node = path->regions.at[i].node },
                &path->regions.at[i].saving);
}

static bool fits(int64_t simulated_ns, int64_t measured_ns)
{
    int64_t off =
        simulated_ns > measured_ns ? simulated_ns - measured_ns : measured_ns - simulated_ns;

    return off <= measured_ns / 100;
}

void lpo_critical_savings(struct critical_graph *g, const struct critical_input *in,
                          struct lpo_critical_path *path)
{
    struct changes c = { .len = 0 };

    add_parts(&c, g, path);
    add_names(&c, g, path);
    add_regions(&c, g, path);
    path->simulated_ns = lpo_critical_simulate(g, in, c.at, c.len);
    path->fits = fits(path->simulated_ns, g->end_ns - g->start_ns);
    for (size_t i = 0; path->fits && i < c.len; i++) {
        bool waiting = c.at[i].kind == CRITICAL_PART && c.at[i].part == LPO_PATH_RETURN;

        /* a call waits or it does not: half of that there is not */
        *c.saving[i] = (struct lpo_critical_saving){
            .known = true,
            .removed_ns = path->simulated_ns - c.at[i].removed_ns,
            .halved_ns = waiting ? LPO_NO_TIME : path->simulated_ns - c.at[i].halved_ns,
        };
    }
}
