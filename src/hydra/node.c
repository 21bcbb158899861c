/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/node.h"

#include <errno.h>

#include "util/json_write.h"
#include "util/table.h"

/* --- finding a key in a map of thousands --------------------------------------------------------
 */

enum { INDEX_FROM = 32 };

struct slot {
    uint32_t hash; /* compared first, so that other keys are seldom looked at */
    uint32_t used; /* pair number + 1 */
};

struct lpo_node_index {
    struct slot *slots;
    size_t mask;
    size_t indexed; /* pairs that are in the table */
};

static bool is_number(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL || n->kind == LPO_NODE_INT || n->kind == LPO_NODE_FLOAT;
}

static int64_t whole(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL ? n->boolean : n->integer;
}

static bool same_key(const struct lpo_node *x, const struct lpo_node *y)
{
    if (is_number(x) && is_number(y)) {
        if (x->kind != LPO_NODE_FLOAT && y->kind != LPO_NODE_FLOAT)
            return whole(x) == whole(y);
        return (x->kind == LPO_NODE_FLOAT ? x->real : (double)whole(x)) ==
               (y->kind == LPO_NODE_FLOAT ? y->real : (double)whole(y));
    }
    if (x->kind != y->kind || lpo_node_is_container(x))
        return false;
    return x->kind == LPO_NODE_NULL || (x->len == y->len && memcmp(x->text, y->text, x->len) == 0);
}

static uint64_t hash_key(const struct lpo_node *n)
{
    double d;

    if (n->kind == LPO_NODE_NULL || lpo_node_is_container(n))
        return 7;
    if (!is_number(n))
        return lpo_str_hash(n->text, n->len);
    d = n->kind == LPO_NODE_FLOAT ? n->real : (double)whole(n);
    if (d == 0)
        d = 0; /* -0.0 and 0 are one key */
    return lpo_str_hash(&d, sizeof d);
}

struct key {
    const struct lpo_node *map, *node;
    uint32_t hash;
};

static inline bool is_used(const struct slot *s)
{
    return s->used;
}

static inline size_t place(const struct key *key)
{
    return key->hash;
}

static inline size_t place_of(const struct slot *s)
{
    return s->hash;
}

static inline bool is_same(const struct slot *s, const struct key *key)
{
    return s->hash == key->hash && same_key(key->map->pairs[s->used - 1].key, key->node);
}

LPO_TABLE_DEFINE(pair, struct slot, const struct key *, is_used, place, is_same, place_of)

static struct key key_of(const struct lpo_node *map, const struct lpo_node *node)
{
    return (struct key){ map, node, (uint32_t)hash_key(node) };
}

/* Old slots stay in the arena until it goes: together they are smaller than the last. */
static void grow(struct lpo_arena *a, struct lpo_node_index *ix)
{
    size_t count = ix->slots ? ix->mask + 1 : 0;
    size_t mask = count ? count * 2 - 1 : 2 * INDEX_FROM - 1;
    struct slot *slots = lpo_arena_array(a, mask + 1, sizeof *slots);

    pair_move(ix->slots, count, slots, mask);
    ix->slots = slots;
    ix->mask = mask;
}

static void index_added(struct lpo_arena *a, struct lpo_node *map)
{
    if (map->npairs < INDEX_FROM || map->npairs >= UINT32_MAX)
        return;
    if (!map->index)
        map->index = LPO_NEW(a, struct lpo_node_index);
    for (struct lpo_node_index *ix = map->index; ix->indexed < map->npairs; ix->indexed++) {
        struct key key = key_of(map, map->pairs[ix->indexed].key);
        struct slot *s;

        if (!ix->slots || !lpo_table_has_room(ix->indexed, ix->mask))
            grow(a, ix);
        s = pair_probe(ix->slots, ix->mask, &key);
        if (!s->used) /* the first of equal keys is the one that is found */
            *s = (struct slot){ key.hash, (uint32_t)ix->indexed + 1 };
    }
}

static ptrdiff_t index_find(const struct lpo_node *map, const struct lpo_node *node)
{
    struct key key = key_of(map, node);
    const struct slot *s = pair_probe(map->index->slots, map->index->mask, &key);

    return (ptrdiff_t)s->used - 1; /* 0 is free: -1 */
}

static struct lpo_node *fresh(struct lpo_arena *a, enum lpo_node_kind kind)
{
    struct lpo_node *n = LPO_NEW(a, struct lpo_node);

    n->kind = kind;
    return n;
}

struct lpo_node *lpo_node_null(struct lpo_arena *a)
{
    return fresh(a, LPO_NODE_NULL);
}

struct lpo_node *lpo_node_bool(struct lpo_arena *a, bool b)
{
    struct lpo_node *n = fresh(a, LPO_NODE_BOOL);

