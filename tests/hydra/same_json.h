/* SPDX-License-Identifier: Apache-2.0 */
/* tests/hydra/same_json.h - are two JSON documents the same data? An int is not a float. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "util/json.h"

static inline bool same_json(const struct lpo_json *x, const struct lpo_json *y)
{
    if (!x || !y || x->kind != y->kind)
        return x == y;
    switch (x->kind) {
    case LPO_JSON_NULL:
        return true;
    case LPO_JSON_BOOL:
        return x->boolean == y->boolean;
    case LPO_JSON_INT:
        return x->integer == y->integer;
    case LPO_JSON_REAL: /* digits too: integers beyond 64 bits arrive as reals */
        return x->real == y->real && !strpbrk(x->text, ".eE") == !strpbrk(y->text, ".eE");
    case LPO_JSON_STRING:
        return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
    case LPO_JSON_ARRAY:
    case LPO_JSON_OBJECT:
        break;
    }
    if (x->count != y->count)
        return false;
    const struct lpo_json *other = y->first;
    LPO_JSON_EACH(item, x)
    {
        const struct lpo_json *match =
            x->kind == LPO_JSON_OBJECT ? lpo_json_get(y, item->key) : other;
        if (!same_json(item, match))
            return false;
        other = other->next;
    }
    return true;
}
