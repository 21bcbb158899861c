/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/launcher.h"

#include "hydra/compose.h"
#include "settings/settings.h"

static const struct lpo_sweep_launcher *const launchers[] = { &lpo_sweep_local, &lpo_sweep_slurm };

enum { LAUNCHERS = sizeof launchers / sizeof *launchers, MOST_KEYS = 64 };

static const struct lpo_sweep_launcher *by_target(const char *target)
{
    for (size_t i = 0; i < LAUNCHERS; i++)
        for (const char *const *t = launchers[i]->targets; *t; t++)
            if (lpo_str_ends(target, *t))
                return launchers[i];
    return NULL;
}

static bool fits(const struct lpo_node *v, enum lpo_sweep_kind kind)
{
    bool word = v->kind == LPO_NODE_STRING || v->kind == LPO_NODE_INT || v->kind == LPO_NODE_FLOAT;

    if (v->kind == LPO_NODE_NULL || kind == LPO_SWEEP_IGNORED)
        return true;
    if (kind == LPO_SWEEP_LIST)
        for (size_t i = 0; v->kind == LPO_NODE_LIST && i < v->count; i++)
            if (lpo_node_is_container(v->items[i]))
                return false;
    if (kind == LPO_SWEEP_MAP)
        for (size_t i = 0; v->kind == LPO_NODE_MAP && i < v->npairs; i++)
            if (lpo_node_is_container(v->pairs[i].value) ||
                v->pairs[i].key->kind != LPO_NODE_STRING)
                return false;
    return kind == LPO_SWEEP_TEXT    ? word
           : kind == LPO_SWEEP_COUNT ? v->kind == LPO_NODE_INT && v->integer > 0
           : kind == LPO_SWEEP_TRUTH ? v->kind == LPO_NODE_BOOL
           : kind == LPO_SWEEP_LIST  ? v->kind == LPO_NODE_LIST
                                     : v->kind == LPO_NODE_MAP;
}

static int check_setting(const struct lpo_sweep_launcher *l, const char *name,
                         const struct lpo_node *value, struct lpo_err *err)
{
    static const char *const wanted[] = {
        [LPO_SWEEP_TEXT] = "a text",         [LPO_SWEEP_COUNT] = "a whole number above 0",
        [LPO_SWEEP_TRUTH] = "true or false", [LPO_SWEEP_LIST] = "a list of texts",
        [LPO_SWEEP_MAP] = "a map of texts",  [LPO_SWEEP_IGNORED] = "",
    };
    const char *names[MOST_KEYS], *near;
    size_t n = 0;

    for (const struct lpo_sweep_key *k = l->keys; k->name; k++) {
        if (strcmp(k->name, name) == 0 && fits(value, k->kind))
            return 0;
        if (strcmp(k->name, name) == 0)
            return lpo_fail(err, LPO_E_CONFIG, "hydra.launcher.%s must be %s", name,
                            wanted[k->kind]);
        if (n < MOST_KEYS)
            names[n++] = k->name;
    }
    near = lpo_str_nearest(name, names, n);
    return lpo_fail(err, LPO_E_CONFIG, "the launcher '%s' has no key '%s'%s%s%s", l->name, name,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int lpo_sweep_launcher_find(const struct lpo_node *settings, const struct lpo_sweep_launcher **out,
                            struct lpo_err *err)
{
    const char *target = settings ? lpo_node_text_at(settings, "_target_") : NULL;

    *out = NULL;
    if (!target || lpo_str_ends(target, "BasicLauncher"))
        return 0;
    *out = by_target(target);
    if (!*out)
        return lpo_fail(err, LPO_E_CONFIG,
                        "hydra.launcher._target_ is '%s'; lpo has hydra/launcher=basic, local and "
                        "slurm",
                        target);
    for (size_t i = 0; i < settings->npairs; i++) {
        const struct lpo_node *key = settings->pairs[i].key;

        if (key->kind == LPO_NODE_STRING && strcmp(key->text, "_target_") != 0 &&
            check_setting(*out, key->text, settings->pairs[i].value, err) < 0)
            return err->code;
    }
    return 0;
}

const char *lpo_sweep_launcher_text(const struct lpo_sweep_run *s, const char *key)
{
    const struct lpo_node *v = lpo_node_get(s->settings, key);
    const char *text = v ? lpo_settings_node_word(s->plan->arena, v) : NULL;

    return text && *text ? text : NULL;
}

long long lpo_sweep_launcher_count(const struct lpo_sweep_run *s, const char *key,
                                   long long fallback)
{
    const struct lpo_node *v = lpo_node_get(s->settings, key);

    return v && v->kind == LPO_NODE_INT ? v->integer : fallback;
}
