/* Nodes to YAML text, laid out as PyYAML's dump does it. */
#include "hydra/node.h"
#include "hydra/yaml/yaml.h"
#include "hydra/yaml/yaml_scalar.h"
#include "util/str.h"

enum { STEP = 2 };

static void write_node(struct lpo_yaml_pen *p, const struct lpo_node *n, bool in_map);

static void write_scalar(struct lpo_yaml_pen *p, const struct lpo_node *n)
{
    struct lpo_yaml_scalar s;

    lpo_yaml_scalar_init(&s, n);
    lpo_yaml_scalar_write(p, &s, false);
    lpo_yaml_scalar_free(&s);
}

static void write_key(struct lpo_yaml_pen *p, const struct lpo_node *key)
{
    struct lpo_yaml_scalar s;

    lpo_yaml_scalar_init(&s, key);
    lpo_yaml_pen_indent(p);
    if (lpo_yaml_scalar_is_short_key(&s)) {
        lpo_yaml_scalar_write(p, &s, true);
        lpo_yaml_pen_indicator(p, ":", false, false);
    } else {
        lpo_yaml_pen_indicator(p, "?", true, true);
        lpo_yaml_scalar_write(p, &s, false);
        lpo_yaml_pen_indent(p);
        lpo_yaml_pen_indicator(p, ":", true, true);
    }
    lpo_yaml_scalar_free(&s);
}

static void write_map(struct lpo_yaml_pen *p, const struct lpo_node *map)
{
    int outer = p->indent;

    p->indent = outer < 0 ? 0 : outer + STEP;
    for (size_t i = 0; i < map->npairs; i++) {
        write_key(p, map->pairs[i].key);
        write_node(p, map->pairs[i].value, true);
    }
    p->indent = outer;
}

static void write_list(struct lpo_yaml_pen *p, const struct lpo_node *list, bool in_map)
{
    int outer = p->indent;
    bool indentless = in_map && !p->indention;

    if (outer < 0)
        p->indent = 0;
    else if (!indentless)
        p->indent = outer + STEP;
    for (size_t i = 0; i < list->count; i++) {
        lpo_yaml_pen_indent(p);
        lpo_yaml_pen_indicator(p, "-", true, true);
        write_node(p, list->items[i], false);
    }
    p->indent = outer;
}

static void write_node(struct lpo_yaml_pen *p, const struct lpo_node *n, bool in_map)
{
    if (n->kind == LPO_NODE_MAP && n->npairs)
        write_map(p, n);
    else if (n->kind == LPO_NODE_LIST && n->count)
        write_list(p, n, in_map);
    else if (lpo_node_is_container(n))
        lpo_yaml_pen_indicator(p, n->kind == LPO_NODE_MAP ? "{}" : "[]", true, false);
    else
        write_scalar(p, n);
}

void lpo_yaml_add(struct lpo_str *s, const struct lpo_node *root)
{
    struct lpo_yaml_pen p = { .out = s, .indent = -1, .whitespace = true, .indention = true };

    write_node(&p, root, false);
    p.indent = -1;
    lpo_yaml_pen_indent(&p);
}
