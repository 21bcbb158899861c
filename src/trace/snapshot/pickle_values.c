/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the values of a pickle that was read. */
#include <string.h>

#include "trace/snapshot/pickle.h"

enum { MOST_MEMBERS = 64 }; /* that are looked through: the dicts of a snapshot have a dozen */

const struct lpo_pickle_value *lpo_snapshot_pickle_next(const struct lpo_pickle_value *list,
                                                        struct lpo_pickle_walk *w)
{
    if (!list || (list->kind != LPO_PICKLE_LIST && list->kind != LPO_PICKLE_TUPLE))
        return NULL;
    if (!w->begun)
        *w = (struct lpo_pickle_walk){ list->box->first, 0, true };
    while (w->part && w->i == w->part->count)
        *w = (struct lpo_pickle_walk){ w->part->next, 0, true };
    return w->part ? &w->part->at[w->i++] : NULL;
}

bool lpo_snapshot_pickle_is(const struct lpo_pickle_value *v, const char *text)
{
    return v && v->kind == LPO_PICKLE_TEXT && v->len == strlen(text) &&
           memcmp(v->text, text, v->len) == 0;
}

/* Of two equal keys the last one holds, as in Python. */
const struct lpo_pickle_value *lpo_snapshot_pickle_get(const struct lpo_pickle_value *dict,
                                                       const char *key)
{
    const struct lpo_pickle_value *found = NULL;
    size_t seen = 0;

    if (!dict || dict->kind != LPO_PICKLE_DICT)
        return NULL;
    for (const struct lpo_pickle_part *p = dict->box->first; p && seen < MOST_MEMBERS; p = p->next)
        for (size_t i = 0; i + 1 < p->count && seen < MOST_MEMBERS; i += 2, seen++)
            if (lpo_snapshot_pickle_is(&p->at[i], key))
                found = &p->at[i + 1];
    return found;
}

int64_t lpo_snapshot_pickle_int(const struct lpo_pickle_value *dict, const char *key,
                                int64_t otherwise)
{
    const struct lpo_pickle_value *v = lpo_snapshot_pickle_get(dict, key);

    return v && v->kind == LPO_PICKLE_INT ? v->integer : otherwise;
}

const struct lpo_pickle_value *lpo_snapshot_pickle_text(const struct lpo_pickle_value *dict,
                                                        const char *key)
{
    const struct lpo_pickle_value *v = lpo_snapshot_pickle_get(dict, key);

    return v && v->kind == LPO_PICKLE_TEXT ? v : NULL;
}
