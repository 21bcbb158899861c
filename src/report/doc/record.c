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

static void append(struct lpo_record *r, struct lpo_doc_value value)
{
    struct lpo_doc_value *v = LPO_NEW(r->arena, struct lpo_doc_value);

    *v = value;
    v->next = NULL;
    if (v->kind == LPO_IS_TEXT && !v->borrowed)
        v->text = lpo_arena_strndup(r->arena, v->text, v->len);
    if (r->last)
        r->last->next = v;
    else
        r->first = v;
    r->last = v;
}

static struct lpo_doc_value value_of(enum lpo_value_kind kind)
{
    return (struct lpo_doc_value){ .kind = (uint8_t)kind, .how = LPO_MEASURED };
}

static struct lpo_record *put_inner(struct lpo_record *r, const char *key, enum lpo_value_kind kind)
{
    struct lpo_record *inner = lpo_doc_record_create(r->arena);
    struct lpo_doc_value v = value_of(kind);

    v.record = inner;
    append(r, lpo_doc_member(key, v));
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
    struct lpo_doc_value v = value_of(LPO_IS_STREAM);

    *stream = (struct lpo_doc_stream){ make, ctx, count };
    v.stream = stream;
    append(r, lpo_doc_member(key, v));
}

struct lpo_doc_value lpo_doc_null(void)
{
    return (struct lpo_doc_value){ .kind = LPO_IS_NULL, .how = LPO_UNKNOWN };
}

struct lpo_doc_value lpo_doc_flag(bool yes)
{
    struct lpo_doc_value v = value_of(LPO_IS_FLAG);

    v.integer = yes;
    return v;
}

struct lpo_doc_value lpo_doc_int(int64_t integer)
{
    struct lpo_doc_value v = value_of(LPO_IS_INT);

    v.integer = integer;
    return v;
}

struct lpo_doc_value lpo_doc_int_if(bool known, int64_t v)
{
    return known ? lpo_doc_int(v) : lpo_doc_null();
}

struct lpo_doc_value lpo_doc_uint(uint64_t count)
{
    struct lpo_doc_value v = value_of(LPO_IS_UINT);

    v.count = count;
    return v;
}

static struct lpo_doc_value of_double(struct lpo_measure m, enum lpo_value_kind kind)
{
    struct lpo_doc_value v = value_of(kind);

    if (!lpo_measure_known(m) || !isfinite(m.value))
        return lpo_doc_null();
    v.real = m.value;
    v.how = (uint8_t)m.how;
    return v;
}

struct lpo_doc_value lpo_doc_measure(struct lpo_measure m)
{
    return of_double(m, LPO_IS_REAL);
}

struct lpo_doc_value lpo_doc_real(double v)
{
    return lpo_doc_measure(lpo_measure_measured(v));
}

struct lpo_doc_value lpo_doc_whole(struct lpo_measure m)
{
    return of_double(m, LPO_IS_WHOLE);
}

struct lpo_doc_value lpo_doc_textn(const char *text, size_t len)
{
    struct lpo_doc_value v = value_of(LPO_IS_TEXT);

    v.text = text;
    v.len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
    return v;
}

struct lpo_doc_value lpo_doc_name(const char *text, size_t len)
{
    struct lpo_doc_value v = lpo_doc_textn(text, len);

    v.borrowed = true;
    return v;
}

struct lpo_doc_value lpo_doc_text(const char *text)
{
    return text ? lpo_doc_textn(text, strlen(text)) : lpo_doc_null();
}

struct lpo_doc_value lpo_doc_same(struct lpo_doc_value v)
{
    return v;
}

struct lpo_doc_value lpo_doc_member(const char *key, struct lpo_doc_value v)
{
    v.key = key;
    return v;
}

struct lpo_doc_value lpo_doc_if(bool there, struct lpo_doc_value v)
{
    v.absent = !there;
    return v;
}

void lpo_doc_put_values(struct lpo_record *r, const struct lpo_doc_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!values[i].absent)
            append(r, values[i]);
}
