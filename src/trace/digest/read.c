/* SPDX-License-Identifier: Apache-2.0 */
/* A digest is read into a trace of its own, checked, and appended. It is whole or it is refused:
 * half a digest would be half the events without anybody knowing which. */

#include "trace/digest/digest.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/input.h"

/* The bytes that are left. Once something is wrong everything reads as 0. */
struct digest_bytes {
    const unsigned char *at, *end;
    size_t rows_left; /* no honest digest has more rows than bytes */
    bool bad;
};

static uint64_t take_number(struct digest_bytes *b)
{
    uint64_t v = 0;

    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        unsigned char c = *b->at++;

        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return v;
    }
    b->bad = true;
    return 0;
}

static int64_t take_signed(struct digest_bytes *b)
{
    uint64_t v = take_number(b);

    return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

static const char *take_bytes(struct digest_bytes *b, uint64_t len)
{
    const unsigned char *at = b->at;

    if (len > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        return NULL;
    }
    b->at += len;
    return (const char *)at;
}

static double take_double(struct digest_bytes *b)
{
    const char *at = take_bytes(b, sizeof(double));
    double v = 0;

    if (at)
        memcpy(&v, at, sizeof v);
    return v;
}

/* How many rows follow. */
static size_t take_count(struct digest_bytes *b)
{
    uint64_t count = take_number(b);

    if (count > b->rows_left) {
        b->bad = true;
        return 0;
    }
    b->rows_left -= (size_t)count;
    return (size_t)count;
}

static bool take_head(struct lpo_arena *a, struct digest_bytes *b, uint64_t *version,
                      struct lpo_digest_origin *out)
{
    const char *magic = take_bytes(b, DIGEST_MAGIC_LEN), **texts[] = { &out->format, &out->file };

    if (!magic || memcmp(magic, DIGEST_MAGIC, DIGEST_MAGIC_LEN) != 0)
        return false;
    *version = take_number(b);
    for (size_t i = 0; *version == DIGEST_VERSION && i < sizeof texts / sizeof *texts; i++) {
        uint64_t len = take_number(b);
        const char *text = take_bytes(b, len);

        *texts[i] = text ? lpo_arena_strndup(a, text, (size_t)len) : "";
    }
    return !b->bad;
}

static void read_facts(struct digest_bytes *b, struct lpo_trace *t)
{
    uint64_t count = take_number(b);

    for (uint64_t i = 0; i < count && !b->bad; i++) {
        int64_t value = take_signed(b);

        if (i < DIGEST_FACTS) {
            const struct lpo_row_field f = { (uint16_t)digest_facts[i].at, digest_facts[i].size,
                                             LPO_FIELD_NUMBER, 0, 1 };

            lpo_trace_row_set((char *)t, &f, 0, (uint64_t)value);
        }
    }
    t->has_ranges = (*(const unsigned char *)&t->has_ranges & 1) != 0;
}

static void read_names(struct digest_bytes *b, struct lpo_trace *t)
{
    size_t count = take_count(b);

    for (size_t i = 0; i < count && !b->bad; i++) {
        uint64_t len = take_number(b);
        const char *text = take_bytes(b, len);

        b->bad |= text && lpo_trace_namen(t, text, (size_t)len) != i;
    }
}

/* --- rows ----------------------------------------------------------------------------------- */

static void read_column(struct digest_bytes *b, const struct lpo_row_kind *k,
                        const struct lpo_row_field *f, unsigned at, char *rows, size_t count)
{
    bool relative = f->kind == LPO_FIELD_END, same = take_number(b) == DIGEST_SAME;
    uint64_t value = same ? (uint64_t)take_signed(b) : 0;

    for (size_t i = 0; i < count && !b->bad; i++) {
        char *row = rows + i * k->row_bytes;

        if (!same)
            value = (relative ? lpo_trace_row_get(row, &k->fields[0], 0) : value) +
                    (uint64_t)take_signed(b);
        lpo_trace_row_set(row, f, at, value);
    }
}

/* How many rows there are of the array that a field refers to. */
static uint64_t rows_of(const struct lpo_trace *t, const struct lpo_row_field *f)
{
    return f->of == LPO_ROWS_METRIC_ROWS ? t->nmetric_rows
                                         : lpo_row_vec_of(t, (enum lpo_row_array)f->of)->len;
}

static bool is_good(const struct lpo_trace *t, enum lpo_row_array array,
                    const struct lpo_row_field *f, uint64_t v, uint64_t row)
{
    switch ((enum lpo_field_kind)f->kind) {
    case LPO_FIELD_NAME_IF:
    case LPO_FIELD_NAME:
        return v < lpo_trace_name_count(t) || (v == LPO_NONE && f->kind == LPO_FIELD_NAME_IF);
    case LPO_FIELD_ROW_IF:
    case LPO_FIELD_ROW:
        return v < (f->of == array ? row : rows_of(t, f)) ||
               (v == LPO_NONE && f->kind == LPO_FIELD_ROW_IF);
    case LPO_FIELD_ROW_PLUS:
        return v <= rows_of(t, f);
    case LPO_FIELD_NUMBER:
        return !f->of || v < f->of;
    case LPO_FIELD_MOMENT:
    case LPO_FIELD_END:
    case LPO_FIELD_GRAPH:
        break;
    }
    return true;
}

static bool is_field_good(const struct lpo_trace *t, enum lpo_row_array array,
                          const struct lpo_row_field *f)
{
    const struct lpo_row_vec *v = lpo_row_vec_of(t, array);
    bool good = true;

    for (size_t i = 0; i < v->len && good; i++) {
        const char *row = v->at + i * lpo_row_kinds[array].row_bytes;
        uint64_t value = lpo_trace_row_get(row, f, 0);

        good = is_good(t, array, f, value, i);
        if (f->kind == LPO_FIELD_END) /* of a window nothing may have been seen */
            good = (int64_t)value >=
                       (int64_t)lpo_trace_row_get(row, &lpo_row_kinds[array].fields[0], 0) ||
                   ((int64_t)value == LPO_NO_TIME && array == LPO_ROWS_WINDOWS);
    }
    return good;
}

static void read_rows(struct digest_bytes *b, struct lpo_trace *t, enum lpo_row_array array)
{
    const struct lpo_row_kind *k = &lpo_row_kinds[array];
    size_t count = take_count(b);
    char *rows = count ? lpo_trace_rows_grow(lpo_row_vec_of(t, array), count, k->row_bytes) : NULL;

    for (size_t f = 0; f < k->nfields && count && !b->bad; f++) {
        for (unsigned i = 0; i < k->fields[f].count; i++)
            read_column(b, k, &k->fields[f], i, rows, count);
        b->bad |= !is_field_good(t, array, &k->fields[f]);
    }
}

/* Stretches of rows lie in their array, and a path is no deeper than its parent says. */
static bool are_stretches_good(const struct lpo_trace *t)
{
    bool good = true;

    for (size_t i = 0; i < t->stacks.len; i++)
        good &= t->stacks.at[i].first + (uint64_t)t->stacks.at[i].count <= t->frames.len;
    for (size_t i = 0; i < t->window_ranges.len; i++) {
        const struct lpo_window_range *w = &t->window_ranges.at[i];

        good &= w->first <= t->windows.len && w->count <= t->windows.len - w->first;
    }
    for (size_t i = 0; i < t->paths.len; i++) {
        const struct lpo_path *p = &t->paths.at[i];

        good &= p->name != LPO_NONE && p->depth < LPO_PATH_DEPTH &&
                p->depth == (p->parent == LPO_NONE ? 0 : t->paths.at[p->parent].depth + 1);
    }
    for (size_t i = 0; i < t->devices.len; i++)
        t->devices.at[i].uuid[sizeof t->devices.at[i].uuid - 1] = '\0';
    return good && t->damage_note <= t->notes.len;
}

static void read_metrics(struct digest_bytes *b, struct lpo_trace *t)
{
    size_t count = take_count(b);

    lpo_trace_metric_expect(t, t->metrics.len);
    for (size_t i = 0; i < count && !b->bad; i++) {
        uint32_t row = lpo_trace_metric_row(t);

        b->bad |= t->metric_cap < t->metrics.len;
        for (uint32_t m = 0; m < t->metrics.len && !b->bad; m++)
            lpo_trace_metric_set(t, row, m, take_double(b));
    }
}

static void read_series(struct digest_bytes *b, struct lpo_trace *t)
{
    size_t count = take_count(b);

    for (size_t i = 0; i < count && !b->bad; i++) {
        struct lpo_series s = { .kind = (uint8_t)take_number(b) };
        size_t points;

        s.device = (uint16_t)take_number(b);
        s.name = (uint32_t)take_number(b);
        s.unit = (uint32_t)take_number(b);
        s.seen = take_number(b);
        points = take_count(b);
        b->bad |= s.kind > LPO_SERIES_COUNTER || s.device >= t->devices.len ||
                  s.name >= lpo_trace_name_count(t) ||
                  (s.unit != LPO_NONE && s.unit >= lpo_trace_name_count(t));
        for (size_t p = 0; p < points && !b->bad; p++) {
            int64_t ns = take_signed(b);

            lpo_vec_push(&s.points, (struct lpo_series_point){ ns, take_double(b) });
        }
        lpo_vec_push(&t->series, s);
    }
}

static void read_notes(struct digest_bytes *b, struct lpo_trace *t)
{
    size_t count = take_count(b);

    for (size_t i = 0; i < count && !b->bad; i++) {
        uint64_t text = take_number(b);

        b->bad |= text >= lpo_trace_name_count(t);
        lpo_vec_push(&t->notes, (struct lpo_trace_note){ (uint32_t)text, take_number(b) });
    }
}

static bool read_all(struct digest_bytes *b, struct lpo_trace *t)
{
    read_facts(b, t);
    read_names(b, t);
    t->domains.len = 0; /* the digest has its own, the first one too */
    for (enum lpo_row_array i = 0; i < LPO_ROW_ARRAYS && !b->bad; i++) {
        if (i == LPO_ROWS_METRIC_ROWS)
            read_metrics(b, t);
        else
            read_rows(b, t, i);
    }
    read_series(b, t);
    read_notes(b, t);
    return !b->bad && are_stretches_good(t);
}

static int read_whole(const char *path, struct lpo_str *to, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w;
    int rc = lpo_input_open(path, &in, err);

    if (rc < 0)
        return rc;
    while ((rc = lpo_input_next(in, 0, &w, err)) > 0)
        lpo_str_addn(to, w.at, w.len);
    if (rc == 0 && lpo_input_damage(in))
        rc = lpo_fail(err, LPO_E_FORMAT, "%s: make the digest again", lpo_input_damage(in));
    return rc;
}

static int read_digest(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR all = { 0 };
    struct digest_bytes b = { 0 };
    struct lpo_digest_origin origin = { 0 };
    uint64_t version = 0;

    if (read_whole(path, &all, err) < 0)
        return err->code;
    b.at = (const unsigned char *)lpo_str_text(&all);
    b.end = b.at + all.len;
    b.rows_left = all.len;
    if (take_head(a, &b, &version, &origin) && version != DIGEST_VERSION)
        return lpo_fail(err, LPO_E_FORMAT,
                        "it is a digest of version %llu, and this lpo reads version %d: make it "
                        "again with this lpo",
                        (unsigned long long)version, DIGEST_VERSION);
    if (b.bad || !read_all(&b, t))
        return lpo_fail(err, LPO_E_FORMAT, "the digest is damaged: write it again with lpo digest");
    t->total_ns = 0; /* who reads a file sums it */
    return lpo_trace_append(into, t, err);
}

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len > DIGEST_MAGIC_LEN && memcmp(head, DIGEST_MAGIC, DIGEST_MAGIC_LEN) == 0;
}

bool lpo_digest_origin_of(struct lpo_arena *a, const char *path, struct lpo_digest_origin *out)
{
    unsigned char head[4096];
    struct digest_bytes b = { .at = head };
    uint64_t version = 0;
    size_t len = 0;

    if (lpo_input_head(path, head, sizeof head, &len, NULL) < 0)
        return false;
    b.end = head + len;
    return take_head(a, &b, &version, out) && version == DIGEST_VERSION;
}

const struct lpo_reader lpo_digest_reader = {
    .name = "digest",
    .summary = "digest of a trace (.lpod, by lpo digest)",
    .sniff = sniff,
    .read = read_digest,
};
