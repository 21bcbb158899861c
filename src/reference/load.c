/* SPDX-License-Identifier: Apache-2.0 */
/* A reference's file: lines of text up to an empty one, then one zstd frame with three streams:
 * the grids and variants, the lengths of their rows, and the ratios. docs/references.md has the
 * form. Every count is checked against what is there: the file may be anybody's. */
#include <zstd.h>

#include "reference/private.h"
#include "util/file.h"
#include "util/path.h"

enum {
    MAX_FILE = 4 << 20,
    MAX_SIZE = 64 << 20,
    MAX_WORDS = 256,
    MAX_BLOCKS = 256,
    MAX_AXIS = 1024,
    MAX_ROWS = 4 << 20,
    MAX_ERRORS = 1024
};

struct cursor {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t varint(struct cursor *c)
{
    uint64_t n = 0;

    for (int shift = 0; shift < 63; shift += 7) {
        if (c->at >= c->end)
            break;
        n |= (uint64_t)(*c->at & 0x7f) << shift;
        if (!(*c->at++ & 0x80))
            return n;
    }
    c->bad = true;
    return 0;
}

static int64_t signed_varint(struct cursor *c)
{
    uint64_t n = varint(c);

    return n & 1 ? -(int64_t)(n / 2) - 1 : (int64_t)(n / 2);
}

static uint32_t count(struct cursor *c, uint32_t most)
{
    uint64_t n = varint(c);

    c->bad |= n > most;
    return c->bad ? 0 : (uint32_t)n;
}

static void read_words(struct cursor *c, const struct lpo_reference *r, struct ref_table *t)
{
    t->nwords = count(c, MAX_WORDS);
    t->words = lpo_xcalloc(t->nwords + 1, sizeof *t->words);
    t->formats = lpo_xcalloc(t->nwords + 1, sizeof *t->formats);
    for (uint32_t i = 0; i < t->nwords && !c->bad; i++) {
        const unsigned char *end = memchr(c->at, 0, (size_t)(c->end - c->at));

        c->bad |= !end;
        if (!end)
            return;
        t->words[i] = lpo_xstrdup((const char *)c->at);
        t->formats[i] = lpo_reference_format(r, t->words[i]);
        c->at = end + 1;
    }
}

static void read_block(struct cursor *c, enum lpo_reference_kind k, struct ref_table *t,
                       struct ref_block *b)
{
    const struct lpo_reference_column *columns = lpo_reference_columns(k);
    int keys = lpo_reference_key_count(k);

    b->step = (double)count(c, 1 << 20) / 10000;
    b->rows = 1;
    for (int i = keys; i < LPO_REF_COLUMNS && columns[i].name && !c->bad; i++) {
        double value = 0;

        b->sizes[b->naxes] = count(c, MAX_AXIS);
        c->bad |= b->sizes[b->naxes] == 0;
        b->logs[b->naxes] = lpo_xcalloc(b->sizes[b->naxes] + 1, sizeof(double));
        for (uint32_t j = 0; j < b->sizes[b->naxes]; j++) {
            value += (double)varint(c);
            b->logs[b->naxes][j] = log(value + 1);
        }
        if (b->naxes++ && !c->bad)
            b->rows *= b->sizes[b->naxes - 2];
    }
    b->variants = count(c, MAX_ROWS);
    if (c->bad || (uint64_t)b->variants * b->rows + t->nrows > MAX_ROWS) {
        c->bad = true;
        return;
    }
    b->first_row = t->nrows;
    t->nrows += b->variants * b->rows;
    b->keys = lpo_xcalloc((size_t)b->variants * (size_t)keys + 1, sizeof(double));
    for (int i = 0; i < keys; i++) {
        int64_t n = 0;

        for (uint32_t v = 0; v < b->variants && !c->bad; v++) {
            n += signed_varint(c);
            c->bad |= n < 0 || n > (int64_t)1 << 40 || (columns[i].word && n >= t->nwords);
            b->keys[(size_t)i * b->variants + v] = (double)n;
        }
    }
}

/* The plane through three neighbours, kept between them. */
static int predict(int left, int up, int corner)
{
    int least = left < up ? left : up, most = left < up ? up : left;

    return corner >= most ? least : corner <= least ? most : left + up - corner;
}

static void read_rows(struct cursor *ends, struct cursor *data, struct ref_table *t,
                      const struct ref_block *b)
{
    const int16_t *above = NULL;
    uint32_t above_len = 0, widest = b->sizes[b->naxes - 1];

    for (uint32_t i = 0; i < b->variants * b->rows && !data->bad && !ends->bad; i++) {
        struct ref_row *row = &t->rows[b->first_row + i];
        int16_t *line = t->ratios + t->nratios;

        *row = (struct ref_row){ t->nratios, count(ends, widest) };
        for (uint32_t j = 0; j < row->len; j++) {
            int left = j ? line[j - 1] : above_len ? above[0] : 0;
            int up = j < above_len ? above[j] : left;
            int corner = j && j <= above_len ? above[j - 1] : j ? left : up;
            int64_t q = predict(left, up, corner) + signed_varint(data);

            data->bad |= q < INT16_MIN || q > INT16_MAX;
            line[j] = (int16_t)q;
        }
        t->nratios += row->len;
        if (row->len) {
            above = line;
            above_len = row->len;
        }
    }
}

uint32_t lpo_reference_hash(const double *keys, int n)
{
    uint64_t h = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < n; i++)
        h = (h ^ (uint64_t)keys[i]) * 0xff51afd7ed558ccdu, h ^= h >> 29;
    return (uint32_t)(h ^ h >> 32);
}

