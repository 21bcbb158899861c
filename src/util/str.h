/* SPDX-License-Identifier: Apache-2.0 */
/* util/str.h - a growable text buffer, and small questions about text.
 *
 * A buffer starts as { 0 }, is always NUL-terminated once written to, may hold NUL bytes inside
 * (len counts), and is released with lpo_str_free(). */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lpo_str {
    char *at;
    size_t len, cap;
    FILE *spill; /* NULL, or where the text goes when it has become long: for those who only add */
};

void lpo_str_free(struct lpo_str *s);
void lpo_str_add(struct lpo_str *s, const char *text);
void lpo_str_addn(struct lpo_str *s, const char *bytes, size_t len);
void lpo_str_addc(struct lpo_str *s, char c);
/* In decimal; printf takes several times as long, and reports are numbers. */
void lpo_str_add_uint(struct lpo_str *s, uint64_t v);
void lpo_str_add_int(struct lpo_str *s, int64_t v);
void lpo_str_addf(struct lpo_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lpo_str_addv(struct lpo_str *s, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Where the next `more` bytes go, for who fills them in itself and then adds to len. */
char *lpo_str_room(struct lpo_str *s, size_t more);
void lpo_str_clear(struct lpo_str *s);             /* keeps the memory */
const char *lpo_str_text(const struct lpo_str *s); /* never NULL */

#define LPO_STR __attribute__((cleanup(lpo_str_free))) struct lpo_str

bool lpo_str_starts(const char *text, const char *prefix);
bool lpo_str_ends(const char *text, const char *suffix);
bool lpo_streq(const char *a, const char *b); /* NULL equals only NULL */

/* The length of the valid UTF-8 sequence at p (1..4), or 0 when it is not one. */
size_t lpo_str_utf8_len(const char *p, size_t room);
/* The character of a sequence of that length. */
uint32_t lpo_str_code_point(const char *p, size_t n);
bool lpo_str_utf8_valid(const char *bytes, size_t len, size_t *bad_at /* may be NULL */);
/* Appends code point `cp` as UTF-8 (surrogates and beyond U+10FFFF become U+FFFD). */
void lpo_str_add_utf8(struct lpo_str *s, uint32_t cp);
/* Base64 (RFC 4648). `line` > 0: a line ends after so many bytes of input, a multiple of 3, and
 * after the last. */
void lpo_str_add_base64(struct lpo_str *s, const void *bytes, size_t len, size_t line);

/* 64-bit FNV-1a style hash, for tables (not for adversaries: tables bound their chains). */
uint64_t lpo_str_hash(const void *bytes, size_t len);

/* Appends `text` with a star for every run of digits: "layer*" is what layer0 and layer31 share. */
void lpo_str_add_starred(struct lpo_str *s, const char *text, size_t len);

/* Appends a text whose first `kept` bytes stand for all of it where it is longer: with its length
 * and a hash, so that long texts stay apart. */
void lpo_str_add_bounded(struct lpo_str *s, const char *text, size_t len, size_t kept);

/* Appends `word` quoted for a POSIX shell; plain words stay bare. */
void lpo_str_add_shell(struct lpo_str *s, const char *word);

/* The candidate nearest to `word` by edits, else the only one that begins with it; NULL when none
 * is near enough to suggest. */
const char *lpo_str_nearest(const char *word, const char *const *candidates, size_t count);
