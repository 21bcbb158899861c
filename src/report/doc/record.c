/* SPDX-License-Identifier: Apache-2.0 */
#include "report/doc/record.h"

struct lpo_record *lpo_doc_record_create(struct lpo_arena *arena)
{
    struct lpo_record *r = LPO_NEW(arena, struct lpo_record);

    r->arena = arena;
    return r;
}

static void append(struct lpo_record *r, struct lpo_jv value)
{
    struct lpo_doc_value *v = LPO_NEW(r->arena, struct lpo_doc_value);

    v->v = value;
    if (value.kind == LPO_IS_TEXT && !value.borrowed)
        v->v.text = lpo_arena_strndup(r->arena, value.text, value.len);
    if (r->last)
        r->last->next = v;
    else
        r->first = v;
    r->last = v;
}

static void put_inner(struct lpo_record *r, const char *key, enum lpo_jv_kind kind,
                      const void *inner)
{
    append(r, (struct lpo_jv){ key, .inner = inner, .kind = (uint8_t)kind, .how = LPO_MEASURED });
}

struct lpo_record *lpo_doc_put_record(struct lpo_record *r, const char *key)
{
    struct lpo_record *inner = lpo_doc_record_create(r->arena);

    put_inner(r, key, LPO_IS_RECORD, inner);
    return inner;
}

struct lpo_record *lpo_doc_put_list(struct lpo_record *r, const char *key)
{
    struct lpo_record *inner = lpo_doc_record_create(r->arena);

    put_inner(r, key, LPO_IS_LIST, inner);
    return inner;
}

void lpo_doc_put_stream(struct lpo_record *r, const char *key, size_t count,
                        lpo_doc_make_record *make, const void *ctx)
{
    struct lpo_doc_stream *stream = LPO_NEW(r->arena, struct lpo_doc_stream);

    *stream = (struct lpo_doc_stream){ make, ctx, count };
    put_inner(r, key, LPO_IS_STREAM, stream);
}

void lpo_doc_put_values(struct lpo_record *r, const struct lpo_jv *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!values[i].absent)
            append(r, values[i]);
}