static void index_variants(enum lpo_reference_kind k, struct ref_table *t)
{
    int keys = lpo_reference_key_count(k);
    uint32_t total = 0, size = 16;

    for (uint32_t i = 0; i < t->nblocks; i++)
        total += t->blocks[i].variants;
    while (size < 2 * total)
        size *= 2;
    t->slots = lpo_xcalloc(size, sizeof *t->slots);
    t->mask = size - 1;
    for (uint32_t i = 0; i < t->nblocks; i++)
        for (uint32_t v = 0; v < t->blocks[i].variants; v++) {
            double key[LPO_REF_COLUMNS];
            uint32_t at;

            for (int n = 0; n < keys; n++)
                key[n] = t->blocks[i].keys[(size_t)n * t->blocks[i].variants + v];
            for (at = lpo_reference_hash(key, keys) & t->mask; t->slots[at].block;)
                at = (at + 1) & t->mask;
            t->slots[at] = (struct ref_slot){ i + 1, v };
        }
}

static void read_table(struct cursor *head, struct cursor *ends, struct cursor *data,
                       struct lpo_reference *r)
{
    uint32_t k = count(head, LPO_REF_KINDS - 1);
    struct ref_table *t = &r->table[k];

    head->bad |= t->blocks != NULL;
    if (head->bad)
        return;
    read_words(head, r, t);
    t->nblocks = count(head, MAX_BLOCKS);
    t->blocks = lpo_xcalloc(t->nblocks + 1, sizeof *t->blocks);
    for (uint32_t i = 0; i < t->nblocks && !head->bad; i++)
        read_block(head, (enum lpo_reference_kind)k, t, &t->blocks[i]);
    if (head->bad)
        return;
    /* a ratio takes a byte at least: there cannot be more of them than bytes */
    t->ratios = lpo_xcalloc((size_t)(data->end - data->at) + MAX_AXIS, sizeof *t->ratios);
    t->rows = lpo_xcalloc(t->nrows + 1, sizeof *t->rows);
    for (uint32_t i = 0; i < t->nblocks; i++)
        read_rows(ends, data, t, &t->blocks[i]);
    index_variants((enum lpo_reference_kind)k, t);
}

bool lpo_reference_read_body(struct lpo_reference *r, const unsigned char *at, size_t len)
{
    struct cursor streams[3];

    for (int i = 0; i < 3; i++) {
        size_t n;

        if (len < 4)
            return false;
        n = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        if (n > len - 4)
            return false;
        streams[i] = (struct cursor){ at + 4, at + 4 + n, false };
        at += 4 + n;
        len -= 4 + n;
    }
    for (uint32_t n = count(&streams[0], LPO_REF_KINDS); n > 0; n--)
        read_table(&streams[0], &streams[1], &streams[2], r);
    return !streams[0].bad && !streams[1].bad && !streams[2].bad;
}

static int kind_of(const char *name)
{
    for (int k = 0; k < LPO_REF_KINDS; k++)
        if (strcmp(lpo_reference_kind_name((enum lpo_reference_kind)k), name) == 0)
            return k;
    return -1;
}

static void read_error(struct lpo_reference *r, const char *text)
{
    char kind[32];
    struct ref_error e = { 0 };

    if (sscanf(text, "%31s %31s %lf %lf %lf", kind, e.word, &e.below_us, &e.half, &e.most) != 5 ||
        r->nerrors == MAX_ERRORS)
        return;
    e.kind = kind_of(kind);
    if (!r->errors)
        r->errors = lpo_xcalloc(MAX_ERRORS, sizeof *r->errors);
    r->errors[r->nerrors++] = e;
}

