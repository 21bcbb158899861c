/* SPDX-License-Identifier: Apache-2.0 */
/* util/json_pull.h - JSON in one pass, without a tree: the caller asks for what comes next.
 *
 *     struct lpo_json_pull_text key;
 *     bool first = true;
 *     if (lpo_json_pull_open(q, '{') < 0) ...
 *     while ((rc = lpo_json_pull_member(q, &first, &key)) > 0)
 *         rc = is(key, "name") ? lpo_json_pull_string(q, &name) : lpo_json_pull_skip(q);
 *
 * This is the one tokenizer of the project: util/json builds its tree with it, big traces are read
 * through util/json_stream, which supplies the text piece by piece. It copies nothing; what it
 * returns points into the text.
 *
 * Every function returns 0 (or 1 where it says so), LPO_E_FORMAT with `why` set and `p` at the
 * place, or LPO_PULL_MORE when the text ends too early. */
#pragma once

#include "util/base.h"

struct lpo_json_stream;

enum { LPO_PULL_MORE = -100 };

enum lpo_pull_mode {
    LPO_PULL_STRICT,  /* RFC 8259 */
    LPO_PULL_LENIENT, /* also bare nan and inf, raw control characters, unknown escapes */
    LPO_PULL_REPAIR,  /* also quotes inside strings: only a quote before , : ] } closes one */
};

struct lpo_pull {
    const char *p, *end; /* what is left of the text */
    enum lpo_pull_mode mode;
    const char *why; /* after LPO_E_FORMAT, for people */
};

/* The inside of a string, escapes as written; or the digits of a number. */
struct lpo_json_pull_text {
    const char *at;
    size_t len;
    bool escaped; /* has escapes: see lpo_json_pull_unescape */
};

int lpo_json_pull_peek_far(struct lpo_pull *q); /* the rest of lpo_json_pull_peek */

/* Skips space. The next byte, not taken, or LPO_PULL_MORE. */
static inline int lpo_json_pull_peek(struct lpo_pull *q)
{
    /* no space or one is the common case between tokens */
    if (q->end - q->p >= 2) {
        q->p += *q->p == ' ';
        if ((unsigned char)*q->p > ' ')
            return (unsigned char)*q->p;
    }
    return lpo_json_pull_peek_far(q);
}
/* Takes the '{' or '[' that must come next. */
int lpo_json_pull_open(struct lpo_pull *q, char which);
/* 1: `key` is taken, its value comes next. 0: the object was closed. *first is true before the
 * first call. */
int lpo_json_pull_member(struct lpo_pull *q, bool *first, struct lpo_json_pull_text *key);
/* What stood at the same place in the object before: comma, space, key and colon, as written. */
struct lpo_pull_likely {
    char text[32];
    uint8_t len; /* 0: none */
};

/* Takes the next member if it is written like that one: this is known by comparing, faster than
 * finding where a key begins and ends and which one it is. What was the first member of its object
 * may only be asked for as the first. False: nothing was taken, ask for the member. */
bool lpo_json_pull_likely(struct lpo_pull *q, const struct lpo_pull_likely *member);
/* After lpo_json_pull_member(), which began at `from`: keeps what it took for the next object. Not
 * what is too long, nor text that had to be repaired. */
void lpo_json_pull_learn(const struct lpo_pull *q, const char *from, struct lpo_pull_likely *out);
/* 1: a value comes next. 0: the array was closed. */
int lpo_json_pull_item(struct lpo_pull *q, bool *first);

int lpo_json_pull_string(struct lpo_pull *q, struct lpo_json_pull_text *out);
/* *whole: neither fraction nor exponent. */
int lpo_json_pull_number(struct lpo_pull *q, struct lpo_json_pull_text *out, bool *whole);
/* null, true, false; with LPO_PULL_LENIENT also nan and inf in their usual spellings. */
int lpo_json_pull_word(struct lpo_pull *q, struct lpo_json_pull_text *out);

/* Any value, by its brackets and quotes alone: what is inside is not checked. */
int lpo_json_pull_skip(struct lpo_pull *q);
/* To behind the bracket that closes the container we are in. */
int lpo_json_pull_leave(struct lpo_pull *q);

/* An object or list of any size, passed over piece by piece; starts as { 0 } before its bracket. */
struct lpo_pull_passing {
    uint64_t inside; /* all ones within a string */
    unsigned depth;
    bool carry; /* the piece before ended in a backslash */
};

/* LPO_PULL_MORE: what was looked at is taken; go on with the text from q->p and more. `last`: no
 * more comes. */
int lpo_json_pull_pass(struct lpo_pull *q, bool last, struct lpo_pull_passing *at);

/* Appends the text with its escapes resolved; lone surrogates become U+FFFD. Returns 0, or
 * LPO_E_FORMAT with *bad (may be NULL) at the wrong escape; lenient modes keep that as it
 * stands. */
int lpo_json_pull_unescape(const struct lpo_json_pull_text *text, enum lpo_pull_mode mode,
                           struct lpo_str *out, const char **bad);

/* Whether the text is exactly `word`, a literal. */
#define lpo_json_pull_is(text, word)                                                               \
    ((text)->len == sizeof(word) - 1 && memcmp((text)->at, word, sizeof(word) - 1) == 0)

/* JSON of any size from a file, one value in memory at a time.
 *
 * The caller hands over a function that reads one value (or one key, or one bracket) with
 * util/json_pull. When the text at hand ends inside it, more is fetched and the function runs
 * again from the start of the value: it must not have side effects before its last pull. */

typedef int (*lpo_json_fn)(struct lpo_pull *q, void *ctx);

/* `limit`: the largest single value, in bytes. */
int lpo_json_stream_open(const char *path, enum lpo_pull_mode mode, size_t limit,
                         struct lpo_json_stream **out, struct lpo_err *err);
void lpo_json_stream_destroy(struct lpo_json_stream *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_json_stream);

/* What `fn` returned. LPO_PULL_MORE: the whole text ends inside the value. LPO_E_LIMIT: the value
 * is too large. LPO_E_IO: reading failed. After a failure the place is where the value began. */
int lpo_json_stream_read(struct lpo_json_stream *s, lpo_json_fn fn, void *ctx, struct lpo_err *err);
/* The same in another mode, for one value. */
int lpo_json_stream_read_as(struct lpo_json_stream *s, enum lpo_pull_mode mode, lpo_json_fn fn,
                            void *ctx, struct lpo_err *err);

/* Takes a bracket that opens, and returns it; any other character is returned and stays. */
int lpo_json_stream_bracket(struct lpo_json_stream *s, struct lpo_err *err);
/* The next key of the object: 1, and whether it is `wanted`; 0 at its end. *first: none was read.
 */
int lpo_json_stream_key(struct lpo_json_stream *s, bool *first, const char *wanted, bool *is_wanted,
                        struct lpo_err *err);

/* Passes over one value of any size, in constant memory. */
int lpo_json_stream_skip(struct lpo_json_stream *s, struct lpo_err *err);

/* After a broken value, at it or at the comma before it: goes on to the next place that looks like
 * the start of an object in a list. Returns 1 there (as before lpo_json_pull_item() took the comma:
 * the comma is behind us), 0 when the text ends first. */
int lpo_json_stream_resync(struct lpo_json_stream *s, struct lpo_err *err);

uint64_t lpo_json_stream_offset(const struct lpo_json_stream *s); /* of the place, in bytes */
/* What is wrong with the compressed data, or NULL. */
const char *lpo_json_stream_damage(const struct lpo_json_stream *s);
