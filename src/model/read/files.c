/* SPDX-License-Identifier: Apache-2.0 */
#include "model/read/read.h"

#include <dirent.h>

#include "model/count.h"
#include "model/quant.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

enum { MAX_SHARDS = 100000 };

/* Python writes Infinity and NaN. */
static int read_python(struct lpo_arena *a, const char *path, const struct lpo_json **out,
                       struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    int rc = lpo_file_text_read(path, &text, err);

    if (rc == 0)
        rc = lpo_json_parse_python(a, text->at, text->len, out, err);
    return rc < 0 ? lpo_ctx(err, "'%s'", path) : 0;
}

/* How the weights are quantised becomes one more member of the config. */
static int add_beside(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                      struct lpo_err *err)
{
    struct lpo_json *root = LPO_NEW(a, struct lpo_json), *own = LPO_NEW(a, struct lpo_json);
    const struct lpo_json *read = NULL;
    int rc = read_python(a, path, &read, err);

    if (rc < 0 || out->config->kind != LPO_JSON_OBJECT)
        return rc;
    *root = *out->config;
    *own = *read;
    own->key = LPO_QUANT_BESIDE;
    own->key_len = strlen(own->key);
    own->next = root->first;
    root->first = own;
    root->count++;
    out->config = root;
    return 0;
}

static int read_config(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                       struct lpo_err *err)
{
    const char *stem =
        lpo_str_ends(path, ".json") ? lpo_arena_strndup(a, path, strlen(path) - 5) : path;
    const char *beside = lpo_path_join(a, lpo_path_dir(a, path), "hf_quant_config.json");
    const char *named = lpo_arena_printf(a, "%s.quant.json", stem);
    int rc = read_python(a, path, &out->config, err);

    if (rc == 0 && lpo_path_exists(named))
        rc = add_beside(a, named, out, err);
    else if (rc == 0 && lpo_path_exists(beside))
        rc = add_beside(a, beside, out, err);
    out->config_path = lpo_arena_strdup(a, path);
    return rc < 0 ? lpo_ctx(err, "cannot read the model's config") : 0;
}

static int read_shard(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                      struct lpo_err *err)
{
    int rc = lpo_model_safetensors_read(a, path, &out->tensors, err);

    out->files += rc == 0;
    return rc;
}

/* The index lists a file for every tensor; each file is read once, and must be in this folder: an
 * index from elsewhere must not make us open other paths. */
static int read_index(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                      struct lpo_err *err)
{
    LPO_AUTO(lpo_map) seen = lpo_map_create();
    const char *dir = lpo_path_dir(a, path);
    const struct lpo_json *root = NULL;
    int rc = lpo_json_read_file(a, path, &root, err);

    if (rc < 0)
        return lpo_ctx(err, "cannot read the index of the weights");
    LPO_JSON_EACH(item, lpo_json_get(root, "weight_map"))
    {
        const char *shard = lpo_json_text(item, "");
        bool fresh;

        lpo_map_put(seen, shard, strlen(shard), &fresh);
        if (!fresh)
            continue;
        if (!*shard || strchr(shard, '/'))
            return lpo_fail(err, LPO_E_FORMAT,
                            "'%s' lists '%s', which is not a file name in this folder", path,
                            shard);
        if (lpo_map_count(seen) > MAX_SHARDS)
            return lpo_fail(err, LPO_E_LIMIT, "'%s' lists more than %d files", path, MAX_SHARDS);
        rc = read_shard(a, lpo_path_join(a, dir, shard), out, err);
        if (rc < 0)
            return lpo_ctx(err, "the index '%s' lists a file that cannot be read", path);
    }
    return 0;
}

static int read_gguf(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                     struct lpo_err *err)
{
    const struct lpo_json *config = NULL;
    int rc = lpo_model_gguf_read(a, path, &config, &out->tensors, err);

    if (rc < 0)
        return rc;
    out->files++;
    if (!out->config) {
        out->config = config;
        out->config_path = lpo_arena_strdup(a, path);
        out->config_made = true;
    }
    return 0;
}