static void read_line(struct lpo_reference *r, const char *key, const char *value)
{
    char name[32];
    double rate;

    if (strcmp(key, "source") == 0 && !r->source)
        r->source = lpo_xstrdup(value);
    else if (strcmp(key, "gpu") == 0 && !r->gpu)
        r->gpu = lpo_xstrdup(value);
    else if (strcmp(key, "hardware") == 0 && !r->hardware)
        r->hardware = lpo_xstrdup(value);
    else if (strcmp(key, "floor") == 0)
        r->floor_us = strtod(value, NULL);
    else if (strcmp(key, "size") == 0)
        r->size = strtoul(value, NULL, 10);
    else if (strcmp(key, "error") == 0)
        read_error(r, value);
    else if (strcmp(key, "rate") == 0 && sscanf(value, "%31s %lf", name, &rate) == 2 && rate > 0) {
        if (strcmp(name, "bandwidth") == 0)
            r->bandwidth = rate;
        else if (strcmp(name, "link") == 0)
            r->link = rate;
        else
            r->rates[lpo_dtype_parse(name)] = rate;
    }
}

/* Returns where the lines end. */
static size_t read_lines(struct lpo_reference *r, const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && text[at] != '\n') {
        const char *end = memchr(text + at, '\n', len - at), *colon;
        char line[512];
        size_t n = end ? (size_t)(end - text) - at : len - at;

        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1),
                 text + at);
        colon = strstr(line, ": ");
        if (colon) {
            line[colon - line] = '\0';
            read_line(r, line, colon + 2);
        }
        at += n + 1;
    }
    return at + 1;
}

static int parse(struct lpo_reference *r, const struct lpo_file_text *text, const char *path,
                 struct lpo_err *err)
{
    static const char magic[] = "lpo reference 1\n";
    LPO_FREED unsigned char *raw = NULL;
    size_t at, size;
    bool good;

    if (text->len < sizeof magic || strncmp(text->at, magic, sizeof magic - 1) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' is not a reference of lpo", path);
    at = read_lines(r, text->at, text->len);
    if (at >= text->len || r->size == 0 || r->size > MAX_SIZE || !r->gpu || !r->source ||
        r->bandwidth <= 0 || r->link <= 0)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' is cut, or its first lines are not complete",
                        path);
    raw = lpo_xcalloc(1, r->size);
    size = ZSTD_decompress(raw, r->size, text->at + at, text->len - at);
    good = !ZSTD_isError(size) && size == r->size && lpo_reference_read_body(r, raw, size);
    return good ? 0 : lpo_fail(err, LPO_E_FORMAT, "'%s' is damaged", path);
}

int lpo_reference_load(const char *path, struct lpo_reference **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_reference) r = lpo_xcalloc(1, sizeof *r);
    int rc = lpo_file_text_read_limit(path, MAX_FILE, &text, err);

    if (rc == 0)
        rc = parse(r, text, path, err);
    if (rc < 0)
        return rc;
    *out = r;
    r = NULL;
    return 0;
}

void lpo_reference_destroy(struct lpo_reference *r)
{
    if (!r)
        return;
    for (int k = 0; k < LPO_REF_KINDS; k++) {
        struct ref_table *t = &r->table[k];

        for (uint32_t i = 0; i < t->nwords && t->words; i++)
            free(t->words[i]);
        for (uint32_t i = 0; i < t->nblocks && t->blocks; i++) {
            for (int a = 0; a < REF_AXES; a++)
                free(t->blocks[i].logs[a]);
            free(t->blocks[i].keys);
        }
        free(t->words);
        free(t->formats);
        free(t->blocks);
        free(t->rows);
        free(t->ratios);
        free(t->slots);
    }
    free(r->errors);
    free(r->source);
    free(r->gpu);
    free(r->hardware);
    free(r);
}

const char *lpo_reference_source(const struct lpo_reference *r)
{
    return r->source;
}

const char *lpo_reference_gpu(const struct lpo_reference *r)
{
    return r->gpu;
}

/* The entry of conf/hardware that a file is for is in its name: "h200_sxm.ref", or for A100 and
 * B200 the entry's with and without its memory and board. */
const char *lpo_reference_path(struct lpo_arena *a, const char *const *dirs, const char *gpu)
{
    static const struct {
        const char *entry, *file;
    } others[] = { { "a100_80_sxm", "a100_sxm" },
                   { "a100_40_sxm", "a100_sxm" },
                   { "b200", "b200_sxm" },
                   { "b300", "b300_sxm" } };

    if (strchr(gpu, '/') || lpo_str_ends(gpu, ".ref"))
        return gpu;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].entry, gpu) == 0)
            gpu = others[i].file;
    for (; *dirs; dirs++) {
        const char *path = lpo_arena_printf(a, "%s/references/%s.ref", *dirs, gpu);

        if (lpo_path_exists(path))
            return path;
    }
    return NULL;
}
