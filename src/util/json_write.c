/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json_write.h"

#include "util/visible.h"

struct lpo_json_writer lpo_json_writer(struct lpo_str *out, int indent)
{
    return (struct lpo_json_writer){ .out = out, .indent = indent };
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

/* Of eight bytes at once: bit 7 of the lowest byte that is not plain, and perhaps of those above.
 */
static uint64_t find_special(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    const uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\', less = x ^ ones * '<',
                   delete = x ^ ones * 0x7f;

    return (x | ((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
            ((less - ones) & ~less) | ((delete - ones) & ~delete)) &
           tops;
}

/* How many bytes from here need no escape: nearly always all of them. */
static size_t plain_run(const char *text, size_t len)
{
    size_t i = 0;

    for (uint64_t x; i + sizeof x <= len; i += sizeof x) {
        memcpy(&x, text + i, sizeof x);
        if (find_special(x))
            break;
    }
    while (i < len && is_plain(text[i]))
        i++;
    return i;
}

/* The same value for a reader; a terminal or an editor would obey the character itself. */
static void add_escape(struct lpo_str *s, uint32_t cp)
{
    if (cp < 0x10000)
        lpo_str_addf(s, "\\u%04x", cp);
    else
        lpo_str_addf(s, "\\u%04x\\u%04x", 0xd7c0 + (cp >> 10), 0xdc00 + (cp & 0x3ff));
}

void lpo_json_add_json(struct lpo_str *s, const char *text, size_t len, bool html)
{
    lpo_str_addc(s, '"');
    for (size_t i = 0; i < len;) {
        size_t run = plain_run(text + i, len - i), n;
        unsigned char c;

        if (run) {
            lpo_str_addn(s, text + i, run);
            i += run;
            continue;
        }
        c = (unsigned char)text[i];
        n = lpo_str_utf8_len(text + i, len - i);
        if (c == '"' || c == '\\')
            lpo_str_addf(s, "\\%c", c);
        else if (c == '\n')
            lpo_str_add(s, "\\n");
        else if (c == '\t')
            lpo_str_add(s, "\\t");
        else if (c < 0x20 || c == 0x7f || (html && c == '<'))
            lpo_str_addf(s, "\\u%04x", c);
        else if (n == 0)
            lpo_str_add(s, "\xef\xbf\xbd");
        else if (n > 1 && lpo_visible_hidden(lpo_str_code_point(text + i, n)))
            add_escape(s, lpo_str_code_point(text + i, n));
        else
            lpo_str_addn(s, text + i, n);
        i += n ? n : 1;
    }
    lpo_str_addc(s, '"');
}

void lpo_json_add_real(struct lpo_str *s, double v)
{
    char digits[40];

    if (!isfinite(v)) {
        lpo_str_add(s, "null");
        return;
    }
    if (fabs(v) < 1e15 && v == trunc(v) && !(v == 0 && signbit(v))) { /* most are */
        lpo_str_add_int(s, (int64_t)v);
        lpo_str_add(s, ".0");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    if (!strpbrk(digits, ".en"))
        strcat(digits, ".0");
    lpo_str_add(s, digits);
}

void lpo_json_add_whole(struct lpo_str *s, double v)
{
    if (fabs(v) < 1e18)
        lpo_str_add_int(s, (int64_t)nearbyint(v));
    else if (isfinite(v))
        lpo_str_addf(s, "%.0f", v); /* whole, as every number of that size */
    else
        lpo_str_add(s, "null");
}

static void new_line(struct lpo_json_writer *w)
{
    if (w->indent == 0)
        return;
    lpo_str_addc(w->out, '\n');
    for (int left = w->depth * w->indent; left > 0; left -= 32)
        lpo_str_addn(w->out, "                                ", left < 32 ? (size_t)left : 32);
}

static void begin(struct lpo_json_writer *w, const char *key)
{
    if (w->depth > 0) {
        bool *filled = &w->filled[w->depth - 1];

        if (*filled)
            lpo_str_add(w->out, w->indent ? "," : ", ");
        *filled = true;
        new_line(w);
    }
    if (key) {
        lpo_json_add_json(w->out, key, strlen(key), w->html);
        lpo_str_add(w->out, ": ");
    }
}

static void open_level(struct lpo_json_writer *w, const char *key, char open, char close)
{
    begin(w, key);
    lpo_str_addc(w->out, open);
    if (w->depth >= LPO_JW_DEPTH)
        abort(); /* our own documents have a fixed depth: a programming error */
    w->filled[w->depth] = false;
    w->close[w->depth++] = close;
}

void lpo_jw_object(struct lpo_json_writer *w, const char *key)
{
    open_level(w, key, '{', '}');
}

void lpo_jw_array(struct lpo_json_writer *w, const char *key)
{
    open_level(w, key, '[', ']');
}

void lpo_jw_end(struct lpo_json_writer *w)
{
    bool filled = w->filled[--w->depth];

    if (filled)
        new_line(w);
    lpo_str_addc(w->out, w->close[w->depth]);
    if (w->depth == 0)
        lpo_str_addc(w->out, '\n');
}

static void add_value(struct lpo_json_writer *w, const struct lpo_jv *v)
{
    switch ((enum lpo_jv_kind)v->kind) {
    case LPO_IS_FLAG:
        lpo_str_add(w->out, v->integer ? "true" : "false");
        return;
    case LPO_IS_INT:
        lpo_str_add_int(w->out, v->integer);
        return;
    case LPO_IS_UINT:
        lpo_str_add_uint(w->out, v->count);
        return;
    case LPO_IS_REAL:
        lpo_json_add_real(w->out, v->real);
        return;
    case LPO_IS_WHOLE:
        lpo_json_add_whole(w->out, v->real);
        return;
    case LPO_IS_TEXT:
        lpo_json_add_json(w->out, v->text, v->len, w->html);
        return;
    case LPO_IS_RAW:
        lpo_str_add(w->out, v->text);
        return;
    default:
        lpo_str_add(w->out, "null");
    }
}

void lpo_jw_values(struct lpo_json_writer *w, const struct lpo_jv *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!values[i].absent) {
            begin(w, values[i].key);
            add_value(w, &values[i]);
        }
}

void lpo_jw_texts(struct lpo_json_writer *w, const char *key, const char *const *texts,
                  size_t count)
{
    lpo_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        lpo_jw_put(w, LPO_V(texts[i]));
    lpo_jw_end(w);
}

static struct lpo_jv value_of(enum lpo_jv_kind kind)
{
    return (struct lpo_jv){ .kind = (uint8_t)kind, .how = LPO_MEASURED };
}

struct lpo_jv lpo_jv_null(void)
{
    return (struct lpo_jv){ .kind = LPO_IS_NULL, .how = LPO_UNKNOWN };
}

struct lpo_jv lpo_jv_flag(bool yes)
{
    struct lpo_jv v = value_of(LPO_IS_FLAG);

    v.integer = yes;
    return v;
}

struct lpo_jv lpo_jv_int(int64_t integer)
{
    struct lpo_jv v = value_of(LPO_IS_INT);

    v.integer = integer;
    return v;
}

struct lpo_jv lpo_jv_int_if(bool known, int64_t v)
{
    return known ? lpo_jv_int(v) : lpo_jv_null();
}

struct lpo_jv lpo_jv_uint(uint64_t count)
{
    struct lpo_jv v = value_of(LPO_IS_UINT);

    v.count = count;
    return v;
}

static struct lpo_jv of_double(struct lpo_measure m, enum lpo_jv_kind kind)
{
    struct lpo_jv v = value_of(kind);

    if (!lpo_measure_known(m) || !isfinite(m.value))
        return lpo_jv_null();
    v.real = m.value;
    v.how = (uint8_t)m.how;
    return v;
}

struct lpo_jv lpo_jv_measure(struct lpo_measure m)
{
    return of_double(m, LPO_IS_REAL);
}

struct lpo_jv lpo_jv_real(double v)
{
    return lpo_jv_measure(lpo_measure_measured(v));
}

struct lpo_jv lpo_jv_whole(struct lpo_measure m)
{
    return of_double(m, LPO_IS_WHOLE);
}

struct lpo_jv lpo_jv_textn(const char *text, size_t len)
{
    struct lpo_jv v = value_of(LPO_IS_TEXT);

    v.text = text;
    v.len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
    return v;
}

struct lpo_jv lpo_jv_text(const char *text)
{
    return text ? lpo_jv_textn(text, strlen(text)) : lpo_jv_null();
}

struct lpo_jv lpo_jv_name(const char *text, size_t len)
{
    struct lpo_jv v = lpo_jv_textn(text, len);

    v.borrowed = true;
    return v;
}

struct lpo_jv lpo_jv_raw(const char *json)
{
    struct lpo_jv v = value_of(LPO_IS_RAW);

    v.text = json;
    return v;
}

struct lpo_jv lpo_jv_same(struct lpo_jv v)
{
    return v;
}

struct lpo_jv lpo_jv_member(const char *key, struct lpo_jv v)
{
    v.key = key;
    return v;
}

struct lpo_jv lpo_jv_if(bool there, struct lpo_jv v)
{
    v.absent = !there;
    return v;
}