static int is_weights(const struct dirent *e)
{
    return lpo_str_ends(e->d_name, ".safetensors") || lpo_str_ends(e->d_name, ".gguf");
}

static int read_weights(struct lpo_arena *a, const char *dir, struct lpo_model_files *out,
                        struct lpo_err *err)
{
    const char *index = lpo_path_join(a, dir, "model.safetensors.index.json");
    LPO_FREED struct dirent **list = NULL;
    int n, rc = 0;

    /* A folder may hold converted copies beside the shards: the index says which is the model. It
     * may also hold no weights at all, where only the configs were downloaded. */
    n = scandir(dir, &list, is_weights, alphasort);
    if (n > 0 && lpo_path_exists(index))
        rc = read_index(a, index, out, err);
    else
        for (int i = 0; i < n && rc == 0; i++) {
            const char *path = lpo_path_join(a, dir, list[i]->d_name);

            if (lpo_str_ends(list[i]->d_name, ".safetensors"))
                rc = read_shard(a, path, out, err);
            else if (out->files == 0)
                rc = read_gguf(a, path, out, err);
        }
    for (int i = 0; i < n; i++)
        free(list[i]);
    return rc;
}

static int read_folder(struct lpo_arena *a, const char *dir, struct lpo_model_files *out,
                       struct lpo_err *err)
{
    const char *config = lpo_path_join(a, dir, "config.json");
    int rc = lpo_path_exists(config) ? read_config(a, config, out, err) : 0;

    if (rc == 0)
        rc = read_weights(a, dir, out, err);
    if (rc == 0 && !out->config && out->files == 0)
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "the folder '%s' has no config.json, no *.safetensors and no *.gguf", dir);
    return rc;
}

static void add_up(struct lpo_model_files *f)
{
    for (size_t i = 0; i < f->tensors.len; i++) {
        f->params = lpo_model_add(f->params, f->tensors.at[i].count);
        f->bytes = lpo_model_add(f->bytes, f->tensors.at[i].bytes);
    }
}

static int read_any(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                    struct lpo_err *err)
{
    const char *beside;
    int rc = 0;

    if (lpo_path_is_dir(path))
        return read_folder(a, path, out, err);
    if (!lpo_path_exists(path))
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' does not exist", path);
    if (lpo_str_ends(path, ".gguf"))
        return read_gguf(a, path, out, err);
    if (!lpo_str_ends(path, ".safetensors") && !lpo_str_ends(path, ".safetensors.index.json"))
        return read_config(a, path, out, err);
    beside = lpo_path_join(a, lpo_path_dir(a, path), "config.json");
    if (lpo_path_exists(beside))
        rc = read_config(a, beside, out, err);
    if (rc < 0)
        return rc;
    return lpo_str_ends(path, ".json") ? read_index(a, path, out, err)
                                       : read_shard(a, path, out, err);
}

int lpo_model_read(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                   struct lpo_err *err)
{
    int rc;

    *out = (struct lpo_model_files){ 0 };
    rc = read_any(a, path, out, err);
    if (rc == 0 && !out->config) {
        out->config = lpo_model_guess(a, out->tensors.at, out->tensors.len);
        out->config_path = lpo_arena_strdup(a, path);
        out->config_made = out->config_guessed = true;
        if (!out->config)
            rc = lpo_fail(err, LPO_E_FORMAT,
                          "'%s' has no config, and its tensors do not look like a decoder's: put "
                          "its config.json beside it",
                          path);
    }
    if (rc < 0) {
        lpo_model_files_free(out);
        return rc;
    }
    add_up(out);
    return 0;
}

void lpo_model_files_free(struct lpo_model_files *f)
{
    lpo_vec_free(&f->tensors);
}
