/* Values as JSON. */
#include <math.h>

#include "hydra/node.h"
#include "util/json_write.h"

static void write_float(struct lpo_json_writer *w, const char *key, double d)
{
    if (isfinite(d)) {
        lpo_jw_real(w, key, d);
        return;
    }
    lpo_jw_object(w, key);
    lpo_jw_text(w, "$float", isnan(d) ? "nan" : d > 0 ? "inf" : "-inf");
    lpo_jw_end(w);
}

static void write_bytes(struct lpo_json_writer *w, const char *key, const struct lpo_node *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)n->text;
    LPO_STR out = { 0 };

    for (size_t i = 0; i < n->len; i += 3) {
        size_t left = n->len - i;
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);

        lpo_str_addc(&out, digits[v >> 18]);
        lpo_str_addc(&out, digits[v >> 12 & 63]);
        lpo_str_addc(&out, left > 1 ? digits[v >> 6 & 63] : '=');
        lpo_str_addc(&out, left > 2 ? digits[v & 63] : '=');
    }
    lpo_jw_object(w, key);
    lpo_jw_text(w, "$bytes", lpo_str_text(&out));
    lpo_jw_end(w);
}

static bool text_keys(const struct lpo_node *map)
{
    for (size_t i = 0; i < map->npairs; i++)
        if (map->pairs[i].key->kind != LPO_NODE_STRING)
            return false;
    return true;
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
        lpo_jw_null(w, key);
        break;
    case LPO_NODE_BOOL:
        lpo_jw_bool(w, key, n->boolean);
        break;
    case LPO_NODE_INT:
        lpo_jw_int(w, key, n->integer);
        break;
    case LPO_NODE_BIGINT:
        lpo_jw_raw(w, key, n->text);
        break;
    case LPO_NODE_FLOAT:
        write_float(w, key, n->real);
        break;
    case LPO_NODE_STRING:
        lpo_jw_textn(w, key, n->text, n->len);
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
