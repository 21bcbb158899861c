/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of any bytes: the tree, and the pull reader in each of its modes. What the tree accepts, the
 * pull reader must skip to the same place. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_pull.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static int walk(struct lpo_pull *q, int depth)
{
    struct lpo_json_pull_text text;
    bool first = true, whole;
    int c = lpo_json_pull_peek(q), rc;
    LPO_STR out = { 0 };

    if (c < 0 || depth > 100)
        return LPO_PULL_MORE;
    if (c == '{' || c == '[') {
        q->p++;
        while ((rc = c == '{' ? lpo_json_pull_member(q, &first, &text)
                              : lpo_json_pull_item(q, &first)) > 0)
            if ((rc = walk(q, depth + 1)) < 0)
                return rc;
        return rc;
    }
    if (c == '"') {
        rc = lpo_json_pull_string(q, &text);
        if (rc == 0)
            lpo_json_pull_unescape(&text, q->mode, &out, NULL);
        return rc;
    }
    return c == '-' || (c >= '0' && c <= '9') ? lpo_json_pull_number(q, &text, &whole)
                                              : lpo_json_pull_word(q, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *v = NULL;
    struct lpo_err err = { 0 };
    char *text = malloc(size ? size : 1); /* no byte behind it */
    int rc;

    if (size)
        memcpy(text, data, size);
    rc = lpo_json_parse(a, text, size, &v, &err);
    insist((rc == 0) == (v != NULL) && (rc == 0 || lpo_err_cause(&err)[0]));
    for (int mode = LPO_PULL_STRICT; mode <= LPO_PULL_REPAIR; mode++) {
        struct lpo_pull q = { text, text + size, mode, NULL }, s = q;
        int walked = walk(&q, 0), skipped = lpo_json_pull_skip(&s);

        insist(walked != LPO_E_FORMAT || q.why != NULL);
        insist(q.p >= text && q.p <= text + size && s.p >= text && s.p <= text + size);
        if (rc == 0 && mode == LPO_PULL_STRICT)
            insist(walked == 0 && skipped == 0 && q.p == s.p);
    }
    free(text);
    return 0;
}
