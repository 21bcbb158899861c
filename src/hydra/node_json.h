/* hydra/node_json.h - a config value as JSON.
 *
 * Floats keep a '.' or an exponent so that they differ from integers; what JSON cannot say is
 * written as {"$float": "nan"}, {"$bytes": base64} and {"$map": [[key, value], …]} (a map with
 * keys that are not text). */
#pragma once

struct lpo_json_writer;
struct lpo_node;

void lpo_node_write_json(struct lpo_json_writer *w, const char *key, const struct lpo_node *node);
