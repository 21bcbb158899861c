/* SPDX-License-Identifier: Apache-2.0 */
/* Config trees of any bytes: composed, resolved, printed, read back, checked by the schema.
 *
 * Parts of the input are separated by "\n%%\n": config.yaml, g/a.yaml, base.yaml, and overrides,
 * one per line. */
#include "scratch.h"

#include "hydra/compose.h"
#include "settings/schema.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth, const char *what, const char *text)
{
    if (truth)
        return;
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

/* Writes the parts; what is left are the overrides. */
static const char **lay_out(struct lpo_arena *a, const char *text, size_t len)
{
    static const char *const names[] = { "config.yaml", "g/a.yaml", "base.yaml" };
    const char **overrides = lpo_arena_array(a, 9, sizeof(*overrides));
    size_t n = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *end = memmem(text, len, "\n%%\n", 4);
        size_t part = end ? (size_t)(end - text) + 1 : len;

        scratch_file(names[i], text, part);
        part = end ? part + 3 : len;
        text += part;
        len -= part;
    }
    while (len && n < 8) {
        const char *end = memchr(text, '\n', len);
        size_t part = end ? (size_t)(end - text) : len;

        overrides[n++] = lpo_arena_strndup(a, text, part);
        part += end != NULL;
        text += part;
        len -= part;
    }
    return overrides;
}

static void check_result(struct lpo_arena *a, struct lpo_composed *c)
{
    struct lpo_err err = { 0 };
    struct lpo_node *back;
    LPO_STR text = { 0 }, json = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&json, 0);

    lpo_yaml_add(&text, c->root);
    must(lpo_yaml_parse(a, text.at, text.len, "printed", &back, &err) == 0, lpo_err_cause(&err),
         text.at);
    must(lpo_node_equal(back, c->root), "reads back as other data", text.at);
    lpo_node_write_json(&w, NULL, c->root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *dirs[2] = { scratch(), NULL };
    struct lpo_compose_in in = { .dirs = dirs, .cwd = "/", .now = 1000000000 };
    struct lpo_err err = { 0 };
    struct lpo_composed c;

    if (size > 8192)
        return 0;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    in.overrides = lay_out(a, (const char *)data, size);
    in.spellings = size % 2 ? lpo_settings_spellings() : NULL;
    if (lpo_compose(a, &in, &c, &err) < 0) {
        must(lpo_err_cause(&err)[0], "no reason given", "compose");
        return 0;
    }
    check_result(a, &c);
    if (lpo_compose_resolve(&c, &err) < 0) {
        must(lpo_err_cause(&err)[0], "no reason given", "resolve");
        return 0;
    }
    check_result(a, &c);
    if (lpo_settings_schema_check(a, c.root, NULL, &err) < 0)
        must(lpo_err_cause(&err)[0], "no reason given", "schema");
    return 0;
}
