/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json_write.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/visible.h"

struct lpo_json_writer lpo_json_writer(struct lpo_str *out, int indent)
{
    return (struct lpo_json_writer){ .out = out, .indent = indent };
}

/* How many bytes from here need no escape: nearly always all of them. */
static size_t plain_run(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\' &&
           text[i] != '<')
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

void lpo_jw_raw(struct lpo_json_writer *w, const char *key, const char *json)
{
    begin(w, key);
    lpo_str_add(w->out, json);
}

void lpo_jw_null(struct lpo_json_writer *w, const char *key)
{
    lpo_jw_raw(w, key, "null");
}

void lpo_jw_bool(struct lpo_json_writer *w, const char *key, bool v)
{
    lpo_jw_raw(w, key, v ? "true" : "false");
}

void lpo_jw_int(struct lpo_json_writer *w, const char *key, int64_t v)
{
    begin(w, key);
    lpo_str_add_int(w->out, v);
}

void lpo_jw_uint(struct lpo_json_writer *w, const char *key, uint64_t v)
{
    begin(w, key);
    lpo_str_add_uint(w->out, v);
}

void lpo_jw_real(struct lpo_json_writer *w, const char *key, double v)
{
    begin(w, key);
    lpo_json_add_real(w->out, v);
}

void lpo_jw_measure(struct lpo_json_writer *w, const char *key, struct lpo_measure v)
{
    lpo_jw_real(w, key, lpo_measure_known(v) ? v.value : NAN);
}

void lpo_jw_whole(struct lpo_json_writer *w, const char *key, struct lpo_measure v)
{
    begin(w, key);
    lpo_json_add_whole(w->out, lpo_measure_known(v) ? v.value : NAN);
}

void lpo_jw_textn(struct lpo_json_writer *w, const char *key, const char *v, size_t len)
{
    begin(w, key);
    lpo_json_add_json(w->out, v, len, w->html);
}

void lpo_jw_text(struct lpo_json_writer *w, const char *key, const char *v)
{
    if (v)
        lpo_jw_textn(w, key, v, strlen(v));
    else
        lpo_jw_null(w, key);
}
