/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/known_regions.h"

#include <string.h>

#include "analysis/phases/phases.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

enum { MAX_DOMAINS = 256 };

static void add_domain(struct lpo_known_regions *seen, const char *domain)
{
    for (size_t i = 0; i < seen->ndomains; i++)
        if (strcmp(seen->domains[i], domain) == 0)
            return;
    if (*domain && seen->ndomains < MAX_DOMAINS)
        seen->domains[seen->ndomains++] = domain;
}

void lpo_pipeline_known_regions_read(struct lpo_arena *a, const char *path,
                                     struct lpo_known_regions *out)
{
    const struct lpo_json *doc = NULL, *list;
    struct lpo_err err = { 0 };

    if (lpo_json_read_file(a, path, &doc, &err) < 0)
        return;
    list = lpo_json_get(doc, "regions");
    if (!list || list->count == 0)
        return;
    out->at = lpo_arena_array(a, list->count, sizeof *out->at);
    out->domains = lpo_arena_array(a, MAX_DOMAINS, sizeof *out->domains);
    LPO_JSON_EACH(item, list)
    {
        const char *region = lpo_json_text(lpo_json_get(item, "path"), NULL);
        const char *kind = lpo_json_text(lpo_json_get(item, "kind"), "");

        if (region && strcmp(kind, "outside") != 0)
            out->at[out->len++] = (struct lpo_known_region){
                .path = region,
                .start_end = strcmp(kind, "start_end") == 0,
                .prepares = lpo_phases_path_prepares(region),
                .visits = (uint64_t)lpo_json_int(lpo_json_get(item, "visits"), 0),
            };
        add_domain(out, lpo_json_text(lpo_json_get(item, "domain"), ""));
    }
}