    n->boolean = b;
    return n;
}

struct lpo_node *lpo_node_int(struct lpo_arena *a, int64_t i)
{
    struct lpo_node *n = fresh(a, LPO_NODE_INT);

    n->integer = i;
    return n;
}

struct lpo_node *lpo_node_bigint(struct lpo_arena *a, const char *digits, size_t len)
{
    char *text = lpo_arena_strndup(a, digits, len);
    struct lpo_node *n;
    long long small;

    errno = 0;
    small = strtoll(text, NULL, 10);
    if (errno == 0)
        return lpo_node_int(a, small);
    n = fresh(a, LPO_NODE_BIGINT);
    n->text = text;
    n->len = len;
    return n;
}

struct lpo_node *lpo_node_float(struct lpo_arena *a, double d)
{
    struct lpo_node *n = fresh(a, LPO_NODE_FLOAT);

    n->real = d;
    return n;
}

static struct lpo_node *bytes_of(struct lpo_arena *a, enum lpo_node_kind kind, const char *text,
                                 size_t len)
{
    struct lpo_node *n = fresh(a, kind);

    n->text = lpo_arena_strndup(a, text, len);
    n->len = len;
    return n;
}

struct lpo_node *lpo_node_string(struct lpo_arena *a, const char *text)
{
    return bytes_of(a, LPO_NODE_STRING, text, strlen(text));
}

struct lpo_node *lpo_node_stringn(struct lpo_arena *a, const char *text, size_t len)
{
    return bytes_of(a, LPO_NODE_STRING, text, len);
}

struct lpo_node *lpo_node_bytes(struct lpo_arena *a, const void *bytes, size_t len)
{
    return bytes_of(a, LPO_NODE_BYTES, bytes, len);
}

struct lpo_node *lpo_node_list(struct lpo_arena *a)
{
    return fresh(a, LPO_NODE_LIST);
}

struct lpo_node *lpo_node_map(struct lpo_arena *a)
{
    return fresh(a, LPO_NODE_MAP);
}

void lpo_node_push(struct lpo_arena *a, struct lpo_node *list, struct lpo_node *item)
{
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 4;
        struct lpo_node **items = lpo_arena_array(a, cap, sizeof *items);

        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = item;
}

ptrdiff_t lpo_node_find(const struct lpo_node *map, const struct lpo_node *key)
{
    if (!map || map->kind != LPO_NODE_MAP)
        return -1;
    if (map->index)
        return index_find(map, key);
    for (size_t i = 0; i < map->npairs; i++) {
        const struct lpo_node *k = map->pairs[i].key;

        /* nearly every key is text, and nearly every other one has another length */
        if (k->kind == LPO_NODE_STRING && key->kind == LPO_NODE_STRING && k->len != key->len)
            continue;
        if (same_key(k, key))
            return (ptrdiff_t)i;
    }
    return -1;
}

static void append_pair(struct lpo_arena *a, struct lpo_node *map, struct lpo_node *key,
                        struct lpo_node *value)
{
    if (map->npairs == map->pairs_cap) {
        size_t cap = map->pairs_cap ? map->pairs_cap * 2 : 4;
        struct lpo_pair *pairs = lpo_arena_array(a, cap, sizeof *pairs);

        if (map->npairs)
            memcpy(pairs, map->pairs, map->npairs * sizeof *pairs);
        map->pairs = pairs;
        map->pairs_cap = cap;
    }
    map->pairs[map->npairs++] = (struct lpo_pair){ key, value };
    index_added(a, map);
}

void lpo_node_set_key(struct lpo_arena *a, struct lpo_node *map, struct lpo_node *key,
                      struct lpo_node *value)
{
    ptrdiff_t at = lpo_node_find(map, key);

    if (at >= 0)
        map->pairs[at].value = value;
    else
        append_pair(a, map, key, value);
}

static struct lpo_node key_view(const char *key)
{
    struct lpo_node k = { .kind = LPO_NODE_STRING };

    k.text = key;
    k.len = strlen(key);
    return k;
}

void lpo_node_set(struct lpo_arena *a, struct lpo_node *map, const char *key,
                  struct lpo_node *value)
{
    struct lpo_node view = key_view(key);
    ptrdiff_t at = lpo_node_find(map, &view);

    if (at >= 0)
        map->pairs[at].value = value;
    else
        append_pair(a, map, lpo_node_string(a, key), value);
}

struct lpo_node *lpo_node_get_key(const struct lpo_node *map, const struct lpo_node *key)
{
    ptrdiff_t at = lpo_node_find(map, key);

    return at >= 0 ? map->pairs[at].value : NULL;
}

