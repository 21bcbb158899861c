/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the values of a pickle that was read; values of JSON as those of a pickle. */
#include <ctype.h>

#include "trace/snapshot/pickle.h"
#include "util/budget.h"
#include "util/input.h"
#include "util/json.h"

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

static struct lpo_pickle_value value_of(struct lpo_arena *a, const struct lpo_json *j);

static struct lpo_pickle_box *box_of(struct lpo_arena *a, const struct lpo_json *j)
{
    const bool dict = j->kind == LPO_JSON_OBJECT;
    const size_t count = dict ? 2 * j->count : j->count;
    struct lpo_pickle_part *part = lpo_arena_alloc(a, sizeof *part + count * sizeof *part->at);
    struct lpo_pickle_box *box = lpo_arena_alloc(a, sizeof *box);

    *part = (struct lpo_pickle_part){ .count = 0 };
    LPO_JSON_EACH(item, j)
    {
        if (dict)
            part->at[part->count++] = (struct lpo_pickle_value){ .text = item->key,
                                                                 .len = (uint32_t)item->key_len,
                                                                 .kind = LPO_PICKLE_TEXT };
        part->at[part->count++] = value_of(a, item);
    }
    *box = (struct lpo_pickle_box){ part, part, part->count };
    return box;
}

static struct lpo_pickle_value value_of(struct lpo_arena *a, const struct lpo_json *j)
{
    static const uint8_t kinds[] = {
        [LPO_JSON_NULL] = LPO_PICKLE_NONE,   [LPO_JSON_BOOL] = LPO_PICKLE_BOOL,
        [LPO_JSON_INT] = LPO_PICKLE_INT,     [LPO_JSON_REAL] = LPO_PICKLE_FLOAT,
        [LPO_JSON_STRING] = LPO_PICKLE_TEXT, [LPO_JSON_ARRAY] = LPO_PICKLE_LIST,
        [LPO_JSON_OBJECT] = LPO_PICKLE_DICT,
    };
    struct lpo_pickle_value v = { .kind = kinds[j->kind] };

    if (j->kind == LPO_JSON_BOOL || j->kind == LPO_JSON_INT)
        v.integer = j->kind == LPO_JSON_BOOL ? j->boolean : j->integer;
    else if (j->kind == LPO_JSON_REAL)
        v.real = j->real;
    else if (j->kind == LPO_JSON_STRING) {
        v.text = j->text;
        v.len = (uint32_t)j->len;
    } else if (j->kind != LPO_JSON_NULL) {
        v.box = box_of(a, j);
    }
    return v;
}

bool lpo_snapshot_is_plain(const unsigned char *head, size_t len)
{
    size_t i = 0;

    while (i < len && isspace(head[i]))
        i++;
    return len > 2 && (*head == 0x80 || (i < len && head[i] == '{'));
}

int lpo_snapshot_plain_read(struct lpo_arena *a, const char *path, struct lpo_pickle *out,
                            struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w = { 0 };
    const struct lpo_json *json = NULL;
    int rc = lpo_input_open(path, &in, err);

    if (rc < 0)
        return rc;
    while ((rc = lpo_input_next(in, w.len, &w, err)) > 0) {
        if (*w.at == (char)0x80)
            return lpo_snapshot_pickle_read(a, path, out, err);
        if (w.len > lpo_budget()->whole_file_bytes)
            return lpo_fail(err, LPO_E_LIMIT, "it has more than %llu GB (%s)",
                            (unsigned long long)lpo_budget()->whole_file_bytes >> 30,
                            LPO_BUDGET_HINT);
    }
    if (rc < 0 || lpo_json_parse_python(a, w.at, w.len, &json, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    out->root = value_of(a, json);
    out->bytes = w.len;
    return 0;
}
