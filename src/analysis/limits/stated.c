/* Which entry of report.needs states the need of a region. */
#include "analysis/limits/stated.h"

#include <stdint.h>
#include <string.h>

#include "analysis/limits/limits.h"
#include "util/arena.h"
#include "util/pattern.h"
#include "util/str.h"

/* How well an entry fits: its own path first, then the length of the pattern. */
struct fit {
    uint32_t entry;
    size_t weight;
};

static void fit_entry(const struct lpo_stated_need *s, uint32_t entry,
                      const struct lpo_limits_region *regions, size_t nregions, struct fit *fits)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    size_t len = strlen(s->region);

    if (s->pattern)
        lpo_pattern_create(s->region, LPO_PATTERN_PATH, &p, NULL);
    for (size_t i = 0; i < nregions; i++) {
        const char *path = regions[i].path;
        size_t weight = strcmp(path, s->region) == 0                      ? SIZE_MAX
                        : p && lpo_pattern_matches(p, path, strlen(path)) ? len
                                                                          : 0;

        if (weight > fits[i].weight)
            fits[i] = (struct fit){ entry, weight };
    }
}

uint32_t *lpo_limits_stated_match(struct lpo_arena *a, const struct lpo_stated_needs *s,
                                  const struct lpo_limits_region *regions, size_t nregions)
{
    uint32_t *which = lpo_arena_array(a, nregions + 1, sizeof *which);
    struct fit *fits = lpo_arena_array(a, nregions + 1, sizeof *fits);

    for (uint32_t i = 0; i < s->len; i++)
        fit_entry(&s->at[i], i, regions, nregions, fits);
    for (size_t i = 0; i < nregions; i++)
        which[i] = fits[i].weight ? fits[i].entry : LPO_NOT_STATED;
    return which;
}

const char *lpo_limits_region_unmatched(struct lpo_arena *a, const char *key, const char *region,
                                        const struct lpo_limits_region *regions, size_t nregions)
{
    enum { SHOWN = 8 };
    const char **names = lpo_arena_array(a, nregions + 1, sizeof *names), *near;
    LPO_STR text = { 0 };
    unsigned shown = 0;

    for (size_t i = 0; i < nregions; i++)
        names[i] = regions[i].path;
    near = lpo_str_nearest(region, names, nregions);
    lpo_str_addf(&text, "%s: this run has no region '%s'", key, region);
    if (near) {
        lpo_str_addf(&text, "; did you mean '%s'?", near);
    } else {
        lpo_str_add(&text, nregions ? "; there are: " : ": it marked none");
        for (size_t i = 0; i < nregions; i++)
            if (regions[i].parent == UINT32_MAX && shown++ < SHOWN)
                lpo_str_addf(&text, "%s%s", shown > 1 ? ", " : "", names[i]);
        if (shown > SHOWN)
            lpo_str_add(&text, ", …");
    }
    return lpo_arena_strdup(a, lpo_str_text(&text));
}