struct lpo_node *lpo_node_get(const struct lpo_node *map, const char *key)
{
    struct lpo_node view = key_view(key);

    return lpo_node_get_key(map, &view);
}

bool lpo_node_remove(struct lpo_node *map, const struct lpo_node *key)
{
    ptrdiff_t at = lpo_node_find(map, key);

    if (at < 0)
        return false;
    map->index = NULL; /* built again by the next key that is added */
    map->npairs--;
    memmove(map->pairs + at, map->pairs + at + 1, (map->npairs - (size_t)at) * sizeof *map->pairs);
    return true;
}

struct lpo_node *lpo_node_clone(struct lpo_arena *a, const struct lpo_node *node)
{
    struct lpo_node *n = LPO_NEW(a, struct lpo_node);

    *n = *node;
    if (n->kind == LPO_NODE_LIST) {
        n->cap = n->count;
        n->items = lpo_arena_array(a, n->count, sizeof *n->items);
        for (size_t i = 0; i < n->count; i++)
            n->items[i] = lpo_node_clone(a, node->items[i]);
    } else if (n->kind == LPO_NODE_MAP) {
        n->index = NULL;
        n->pairs_cap = n->npairs;
        n->pairs = lpo_arena_array(a, n->npairs, sizeof *n->pairs);
        for (size_t i = 0; i < n->npairs; i++)
            n->pairs[i] =
                (struct lpo_pair){ node->pairs[i].key, lpo_node_clone(a, node->pairs[i].value) };
        index_added(a, n);
    }
    return n; /* texts and keys are never written to, so they stay shared */
}

static bool same_text(const struct lpo_node *x, const struct lpo_node *y)
{
    return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

static bool lists_equal(const struct lpo_node *x, const struct lpo_node *y,
                        bool (*same)(const struct lpo_node *, const struct lpo_node *))
{
    if (x->count != y->count)
        return false;
    return !lpo_any(i, x->count, !same(x->items[i], y->items[i]));
}

bool lpo_node_equal(const struct lpo_node *x, const struct lpo_node *y)
{
    if (!x || !y || x->kind != y->kind)
        return x == y;
    switch (x->kind) {
    case LPO_NODE_NULL:
        return true;
    case LPO_NODE_BOOL:
        return x->boolean == y->boolean;
    case LPO_NODE_INT:
        return x->integer == y->integer;
    case LPO_NODE_FLOAT:
        return x->real == y->real || (x->real != x->real && y->real != y->real);
    case LPO_NODE_LIST:
        return lists_equal(x, y, lpo_node_equal);
    case LPO_NODE_MAP:
        if (x->npairs != y->npairs)
            return false;
        for (size_t i = 0; i < x->npairs; i++)
            if (!lpo_node_equal(x->pairs[i].key, y->pairs[i].key) ||
                !lpo_node_equal(x->pairs[i].value, y->pairs[i].value))
                return false;
        return true;
    default:
        return same_text(x, y);
    }
}

bool lpo_node_alike(const struct lpo_node *x, const struct lpo_node *y)
{
    if (x->kind == LPO_NODE_LIST && y->kind == LPO_NODE_LIST)
        return lists_equal(x, y, lpo_node_alike);
    if (x->kind != LPO_NODE_MAP || y->kind != LPO_NODE_MAP)
        return !lpo_node_is_container(x) && !lpo_node_is_container(y) && same_key(x, y);
    if (x->npairs != y->npairs)
        return false;
    for (size_t i = 0; i < x->npairs; i++) {
        const struct lpo_node *other = lpo_node_get_key(y, x->pairs[i].key);

        if (!other || !lpo_node_alike(x->pairs[i].value, other))
            return false;
    }
    return true;
}

static struct lpo_node *child(const struct lpo_node *n, const char *key, size_t len)
{
    struct lpo_node view = { .kind = LPO_NODE_STRING };
    size_t index = 0;

    if (n->kind == LPO_NODE_MAP) {
        view.text = key;
        view.len = len;
        return lpo_node_get_key(n, &view);
    }
    if (n->kind != LPO_NODE_LIST || len == 0 || len > 9)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if (key[i] < '0' || key[i] > '9')
            return NULL;
        index = index * 10 + (size_t)(key[i] - '0');
    }
    return index < n->count ? n->items[index] : NULL;
}

struct lpo_node *lpo_node_at(const struct lpo_node *root, const char *path)
{
    const struct lpo_node *n = root;

    while (n && *path) {
        size_t len = strcspn(path, ".");

        n = child(n, path, len);
        path += len;
        if (*path == '.')
            path++;
    }
    return (struct lpo_node *)n;
}

