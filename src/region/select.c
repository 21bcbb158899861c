/* SPDX-License-Identifier: Apache-2.0 */
#include "region/select.h"

#include "region/pattern/pattern.h"
#include "region/tree.h"
#include "util/pattern.h"

_Static_assert(LPO_MAX_LEVELS >= LPO_REGION_DEPTH, "every region has a path");

struct entry {
    struct lpo_region_pattern *region; /* or a kernel's: */
    struct lpo_pattern *kernel;
    uint64_t hits;
};

struct lpo_region_selection {
    LPO_VEC(struct entry) lists[LPO_SELECT_LISTS];
    bool full_names;
};

struct lpo_region_selection *lpo_region_selection_create(void)
{
    return lpo_xcalloc(1, sizeof(struct lpo_region_selection));
}

void lpo_region_selection_destroy(struct lpo_region_selection *s)
{
    if (!s)
        return;
    for (int l = 0; l < LPO_SELECT_LISTS; l++) {
        for (size_t i = 0; i < s->lists[l].len; i++) {
            lpo_region_pattern_destroy(s->lists[l].at[i].region);
            lpo_pattern_destroy(s->lists[l].at[i].kernel);
        }
        lpo_vec_free(&s->lists[l]);
    }
    free(s);
}

int lpo_region_selection_add(struct lpo_region_selection *s, enum lpo_select_list list,
                             const char *pattern, struct lpo_err *err)
{
    static const char *const what[] = { "included regions", "excluded regions", "included kernels",
                                        "excluded kernels" };
    bool region = list == LPO_REGIONS_INCLUDE || list == LPO_REGIONS_EXCLUDE;
    struct entry e = { 0 };

    if ((region ? lpo_region_pattern_create(pattern, &e.region, err)
                : lpo_pattern_create(pattern, &e.kernel, err)) < 0)
        return lpo_ctx(err, "cannot use the list of %s", what[list]);
    lpo_vec_push(&s->lists[list], e);
    return 0;
}

void lpo_region_selection_set_full_names(struct lpo_region_selection *s, bool yes)
{
    s->full_names = yes;
}

bool lpo_region_selection_full_names(const struct lpo_region_selection *s)
{
    return s && s->full_names;
}

bool lpo_region_selection_has(const struct lpo_region_selection *s, enum lpo_select_list list)
{
    return s && s->lists[list].len > 0;
}

/* Asks every pattern, so that each knows whether it matched anything. */
static bool any_fits(struct lpo_region_selection *s, enum lpo_select_list list,
                     const struct lpo_levels *path)
{
    bool any = false;

    for (size_t i = 0; i < s->lists[list].len; i++) {
        bool hit = lpo_region_pattern_fits(s->lists[list].at[i].region, path);

        s->lists[list].at[i].hits += hit;
        any |= hit;
    }
    return any;
}

static bool any_matches(struct lpo_region_selection *s, enum lpo_select_list list, const char *name,
                        size_t len)
{
    bool any = false;

    for (size_t i = 0; i < s->lists[list].len; i++) {
        bool hit = lpo_pattern_matches(s->lists[list].at[i].kernel, name, len);

        s->lists[list].at[i].hits += hit;
        any |= hit;
    }
    return any;
}

static bool pick_kernel(struct lpo_region_selection *s, const struct lpo_trace *t, uint32_t name)
{
    const char *text = lpo_trace_text(t, name);
    size_t len = lpo_trace_text_len(t, name);
    bool out = any_matches(s, LPO_KERNELS_EXCLUDE, text, len);
    bool in = any_matches(s, LPO_KERNELS_INCLUDE, text, len);

    return !out && (in || !lpo_region_selection_has(s, LPO_KERNELS_INCLUDE));
}

bool *lpo_region_selection_kernels(struct lpo_region_selection *s, const struct lpo_trace *t)
{
    size_t n = lpo_trace_name_count(t);
    bool *picked, *seen;

    if (!lpo_region_selection_has(s, LPO_KERNELS_INCLUDE) &&
        !lpo_region_selection_has(s, LPO_KERNELS_EXCLUDE))
        return NULL;
    picked = lpo_xcalloc(n + 1, sizeof *picked);
    seen = lpo_xcalloc(n + 1, sizeof *seen);
    for (size_t i = 0; i < t->gpu_ops.len + t->summaries.len; i++) {
        bool sum = i >= t->gpu_ops.len;
        uint32_t name = sum ? t->summaries.at[i - t->gpu_ops.len].name : t->gpu_ops.at[i].name;
        int kind = sum ? t->summaries.at[i - t->gpu_ops.len].kind : t->gpu_ops.at[i].kind;

        if (kind != LPO_KERNEL || name >= n || seen[name])
            continue;
        seen[name] = true;
        picked[name] = pick_kernel(s, t, name);
    }
    free(seen);
    return picked;
}

