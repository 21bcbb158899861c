/* hydra/yaml/yaml_scalar.h - one scalar as YAML text: which quotes it needs, where its lines break.
 *
 * The choices are PyYAML's: bare where that is safe, else single quotes, double quotes only where
 * a character needs an escape; long text is folded at blanks near column 80. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_node;
struct lpo_str;

/* The pen: what was written and where it stands. */
struct lpo_yaml_pen {
    struct lpo_str *out;
    int column, indent;
    bool whitespace; /* the last thing written separates */
    bool indention;  /* only indentation stands on this line so far */
};

/* A scalar ready to be written. */
struct lpo_yaml_scalar {
    uint32_t *chars; /* the text, in code points; released with lpo_yaml_scalar_free() */
    size_t count;
    const char *tag;    /* "!!str": its length counts for what is a short key */
    bool plain, single; /* allowed styles; double always is */
    bool multiline, empty;
    bool literal; /* binary: a block scalar with its tag */
};

void lpo_yaml_scalar_init(struct lpo_yaml_scalar *s, const struct lpo_node *n);
void lpo_yaml_scalar_free(struct lpo_yaml_scalar *s);
bool lpo_yaml_scalar_is_short_key(const struct lpo_yaml_scalar *s);
void lpo_yaml_scalar_write(struct lpo_yaml_pen *p, const struct lpo_yaml_scalar *s, bool as_key);

void lpo_yaml_pen_indicator(struct lpo_yaml_pen *p, const char *text, bool needs_blank,
                            bool keep_indention);
void lpo_yaml_pen_indent(struct lpo_yaml_pen *p);
