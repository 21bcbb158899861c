/* SPDX-License-Identifier: Apache-2.0 */
#include "report/doc/record.h"

#include <math.h>
#include <string.h>

#include "util/arena.h"

struct lpo_record *lpo_doc_record_create(struct lpo_arena *arena)
{
    struct lpo_record *r = LPO_NEW(arena, struct lpo_record);

    r->arena = arena;
    return r;
}

static struct lpo_doc_value *put(struct lpo_record *r, const char *key, enum lpo_value_kind kind)
{
    struct lpo_doc_value *v = LPO_NEW(r->arena, struct lpo_doc_value);

    v->key = key;
    v->kind = (uint8_t)kind;
    v->how = kind == LPO_IS_NULL ? LPO_UNKNOWN : LPO_MEASURED;
    if (r->last)
        r->last->next = v;
    else
        r->first = v;
    r->last = v;
    return v;
}

static struct lpo_record *put_inner(struct lpo_record *r, const char *key, enum lpo_value_kind kind)
{
    struct lpo_record *inner = lpo_doc_record_create(r->arena);

    put(r, key, kind)->record = inner;
    return inner;
}

struct lpo_record *lpo_doc_put_record(struct lpo_record *r, const char *key)
{
    return put_inner(r, key, LPO_IS_RECORD);
}

struct lpo_record *lpo_doc_put_list(struct lpo_record *r, const char *key)
{
    return put_inner(r, key, LPO_IS_LIST);
}

void lpo_doc_put_stream(struct lpo_record *r, const char *key, size_t count,
                        lpo_doc_make_record *make, const void *ctx)
{
    struct lpo_doc_stream *stream = LPO_NEW(r->arena, struct lpo_doc_stream);

    *stream = (struct lpo_doc_stream){ make, ctx, count };
    put(r, key, LPO_IS_STREAM)->stream = stream;
}

void lpo_doc_put_null(struct lpo_record *r, const char *key)
{
    put(r, key, LPO_IS_NULL);
}

void lpo_doc_put_flag(struct lpo_record *r, const char *key, bool yes)
{
    put(r, key, LPO_IS_FLAG)->integer = yes;
}

void lpo_doc_put_int(struct lpo_record *r, const char *key, int64_t v)
{
    put(r, key, LPO_IS_INT)->integer = v;
}

void lpo_doc_put_int_if(struct lpo_record *r, const char *key, bool known, int64_t v)
{
    if (known)
        lpo_doc_put_int(r, key, v);
    else
        lpo_doc_put_null(r, key);
}

void lpo_doc_put_uint(struct lpo_record *r, const char *key, uint64_t v)
{
    put(r, key, LPO_IS_UINT)->count = v;
}

static void put_double(struct lpo_record *r, const char *key, struct lpo_measure m,
                       enum lpo_value_kind kind)
{
    struct lpo_doc_value *v;

    if (!lpo_measure_known(m) || !isfinite(m.value)) {
        lpo_doc_put_null(r, key);
        return;
    }
    v = put(r, key, kind);
    v->real = m.value;
    v->how = (uint8_t)m.how;
}

void lpo_doc_put_real(struct lpo_record *r, const char *key, double v)
{
    put_double(r, key, lpo_measure_measured(v), LPO_IS_REAL);
}

void lpo_doc_put_measure(struct lpo_record *r, const char *key, struct lpo_measure m)
{
    put_double(r, key, m, LPO_IS_REAL);
}

void lpo_doc_put_whole(struct lpo_record *r, const char *key, struct lpo_measure m)
{
    put_double(r, key, m, LPO_IS_WHOLE);
}

void lpo_doc_put_name(struct lpo_record *r, const char *key, const char *text, size_t len)
{
    struct lpo_doc_value *v = put(r, key, LPO_IS_TEXT);

    v->text = text;
    v->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

void lpo_doc_put_textn(struct lpo_record *r, const char *key, const char *text, size_t len)
{
    lpo_doc_put_name(r, key, lpo_arena_strndup(r->arena, text, len), len);
}

void lpo_doc_put_text(struct lpo_record *r, const char *key, const char *text)
{
    if (text)
        lpo_doc_put_textn(r, key, text, strlen(text));
    else
        lpo_doc_put_null(r, key);
}