bool lpo_node_is_text(const struct lpo_node *n, const char *text)
{
    return n && n->kind == LPO_NODE_STRING && n->len == strlen(text) &&
           memcmp(n->text, text, n->len) == 0;
}

bool lpo_node_is_missing(const struct lpo_node *n)
{
    return lpo_node_is_text(n, "???");
}

bool lpo_node_is_interpolation(const struct lpo_node *n)
{
    return n && n->kind == LPO_NODE_STRING && memmem(n->text, n->len, "${", 2);
}

bool lpo_node_is_container(const struct lpo_node *n)
{
    return n && (n->kind == LPO_NODE_MAP || n->kind == LPO_NODE_LIST);
}

LPO_NAMES(lpo_node_kind_name,
          enum lpo_node_kind, [LPO_NODE_NULL] = "null", [LPO_NODE_BOOL] = "a boolean",
          [LPO_NODE_INT] = "an integer", [LPO_NODE_BIGINT] = "an integer",
          [LPO_NODE_FLOAT] = "a number", [LPO_NODE_STRING] = "a string",
          [LPO_NODE_BYTES] = "binary bytes", [LPO_NODE_LIST] = "a list", [LPO_NODE_MAP] = "a map");

const char *lpo_node_text_at(const struct lpo_node *root, const char *path)
{
    const struct lpo_node *n = lpo_node_at(root, path);

    return n && n->kind == LPO_NODE_STRING ? n->text : NULL;
}

int64_t lpo_node_int_at(const struct lpo_node *root, const char *path)
{
    const struct lpo_node *n = lpo_node_at(root, path);

    return n && n->kind == LPO_NODE_INT ? n->integer : 0;
}

double lpo_node_real_at(const struct lpo_node *root, const char *path)
{
    const struct lpo_node *n = lpo_node_at(root, path);

    if (n && n->kind == LPO_NODE_INT)
        return (double)n->integer;
    return n && n->kind == LPO_NODE_FLOAT ? n->real : 0;
}

/* JSON */

static void write_float(struct lpo_json_writer *w, const char *key, double d)
{
    if (isfinite(d)) {
        lpo_jw_put(w, LPO_KV(key, d));
        return;
    }
    lpo_jw_record(w, key, LPO_KV("$float", isnan(d) ? "nan" : d > 0 ? "inf" : "-inf"));
}

static void write_bytes(struct lpo_json_writer *w, const char *key, const struct lpo_node *n)
{
    LPO_STR out = { 0 };

    lpo_str_add_base64(&out, n->text, n->len, 0);
    lpo_jw_record(w, key, LPO_KV("$bytes", lpo_str_text(&out)));
}

static bool text_keys(const struct lpo_node *map)
{
    return !lpo_any(i, map->npairs, map->pairs[i].key->kind != LPO_NODE_STRING);
}

static void write_map(struct lpo_json_writer *w, const char *key, const struct lpo_node *n)
{
    lpo_jw_object(w, key);
    if (text_keys(n)) {
        for (size_t i = 0; i < n->npairs; i++)
            lpo_node_write_json(w, n->pairs[i].key->text, n->pairs[i].value);
        lpo_jw_end(w);
        return;
    }
    lpo_jw_array(w, "$map");
    for (size_t i = 0; i < n->npairs; i++) {
        lpo_jw_array(w, NULL);
        lpo_node_write_json(w, NULL, n->pairs[i].key);
        lpo_node_write_json(w, NULL, n->pairs[i].value);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}

void lpo_node_write_json(struct lpo_json_writer *w, const char *key, const struct lpo_node *n)
{
    switch (n->kind) {
    case LPO_NODE_NULL:
        lpo_jw_put(w, LPO_KV(key, lpo_jv_null()));
        break;
    case LPO_NODE_BOOL:
        lpo_jw_put(w, LPO_KV(key, n->boolean));
        break;
    case LPO_NODE_INT:
        lpo_jw_put(w, LPO_KV(key, n->integer));
        break;
    case LPO_NODE_BIGINT:
        lpo_jw_put(w, LPO_KV(key, lpo_jv_raw(n->text)));
        break;
    case LPO_NODE_FLOAT:
        write_float(w, key, n->real);
        break;
    case LPO_NODE_STRING:
        lpo_jw_put(w, LPO_KV(key, lpo_jv_textn(n->text, n->len)));
        break;
    case LPO_NODE_BYTES:
        write_bytes(w, key, n);
        break;
    case LPO_NODE_LIST:
        lpo_jw_array(w, key);
        for (size_t i = 0; i < n->count; i++)
            lpo_node_write_json(w, NULL, n->items[i]);
        lpo_jw_end(w);
        break;
    case LPO_NODE_MAP:
        write_map(w, key, n);
        break;
    }
}
