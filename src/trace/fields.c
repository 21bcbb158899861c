/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/fields.h"

#include "trace/kineto/private.h"
#include "trace/trace.h"

enum { DEEPEST = 6 };

static const struct lpo_json_pull_text none = { .at = "" };

static bool is(const struct lpo_json_pull_text *text, const char *word)
{
    return text->len == strlen(word) && memcmp(text->at, word, text->len) == 0;
}

/* While an object is read. */
struct reading {
    struct lpo_pull *q;
    const struct lpo_member *fields;
    size_t count;
    char *to;
};

static int read_object(const struct reading *r, const struct lpo_json_pull_text *inside, int depth);

static int read_member(const struct reading *r, const struct lpo_json_pull_text *inside,
                       const struct lpo_json_pull_text *key, int depth)
{
    int c = lpo_json_pull_peek(r->q);

    if (c < 0)
        return c;
    if (c == '{' && depth < DEEPEST)
        return read_object(r, key, depth + 1);
    for (const struct lpo_member *f = r->fields; f < r->fields + r->count; f++) {
        void *to = r->to + f->at;

        if (!is(key, f->key) || !is(inside, f->inside))
            continue;
        if (f->kind != LPO_MEMBER_TEXT)
            return lpo_kineto_number(r->q, f->kind == LPO_MEMBER_MICROSECONDS ? 3 : 0, to);
        return c == '"' ? lpo_json_pull_string(r->q, to) : lpo_json_pull_skip(r->q);
    }
    return lpo_json_pull_skip(r->q);
}

static int read_object(const struct reading *r, const struct lpo_json_pull_text *inside, int depth)
{
    struct lpo_json_pull_text key;
    bool first = true;
    int rc;

    r->q->p++;
    while ((rc = lpo_json_pull_member(r->q, &first, &key)) > 0)
        if ((rc = read_member(r, inside, &key, depth)) < 0)
            return rc;
    return rc;
}

int lpo_trace_fields_read(struct lpo_pull *q, const struct lpo_member *fields, size_t count,
                          void *to)
{
    const struct reading r = { q, fields, count, to };
    int c = lpo_json_pull_peek(q);

    for (size_t i = 0; i < count; i++)
        if (fields[i].kind == LPO_MEMBER_TEXT)
            memcpy(r.to + fields[i].at, &none, sizeof none);
        else
            memcpy(r.to + fields[i].at, &(int64_t){ LPO_NO_TIME }, sizeof(int64_t));
    if (c != '{')
        return c < 0 ? c : lpo_json_pull_skip(q);
    return read_object(&r, &none, 0);
}
