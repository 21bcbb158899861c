/* SPDX-License-Identifier: Apache-2.0 */
/* Counted truths (tests/data/static): parameters, tensors and FLOPs of real models, as PyTorch
 * counts them. */
#include <dirent.h>

#include "../unit.h"
#include "model/needs.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/map.h"
#include "util/path.h"
#include "util/str.h"

struct truth {
    const char *name;
    const struct lpo_json *json;
};

static struct lpo_model_needs *analyse(const struct truth *t, uint64_t size)
{
    struct lpo_needs_options o = lpo_model_needs_defaults();
    struct lpo_model_needs *a = NULL;
    struct lpo_err err = { 0 };

    o.seq = size;
    o.image = size;
    o.counting = LPO_COUNT_FRAMEWORK;
    if (lpo_model_needs_create(lpo_json_get(t->json, "config"), &o, &a, &err) < 0) {
        print_message("%s: %s\n", t->name, lpo_err_cause(&err));
        fail();
    }
    return a;
}

static void check_params(void **state)
{
    const struct truth *t = *state;
    LPO_AUTO(lpo_model_needs) a = analyse(t, 0);

    assert_int_equal(a->params, lpo_json_int(lpo_json_get(t->json, "params"), -1));
    assert_false(a->model->guessed);
}

static void check_tensor(const struct truth *t, const struct lpo_tensor *have,
                         const struct lpo_json *want)
{
    int i = 0;

    if (!want) {
        print_message("%s: '%s' is not a tensor of the model\n", t->name, have->name);
        fail();
    }
    assert_int_equal(have->dims, want->count);
    LPO_JSON_EACH(dim, want)
    assert_int_equal(have->shape[i++], lpo_json_int(dim, -1));
}

static void check_tensors(void **state)
{
    const struct truth *t = *state;
    const struct lpo_json *tensors = lpo_json_get(t->json, "tensors");
    LPO_AUTO(lpo_model_needs) a = analyse(t, 0);
    LPO_AUTO(lpo_map) seen = lpo_map_create();

    if (!tensors)
        return;
    LPO_JSON_EACH(want, tensors)
    *lpo_map_put(seen, want->key, want->key_len, NULL) = (uint64_t)(uintptr_t)want;
    assert_int_equal(a->tensors.len, tensors->count);
    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *have = &a->tensors.at[i];
        uint64_t *slot = lpo_map_find(seen, have->name, strlen(have->name));

        check_tensor(t, have, slot ? (const struct lpo_json *)(uintptr_t)*slot : NULL);
    }
}

static void check_phase(const struct truth *t, const struct lpo_json *want,
                        struct lpo_model_needs *a)
{
    bool image = !a->model->decoder;
    const struct lpo_sums *s = &a->phase[image ? LPO_IMAGE : LPO_PREFILL].all;
    const struct lpo_json *next = lpo_json_get(want, "decode_next");

    assert_int_equal(s->flops, lpo_json_int(lpo_json_get(want, "total"), -1));
    for (int k = LPO_ATEN_NONE + 1; k < LPO_ATENS; k++) {
        const char *name = lpo_model_aten_name((enum lpo_aten)k);
        const struct lpo_json *counted = NULL;

        LPO_JSON_EACH(item, lpo_json_get(want, "by_op"))
        if (strcmp(item->key, name) == 0)
            counted = item;
        assert_int_equal(s->by_aten[k], lpo_json_int(counted, 0));
    }
    if (next)
        assert_int_equal(a->phase[LPO_DECODE].all.flops, lpo_json_int(next, -1));
}

static void check_flops(void **state)
{
    const struct truth *t = *state;

    LPO_JSON_EACH(size, lpo_json_get(t->json, "flops"))
    {
        LPO_AUTO(lpo_model_needs) a = analyse(t, strtoull(size->key, NULL, 10));

        check_phase(t, size, a);
    }
}

static void add_file(struct unit *u, struct lpo_arena *arena, const char *dir, const char *file)
{
    struct truth *t = LPO_NEW(arena, struct truth);
    struct lpo_err err = { 0 };

    t->name = lpo_arena_strdup(arena, file);
    if (lpo_json_read_file(arena, lpo_path_join(arena, dir, file), &t->json, &err) < 0) {
        fprintf(stderr, "%s: %s\n", file, lpo_err_cause(&err));
        exit(1);
    }
    unit_add(u, lpo_arena_printf(arena, "%s: parameters", file), check_params, t);
    unit_add(u, lpo_arena_printf(arena, "%s: tensors", file), check_tensors, t);
    unit_add(u, lpo_arena_printf(arena, "%s: FLOPs", file), check_flops, t);
}

static void add_folder(struct unit *u, struct lpo_arena *arena, const char *dir)
{
    struct dirent **list = NULL;
    int n = scandir(dir, &list, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        if (lpo_str_ends(list[i]->d_name, ".json"))
            add_file(u, arena, dir, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

int main(void)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    const char *root = unit_env("LPO_SOURCE_ROOT", ".");
    struct unit u = { 0 };

    add_folder(&u, arena, lpo_path_join(arena, root, "tests/data/static"));
    return unit_run(&u);
}
