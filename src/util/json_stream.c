/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json_pull.h"

#include "util/input.h"

struct lpo_json_stream {
    struct lpo_input *in;
    struct lpo_input_window window;
    struct lpo_pull q;
    size_t limit;
    bool ended;
};

/* Keeps the text from q.p on and adds more. 1, 0 at the end, or an error. */
static int refill(struct lpo_json_stream *s, struct lpo_err *err)
{
    int rc = lpo_input_next(s->in, (size_t)(s->q.end - s->q.p), &s->window, err);

    s->q.p = s->window.at;
    s->q.end = s->window.at + s->window.len;
    s->ended = rc == 0;
    return rc;
}

int lpo_json_stream_open(const char *path, enum lpo_pull_mode mode, size_t limit,
                         struct lpo_json_stream **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_json_stream) s = lpo_xcalloc(1, sizeof *s);
    int rc = lpo_input_open(path, &s->in, err);

    s->q.mode = mode;
    s->limit = limit;
    if (rc == 0)
        rc = refill(s, err);
    if (rc < 0)
        return rc;
    if (s->window.len >= 3 && memcmp(s->q.p, "\xef\xbb\xbf", 3) == 0)
        s->q.p += 3; /* a byte order mark */
    *out = s;
    s = NULL;
    return 0;
}

void lpo_json_stream_destroy(struct lpo_json_stream *s)
{
    if (!s)
        return;
    lpo_input_destroy(s->in);
    free(s);
}

int lpo_json_stream_read(struct lpo_json_stream *s, lpo_json_fn fn, void *ctx, struct lpo_err *err)
{
    for (;;) {
        const char *from = s->q.p;
        int rc = fn(&s->q, ctx);

        if (rc >= 0)
            return rc;
        s->q.p = from;
        if (rc != LPO_PULL_MORE || s->ended)
            return rc;
        if ((size_t)(s->q.end - from) > s->limit)
            return lpo_fail(err, LPO_E_LIMIT, "one value is larger than %zu MiB", s->limit >> 20);
        rc = refill(s, err);
        if (rc < 0)
            return rc;
    }
}

int lpo_json_stream_read_as(struct lpo_json_stream *s, enum lpo_pull_mode mode, lpo_json_fn fn,
                            void *ctx, struct lpo_err *err)
{
    enum lpo_pull_mode before = s->q.mode;
    int rc;

    s->q.mode = mode;
    rc = lpo_json_stream_read(s, fn, ctx, err);
    s->q.mode = before;
    return rc;
}

static int peek(struct lpo_pull *q, void *ctx)
{
    (void)ctx;
    return lpo_json_pull_peek(q);
}

static int skip(struct lpo_pull *q, void *ctx)
{
    (void)ctx;
    return lpo_json_pull_skip(q);
}

int lpo_json_stream_skip(struct lpo_json_stream *s, struct lpo_err *err)
{
    struct lpo_pull_passing at = { 0 };
    int rc = lpo_json_stream_read(s, peek, NULL, err);

    if (rc != '{' && rc != '[')
        return rc < 0 ? rc : lpo_json_stream_read(s, skip, NULL, err);
    while ((rc = lpo_json_pull_pass(&s->q, s->ended, &at)) == LPO_PULL_MORE && !s->ended) {
        rc = refill(s, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* Is the '{' at p an item of a list: after ',' or '[', and a key follows? */
static int starts_item(const struct lpo_json_stream *s, const char *p)
{
    struct lpo_pull after = { .p = p + 1, .end = s->q.end, .mode = LPO_PULL_LENIENT };
    const char *before = p;

    while (before > s->window.at && (unsigned char)before[-1] <= ' ')
        before--;
    if (before == s->window.at || (before[-1] != ',' && before[-1] != '['))
        return 0;
    return lpo_json_pull_peek(&after) == '"';
}

int lpo_json_stream_resync(struct lpo_json_stream *s, struct lpo_err *err)
{
    enum { MARGIN = 256 }; /* what a candidate needs to see on both sides */

    while (s->q.p < s->q.end && (*s->q.p == ',' || (unsigned char)*s->q.p <= ' '))
        s->q.p++;                /* to the broken value itself, */
    s->q.p += s->q.p < s->q.end; /* and behind its first byte */
    for (;;) {
        const char *p = s->q.p;
        const char *stop = s->ended || s->q.end - p < MARGIN ? s->q.end : s->q.end - MARGIN;
        int rc;

        while ((p = memchr(p, '{', (size_t)(stop - p))) && !starts_item(s, p))
            p++;
        if (p) {
            s->q.p = p;
            return 1;
        }
        if (s->ended) {
            s->q.p = s->q.end;
            return 0;
        }
        s->q.p = stop - s->q.p > MARGIN ? stop - MARGIN : s->q.p;
        rc = refill(s, err);
        if (rc < 0)
            return rc;
    }
}

uint64_t lpo_json_stream_offset(const struct lpo_json_stream *s)
{
    return s->window.offset + (uint64_t)(s->q.p - s->window.at);
}

const char *lpo_json_stream_damage(const struct lpo_json_stream *s)
{
    return lpo_input_damage(s->in);
}

static int take_bracket(struct lpo_pull *q, void *ctx)
{
    int c = lpo_json_pull_peek(q);

    (void)ctx;
    if (c == '{' || c == '[')
        q->p++;
    return c;
}

int lpo_json_stream_bracket(struct lpo_json_stream *s, struct lpo_err *err)
{
    return lpo_json_stream_read(s, take_bracket, NULL, err);
}

struct key {
    const char *wanted;
    bool first, is_wanted;
};

static int take_key(struct lpo_pull *q, void *ctx)
{
    struct key *k = ctx;
    struct lpo_json_pull_text text;
    bool first = k->first;
    int rc = lpo_json_pull_member(q, &first, &text);

    if (rc > 0) {
        k->first = false;
        k->is_wanted = text.len == strlen(k->wanted) && memcmp(text.at, k->wanted, text.len) == 0;
    }
    return rc;
}

int lpo_json_stream_key(struct lpo_json_stream *s, bool *first, const char *wanted, bool *is_wanted,
                        struct lpo_err *err)
{
    struct key k = { wanted, *first, false };
    int rc = lpo_json_stream_read(s, take_key, &k, err);

    *first = k.first;
    *is_wanted = k.is_wanted;
    return rc;
}
