/* SPDX-License-Identifier: Apache-2.0 */
/* What a region stands for: a part of the model, by its name or report.mapping, or an entry of
 * report.needs. */
#include <ctype.h>

#include "analysis/limits/private.h"
#include "model/needs.h"
#include "region/pattern/pattern.h"

enum word_kind { WORD_PHASE, WORD_STEP, WORD_PART, WORD_BLOCK };

/* Names people give to ranges, and what they mean. */
static const struct word {
    const char *name;
    enum word_kind kind;
    int phase;
    const char *means;
} words[] = {
    { "prefill", WORD_PHASE, LPO_PREFILL, NULL },
    { "prompt", WORD_PHASE, LPO_PREFILL, NULL },
    { "decode", WORD_PHASE, LPO_DECODE, NULL },
    { "step", WORD_STEP, LPO_DECODE, NULL },
    { "token", WORD_STEP, LPO_DECODE, NULL },
    { "sam", WORD_PART, LPO_IMAGE, "sam" },
    { "clip", WORD_PART, LPO_IMAGE, "clip" },
    { "siglip", WORD_PART, LPO_IMAGE, "siglip" },
    { "vit", WORD_PART, LPO_IMAGE, "vit" },
    { "dinov2", WORD_PART, LPO_IMAGE, "dinov2" },
    { "vision", WORD_PART, LPO_IMAGE, "vision" },
    { "vision_tower", WORD_PART, LPO_IMAGE, "vision" },
    { "vision_encoder", WORD_PART, LPO_IMAGE, "vision" },
    { "projector", WORD_PART, LPO_IMAGE, "projector" },
    { "multi_modal_projector", WORD_PART, LPO_IMAGE, "projector" },
    { "attn", WORD_BLOCK, -1, "attn" },
    { "attention", WORD_BLOCK, -1, "attn" },
    { "self_attn", WORD_BLOCK, -1, "attn" },
    { "mlp", WORD_BLOCK, -1, "mlp" },
    { "ffn", WORD_BLOCK, -1, "mlp" },
    { "feed_forward", WORD_BLOCK, -1, "mlp" },
    { "moe", WORD_BLOCK, -1, "mlp" },
    { "lm_head", WORD_BLOCK, -1, "lm_head" },
    { "head", WORD_BLOCK, -1, "lm_head" },
    { "logits", WORD_BLOCK, -1, "lm_head" },
    { "embed", WORD_BLOCK, -1, "embed" },
    { "embed_tokens", WORD_BLOCK, -1, "embed" },
    { "neck", WORD_BLOCK, -1, "neck" },
};

/* The name without its number: "layer3", "layer.3", "layers 3", "step 17"; -1: it has none. */
static size_t stem(const char *name, size_t len, int *number)
{
    size_t end = len, digits;

    while (end > 0 && isdigit((unsigned char)name[end - 1]))
        end--;
    digits = len - end;
    *number = digits > 0 && digits < 7 ? atoi(name + end) : -1;
    if (digits)
        while (end > 0 && strchr("._- :[#", name[end - 1]))
            end--;
    return end;
}

static bool is(const char *name, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(name, word, len) == 0;
}

static bool is_layer(const char *name, size_t len)
{
    return is(name, len, "layer") || is(name, len, "layers") || is(name, len, "block") ||
           is(name, len, "blocks") || is(name, len, "h") || is(name, len, "decoder_layer");
}

static const struct word *find_word(const char *name, size_t len)
{
    return lpo_find(i, words, sizeof words / sizeof *words, is(name, len, words[i].name));
}

/* A vision part or a block inside a phase; false when the name means nothing here. */
static bool take_word(struct lpo_meaning *m, const struct word *w)
{
    m->step = m->is_phase = false;
    switch (w->kind) {
    case WORD_PHASE:
        if (m->phase >= 0)
            return false;
        m->phase = w->phase;
        m->is_phase = true;
        return true;
    case WORD_STEP:
        m->step = true;
        return m->phase == LPO_DECODE && m->layer < 0 && !m->block;
    case WORD_PART:
        /* an image is encoded before or inside the prefill: the same part of the model */
        if (m->layer >= 0 || m->block || m->phase == LPO_DECODE)
            return false;
        m->phase = LPO_IMAGE;
        m->part = w->means;
        m->is_phase = true;
        return true;
    case WORD_BLOCK:
        if (m->phase < 0 || m->block)
            return false;
        m->block = w->means;
        return true;
    }
    return false;
}

static bool take_name(struct lpo_meaning *m, const char *name, size_t len)
{
    const char *at = memchr(name, '@', len); /* "domain@name" */
    const struct word *w;
    size_t short_len;
    int number;

    if (at) {
        len -= (size_t)(at + 1 - name);
        name = at + 1;
    }
    short_len = stem(name, len, &number);
    w = find_word(name, len);
    w = w ? w : find_word(name, short_len);
    if (w)
        return take_word(m, w);
    if (number >= 0 && is_layer(name, short_len) && m->phase >= 0 && m->layer < 0 && !m->block) {
        m->layer = number;
        m->step = m->is_phase = false;
        return true;
    }
    return false;
}

static bool take_path(struct lpo_meaning *m, const char *path)
{
    while (*path) {
        size_t len = 0;

        while (path[len] && path[len] != '/') /* "\/" is a slash inside a name */
            len += path[len] == '\\' && path[len + 1] ? 2 : 1;
        if (!take_name(m, path, len))
            return false;
        path += len;
        path += *path == '/';
    }
    return true;
}

