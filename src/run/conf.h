/* run/conf.h - config values as the words of a command line. */
#pragma once

struct lpo_arena;
struct lpo_node;
struct lpo_step;

/* A list or a text as one comma-joined word; NULL when absent, null or empty. */
const char *lpo_conf_joined(struct lpo_arena *a, const struct lpo_node *knobs, const char *key);
/* Every item of a list as a word of its own. */
void lpo_conf_add_words(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                        struct lpo_step *step);
/* A scalar as text; NULL for null, lists and maps. */
const char *lpo_conf_word(struct lpo_arena *a, const struct lpo_node *node);
