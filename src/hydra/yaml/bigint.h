/* hydra/yaml/bigint.h - whole numbers of any size, from any base to decimal text.
 *
 * YAML and Hydra keep integers exact however long they are; we only ever print them again. */
#pragma once

#include <stddef.h>

struct lpo_str;

/* A number under construction; starts as { 0 }, released with lpo_yaml_bigint_free(). */
struct lpo_bigint {
    unsigned *limbs; /* base 10^9, least significant first */
    size_t count, cap;
};

void lpo_yaml_bigint_free(struct lpo_bigint *n);
/* n = n * base + digit */
void lpo_yaml_bigint_push(struct lpo_bigint *n, unsigned base, unsigned digit);
void lpo_yaml_bigint_add_text(const struct lpo_bigint *n, struct lpo_str *s);
