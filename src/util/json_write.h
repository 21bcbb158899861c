/* SPDX-License-Identifier: Apache-2.0 */
/* util/json_write.h - JSON out, streaming, field order as written.
 *
 *     struct lpo_json_writer w = lpo_json_writer(&buffer, 2);
 *     lpo_jw_object(&w, NULL);
 *     lpo_jw_int(&w, "launches", 12);
 *     lpo_jw_array(&w, "names");  lpo_jw_text(&w, NULL, "a");  lpo_jw_end(&w);
 *     lpo_jw_end(&w);
 *
 * The key is NULL inside arrays and at the top. Doubles print as the shortest text that reads back
 * the same; NaN and infinities print as null. Invalid UTF-8 becomes U+FFFD. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/measure.h"
#include "util/str.h"

#define LPO_JW_DEPTH 1024 /* three levels for each of a config's 256 */

struct lpo_json_writer {
    struct lpo_str *out;
    int indent; /* spaces per level; 0 writes one line */
    int depth;
    bool html; /* escape '<', so the text can be put inside <script> */
    bool filled[LPO_JW_DEPTH];
    char close[LPO_JW_DEPTH];
};

struct lpo_json_writer lpo_json_writer(struct lpo_str *out, int indent);

void lpo_jw_object(struct lpo_json_writer *w, const char *key);
void lpo_jw_array(struct lpo_json_writer *w, const char *key);
void lpo_jw_end(struct lpo_json_writer *w); /* closes the innermost; a newline after the last */

void lpo_jw_null(struct lpo_json_writer *w, const char *key);
void lpo_jw_bool(struct lpo_json_writer *w, const char *key, bool v);
void lpo_jw_int(struct lpo_json_writer *w, const char *key, int64_t v);
void lpo_jw_uint(struct lpo_json_writer *w, const char *key, uint64_t v);
void lpo_jw_real(struct lpo_json_writer *w, const char *key, double v);
void lpo_jw_measure(struct lpo_json_writer *w, const char *key, struct lpo_measure v);
/* The nearest integer: for nanoseconds, bytes and counts that arithmetic left as a double. */
void lpo_jw_whole(struct lpo_json_writer *w, const char *key, struct lpo_measure v);
void lpo_jw_text(struct lpo_json_writer *w, const char *key, const char *v); /* NULL: null */
void lpo_jw_textn(struct lpo_json_writer *w, const char *key, const char *v, size_t len);
void lpo_jw_raw(struct lpo_json_writer *w, const char *key, const char *json); /* trusted text */

/* "…" with escapes, for other writers. */
void lpo_json_add_json(struct lpo_str *s, const char *text, size_t len, bool html);
/* The shortest digits that read back as v; "null" when not finite. */
void lpo_json_add_real(struct lpo_str *s, double v);
/* The nearest integer, without a point; "null" when not finite. */
void lpo_json_add_whole(struct lpo_str *s, double v);
