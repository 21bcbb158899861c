/* run/conf.h - config values as the words of a command line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_node;
struct lpo_step;

/* A list or one text as words, empty ones left out; with `commas` each may hold several, and blanks
 * around them do not count. Their number; the arena owns them. */
size_t lpo_run_conf_list(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                         bool commas, const char ***out);
/* The same as one comma-joined word; NULL when absent, null or empty. */
const char *lpo_run_conf_joined(struct lpo_arena *a, const struct lpo_node *knobs, const char *key);
/* Every item of a list, or the one text, as a word of its own. */
void lpo_run_conf_add_words(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                            struct lpo_step *step);
/* A scalar as text; NULL for null, lists and maps. */
const char *lpo_run_conf_word(struct lpo_arena *a, const struct lpo_node *node);
