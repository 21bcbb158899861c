/* SPDX-License-Identifier: Apache-2.0 */
/* util/arena.h - memory that lives as long as its command, never freed singly.
 *
 * Out of memory ends the program with one line on stderr (exit 1): nothing above could do better,
 * and every file in a run folder is replaced atomically, so nothing half-written is left. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "util/auto.h"
#include "util/xmalloc.h"

struct lpo_arena;

struct lpo_arena *lpo_arena_create(void);
void lpo_arena_destroy(struct lpo_arena *a); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_arena);

/* Zeroed, aligned for any type. Size 0 gives a valid pointer. */
void *lpo_arena_alloc(struct lpo_arena *a, size_t size);
void *lpo_arena_array(struct lpo_arena *a, size_t count, size_t size); /* overflow-checked */
char *lpo_arena_strndup(struct lpo_arena *a, const char *s, size_t len);
/* As strndup, for text that may hold NUL bytes: each is written \u{0}, so that two names that
 * differ only behind one stay apart where a C string is kept. */
char *lpo_arena_name(struct lpo_arena *a, const char *s, size_t len);
char *lpo_arena_strdup(struct lpo_arena *a, const char *s);
char *lpo_arena_printf(struct lpo_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define LPO_NEW(arena, type) ((type *)lpo_arena_alloc((arena), sizeof(type)))
