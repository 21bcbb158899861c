/* SPDX-License-Identifier: Apache-2.0 */
/* collect/defs.h - names, domains and threads, each written once before its first use.
 *
 * Definitions gather in one growing log; whoever writes a block writes the new part of the log
 * first. The log is kept: strings are compared against it, and a forked child writes all of it
 * again into its own file. All functions need the
 * collector's lock, except lpoc_defs_find() and the lookups of handles. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LPOC_NAME_MAX = 4096,     /* longer names are cut */
    LPOC_NAMES_MAX = 1 << 20, /* then names are written in place */
    LPOC_DOMAINS_MAX = 4096,
};
#define LPOC_NAME_FULL UINT32_MAX /* the table is full: write the name in place */

struct lpoc_string {
    uint32_t at; /* where its bytes start in the log */
    uint32_t len;
};

/* What is in no block yet, where it outlives the process (tail.h). */
struct lpoc_pending {
    uint64_t *state; /* lpot_tail_head.defs; NULL: there is none */
    uint8_t *at;
    uint32_t room;
    const uint32_t *mark; /* lpoc_file.mark: a copy of the process keeps its hands off */
};

struct lpoc_defs {
    uint8_t *log;
    size_t used, cap;
    size_t written;    /* already in the file */
    size_t inherited;  /* of a forked child: lists of graphs before this are not its own */
    uint32_t sequence; /* of the next DEFS block */
    struct lpoc_string *strings; /* [0] is "no name" */
    uint32_t count, strings_cap;
    uint32_t *table; /* open addressing; 0 is empty */
    uint32_t table_cap;
    uint32_t *domains; /* string ids; [0] is the default domain */
    uint32_t ndomains;
    struct lpoc_pending pending;
    bool full; /* atomic: a name did not fit once, so no new one is tried */
};

int lpoc_defs_start(struct lpoc_defs *d); /* -1: no memory */

/* The id of this text, new or old, or LPOC_NAME_FULL. The last eighth of the table is kept for
 * names that cannot be written in place (`vital`): kernels, threads, domains. */
uint32_t lpoc_defs_string(struct lpoc_defs *d, const char *text, size_t len, uint64_t hash,
                          bool vital);
/* Without the lock: the id of a text that is there; LPOC_NAME_FULL for one that is not and will
 * not be; 0: ask lpoc_defs_string(). */
uint32_t lpoc_defs_find(const struct lpoc_defs *d, const char *text, size_t len, uint64_t hash);
uint64_t lpoc_defs_hash(const char *text, size_t len);
const char *lpoc_defs_text(const struct lpoc_defs *d, uint32_t id);

/* The same name gives the same domain; 0, the default one, when there are too many. */
uint32_t lpoc_defs_domain(struct lpoc_defs *d, uint32_t string);
/* Any other definition: `count` numbers after the tag, or any bytes. False when the log is full. */
bool lpoc_defs_add(struct lpoc_defs *d, unsigned tag, const uint64_t *numbers, unsigned count);
bool lpoc_defs_put(struct lpoc_defs *d, unsigned tag, const void *body, size_t len);

/* Handles given to the program are addresses in our own tables, so that a wrong one is noticed. */
void *lpoc_defs_string_handle(const struct lpoc_defs *d, uint32_t id);
uint32_t lpoc_defs_string_of(const struct lpoc_defs *d, const void *handle); /* 0: not ours */
void *lpoc_defs_domain_handle(const struct lpoc_defs *d, uint32_t id);
uint32_t lpoc_defs_domain_of(const struct lpoc_defs *d, const void *handle); /* 0: default */

/* So much is in no block that one should be written soon. */
bool lpoc_defs_are_many(const struct lpoc_defs *d);
/* All is in blocks, up to and without the one of this number. */
void lpoc_defs_filed(struct lpoc_defs *d);

/* The next piece of the log that is not in the file yet, ending between two definitions and at
 * most `most` bytes long; 0 when all is written. */
size_t lpoc_defs_pending(struct lpoc_defs *d, size_t most, const uint8_t **at);