/* The region itself, or one inside it. */
static bool covers(const struct lpo_stated_mapping *m, const char *path)
{
    size_t len = strlen(m->region);

    return strncmp(path, m->region, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

struct lpo_meaning lpo_limits_region_meaning(const char *path,
                                             const struct lpo_stated_mappings *mappings)
{
    static const struct lpo_meaning nothing = { .phase = -1, .layer = -1 };
    struct lpo_meaning m = nothing;
    const struct lpo_stated_mapping *best = NULL;
    size_t longest = 0;

    for (size_t i = 0; mappings && i < mappings->len; i++) {
        size_t len = strlen(mappings->at[i].region);

        if (len >= longest && covers(&mappings->at[i], path)) {
            longest = len;
            best = &mappings->at[i];
        }
    }
    if (best) {
        if (!take_path(&m, best->means))
            return nothing;
        path += longest;
        path += *path == '/';
    }
    return take_path(&m, path) && m.phase >= 0 ? m : nothing;
}

/* How well an entry fits: its own path first, then the length of the pattern. */
struct fit {
    uint32_t entry;
    size_t weight;
};

/* A region's path, taken apart once: there may be thousands of entries and of regions. */
struct parsed_path {
    struct lpo_level *at;
    size_t len; /* 0: too deep, it fits nothing but itself */
};

static struct parsed_path *parse_paths(struct lpo_arena *a, const struct lpo_limits_region *regions,
                                       size_t nregions)
{
    struct parsed_path *paths = lpo_arena_array(a, nregions + 1, sizeof *paths);
    struct lpo_levels levels;

    for (size_t i = 0; i < nregions; i++) {
        if (lpo_region_path_parse(a, regions[i].path, NULL, 0, &levels) < 0)
            continue;
        paths[i].len = levels.len;
        paths[i].at = lpo_arena_array(a, levels.len + 1, sizeof *paths[i].at);
        memcpy(paths[i].at, levels.at, levels.len * sizeof *levels.at);
    }
    return paths;
}

static bool fits_path(const struct lpo_region_pattern *p, const struct parsed_path *path)
{
    struct lpo_levels levels;

    levels.len = path->len;
    memcpy(levels.at, path->at, path->len * sizeof *path->at);
    return lpo_region_pattern_fits(p, &levels);
}

static void fit_entry(const struct lpo_stated_need *s, uint32_t entry,
                      const struct lpo_limits_region *regions, const struct parsed_path *paths,
                      size_t nregions, struct fit *fits)
{
    LPO_AUTO(lpo_region_pattern) p = NULL;
    size_t len = strlen(s->region);

    lpo_region_pattern_create(s->region, &p, NULL);
    for (size_t i = 0; i < nregions; i++) {
        size_t weight = strcmp(regions[i].path, s->region) == 0        ? SIZE_MAX
                        : p && paths[i].len && fits_path(p, &paths[i]) ? len
                                                                       : 0;

        if (weight > fits[i].weight)
            fits[i] = (struct fit){ entry, weight };
    }
}

uint32_t *lpo_limits_stated_match(struct lpo_arena *a, const struct lpo_stated_needs *s,
                                  const struct lpo_limits_region *regions, size_t nregions)
{
    uint32_t *which = lpo_arena_array(a, nregions + 1, sizeof *which);
    LPO_AUTO(lpo_arena) own = lpo_arena_create();
    struct fit *fits = lpo_arena_array(own, nregions + 1, sizeof *fits);
    struct parsed_path *paths = s->len ? parse_paths(own, regions, nregions) : NULL;

    for (uint32_t i = 0; i < s->len; i++)
        fit_entry(&s->at[i], i, regions, paths, nregions, fits);
    for (size_t i = 0; i < nregions; i++)
        which[i] = fits[i].weight ? fits[i].entry : LPO_NOT_STATED;
    return which;
}

struct lpo_limits_note lpo_limits_region_unmatched(struct lpo_arena *a, bool mapping,
                                                   const char *region,
                                                   const struct lpo_limits_region *regions,
                                                   size_t nregions)
{
    const char **names = lpo_arena_array(a, nregions + 1, sizeof *names), *near;

    for (size_t i = 0; i < nregions; i++)
        names[i] = regions[i].path;
    near = lpo_str_nearest(region, names, nregions);
    return (struct lpo_limits_note){ .kind = LPO_LIMITS_NO_REGION,
                                     .mapping = mapping,
                                     .region = lpo_arena_strdup(a, region),
                                     .near = near ? lpo_arena_strdup(a, near) : NULL };
}

/* The nearest word for a phase or a part; NULL: none is near. */
static const char *nearest_part(const char *means)
{
    const char *names[sizeof words / sizeof *words];
    size_t n = 0;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].kind != WORD_STEP && words[i].kind != WORD_BLOCK)
            names[n++] = words[i].name;
    return lpo_str_nearest(means, names, n);
}

bool lpo_limits_mapping_fault(struct lpo_arena *a, const struct lpo_stated_mapping *mapping,
                              const struct lpo_limits_region *regions, size_t nregions,
                              struct lpo_limits_note *out)
{
    if (lpo_limits_region_meaning(mapping->means, NULL).phase < 0) {
        *out = (struct lpo_limits_note){ .kind = LPO_LIMITS_NO_PART,
                                         .mapping = true,
                                         .region = lpo_arena_strdup(a, mapping->region),
                                         .means = lpo_arena_strdup(a, mapping->means),
                                         .near = nearest_part(mapping->means) };
        return true;
    }
    for (size_t i = 0; i < nregions; i++)
        if (covers(mapping, regions[i].path))
            return false;
    *out = lpo_limits_region_unmatched(a, true, mapping->region, regions, nregions);
    return true;
}