static void levels_of(const struct lpo_region_tree *tree, uint32_t node, struct lpo_levels *out)
{
    const struct lpo_trace *t = tree->trace;

    out->len = tree->nodes.at[node].depth + (size_t)1;
    if (out->len > LPO_MAX_LEVELS) /* a stack that a source gave; the levels next to it count */
        out->len = LPO_MAX_LEVELS;
    for (size_t i = out->len; i-- > 0; node = tree->nodes.at[node].parent) {
        const struct lpo_region *n = &tree->nodes.at[node];

        out->at[i] = (struct lpo_level){
            .domain = n->domain ? lpo_trace_text(t, t->domains.at[n->domain]) : "",
            .name = lpo_trace_text(t, n->name),
            .name_len = lpo_trace_text_len(t, n->name),
        };
    }
}

bool *lpo_region_selection_regions(struct lpo_region_selection *s,
                                   const struct lpo_region_tree *tree)
{
    enum { IN = 1, OUT = 2 };
    struct lpo_levels path;
    LPO_FREED unsigned char *state = NULL;
    bool *picked;

    if (!lpo_region_selection_has(s, LPO_REGIONS_INCLUDE) &&
        !lpo_region_selection_has(s, LPO_REGIONS_EXCLUDE))
        return NULL;
    state = lpo_xcalloc(tree->nodes.len, 1);
    picked = lpo_xcalloc(tree->nodes.len, sizeof *picked);
    for (uint32_t i = 0; i < tree->nodes.len; i++) { /* parents come before their children */
        uint32_t parent = tree->nodes.at[i].parent;

        levels_of(tree, i, &path);
        if (parent != LPO_NONE)
            state[i] = state[parent];
        if (any_fits(s, LPO_REGIONS_EXCLUDE, &path))
            state[i] |= OUT;
        if (any_fits(s, LPO_REGIONS_INCLUDE, &path) ||
            !lpo_region_selection_has(s, LPO_REGIONS_INCLUDE))
            state[i] |= IN;
        picked[i] = state[i] == IN;
    }
    return picked;
}

/* "; did you mean 'decode'?", else the names at the top of the tree. */
static void add_meant(const struct lpo_region_tree *tree, const struct entry *e,
                      struct lpo_str *text)
{
    enum { MOST = 20000, SHOWN = 8 };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    size_t n = tree->nodes.len < MOST ? tree->nodes.len : MOST, tops = 0;
    const char **names = lpo_arena_array(a, n + 1, sizeof *names), *near;

    for (uint32_t i = 0; i < n; i++) {
        LPO_STR name = { 0 };

        if (lpo_region_pattern_is_path(e->region))
            lpo_region_add_path(tree, i, &name);
        else
            lpo_region_add_name(tree, i, &name);
        names[i] = lpo_arena_strdup(a, lpo_str_text(&name));
    }
    near = lpo_str_nearest(lpo_region_pattern_text(e->region), names, n);
    if (near)
        lpo_str_addf(text, "; did you mean '%s'?", near);
    for (uint32_t i = 0; !near && i < n && tops <= SHOWN; i++)
        if (tree->nodes.at[i].parent == LPO_NONE && tops++ < SHOWN)
            lpo_str_addf(text, "%s%s", tops == 1 ? "; there are: " : ", ", names[i]);
    if (tops > SHOWN)
        lpo_str_add(text, ", …");
}

void lpo_region_selection_notes(const struct lpo_region_selection *s,
                                const struct lpo_region_tree *tree,
                                void (*say)(void *ctx, const char *text), void *ctx)
{
    LPO_STR text = { 0 };

    for (int l = 0; s && l < LPO_SELECT_LISTS; l++) {
        for (size_t i = 0; i < s->lists[l].len; i++) {
            const struct entry *e = &s->lists[l].at[i];
            const char *pattern =
                e->region ? lpo_region_pattern_text(e->region) : lpo_pattern_text(e->kernel);

            lpo_str_clear(&text);
            if (e->region ? lpo_region_pattern_gave_up(e->region) : lpo_pattern_gave_up(e->kernel))
                lpo_str_addf(&text,
                             "the pattern '%s' took too long on some names and was taken as not "
                             "matching them",
                             pattern);
            else if (!e->hits)
                lpo_str_addf(&text, "the %s pattern '%s' matched nothing",
                             e->region ? "region" : "kernel", pattern);
            if (text.len && !e->hits && e->region)
                add_meant(tree, e, &text);
            if (text.len)
                say(ctx, text.at);
        }
    }
}
