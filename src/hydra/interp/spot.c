/* Places in a config tree, and the text of paths to them. */
#include <string.h>

#include "hydra/interp/interp.h"
#include "hydra/node.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/str.h"

const struct lpo_spot *lpo_interp_spot_child(struct lpo_arena *a, const struct lpo_spot *at,
                                             const struct lpo_node *key, size_t index,
                                             struct lpo_node *node)
{
    struct lpo_spot *s = LPO_NEW(a, struct lpo_spot);

    *s = (struct lpo_spot){ .node = node, .up = at, .key = key, .index = index };
    return s;
}

void lpo_interp_spot_add_key(struct lpo_str *s, const struct lpo_spot *at)
{
    if (!at || !at->up)
        return;
    lpo_interp_spot_add_key(s, at->up);
    if (!at->key) {
        lpo_str_addf(s, "[%zu]", at->index);
        return;
    }
    if (s->len)
        lpo_str_addc(s, '.');
    lpo_yaml_py_add_str(s, at->key);
}

static size_t push(struct lpo_arena *a, const char **keys, size_t n, const char *from, size_t len)
{
    keys[n] = lpo_arena_strndup(a, from, len);
    return n + 1;
}

/* As OmegaConf: a head up to the first '[' is split at dots, then ".key" and "[key]" in turn; what
 * is neither is passed over. */
size_t lpo_interp_key_split(struct lpo_arena *a, const char *path, const char ***out)
{
    const char **keys = lpo_arena_array(a, strlen(path) + 2, sizeof(*keys));
    size_t n = 0, head = strspn(path, ".");
    const char *p = path;

    head += strcspn(path + head, ".[");
    for (size_t i = 0, from = 0; i <= head; i++)
        if (i == head || path[i] == '.') {
            n = push(a, keys, n, path + from, i - from);
            from = i + 1;
        }
    p += head;
    if (*p == '[' && n && keys[n - 1][0] == '\0')
        n--;
    while (*p) {
        const char *close = *p == '[' ? strchr(p, ']') : NULL;
        size_t len = strcspn(p + 1, ".[");

        if (close) {
            n = push(a, keys, n, p + 1, (size_t)(close - p - 1));
            p = close + 1;
        } else if (*p == '.') {
            n = push(a, keys, n, p + 1, len);
            p += 1 + len;
        } else {
            p++;
        }
    }
    *out = keys;
    return n;
}
