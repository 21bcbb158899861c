#include "hydra/yaml/bigint.h"

#include <stdint.h>
#include <stdlib.h>

#include "util/arena.h"
#include "util/str.h"

enum { LIMB = 1000000000 };

void lpo_yaml_bigint_free(struct lpo_bigint *n)
{
    free(n->limbs);
    *n = (struct lpo_bigint){ 0 };
}

static void grow(struct lpo_bigint *n, unsigned limb)
{
    if (n->count == n->cap) {
        n->cap = n->cap ? n->cap * 2 : 8;
        n->limbs = lpo_xrealloc(n->limbs, n->cap, sizeof *n->limbs);
    }
    n->limbs[n->count++] = limb;
}

void lpo_yaml_bigint_push(struct lpo_bigint *n, unsigned base, unsigned digit)
{
    uint64_t carry = digit;

    for (size_t i = 0; i < n->count; i++) {
        carry += (uint64_t)n->limbs[i] * base;
        n->limbs[i] = (unsigned)(carry % LIMB);
        carry /= LIMB;
    }
    if (carry)
        grow(n, (unsigned)carry);
}

void lpo_yaml_bigint_add_text(const struct lpo_bigint *n, struct lpo_str *s)
{
    if (n->count == 0) {
        lpo_str_addc(s, '0');
        return;
    }
    lpo_str_addf(s, "%u", n->limbs[n->count - 1]);
    for (size_t i = n->count - 1; i-- > 0;)
        lpo_str_addf(s, "%09u", n->limbs[i]);
}
