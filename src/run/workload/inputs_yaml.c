/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/inputs_yaml.h"

#include <sys/stat.h>

#include "hydra/compose.h"
#include "run/secrets/secrets.h"
#include "run/workload/image_size.h"
#include "run/workload/samples.h"
#include "util/arena.h"
#include "util/path.h"

static void copy_section(struct lpo_arena *a, struct lpo_node *to, const struct lpo_node *from,
                         const char *key)
{
    const struct lpo_node *n = lpo_node_get(from, key);

    if (n)
        lpo_node_set(a, to, key, lpo_node_clone(a, n));
}

static struct lpo_node *describe_file(struct lpo_arena *a, const char *root, const char *name)
{
    const char *path = lpo_path_join(a, root, name);
    struct lpo_node *row = lpo_node_map(a);
    uint32_t width = 0, height = 0;
    struct stat st;

    lpo_node_set(a, row, "path", lpo_node_string(a, name));
    if (stat(path, &st) == 0)
        lpo_node_set(a, row, "bytes", lpo_node_int(a, st.st_size));
    else
        lpo_node_set(a, row, "bytes", lpo_node_null(a));
    if (lpo_workload_image_size(path, &width, &height)) {
        lpo_node_set(a, row, "width", lpo_node_int(a, width));
        lpo_node_set(a, row, "height", lpo_node_int(a, height));
    }
    return row;
}

struct lpo_node *lpo_workload_inputs_describe(struct lpo_arena *a, const struct lpo_node *config,
                                              const char *call_dir)
{
    static const char *const sections[] = { "workload", "model", "infer", "dataset" };
    const struct lpo_node *masked = lpo_secrets_mask_config(a, config, NULL);
    struct lpo_node *out = lpo_node_map(a), *rows = lpo_node_null(a);
    struct lpo_samples samples;

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        copy_section(a, out, masked, sections[i]);
    if (lpo_workload_samples_list(a, config, call_dir, &samples)) {
        rows = lpo_node_list(a);
        for (size_t i = 0; i < samples.at.len; i++)
            lpo_node_push(a, rows, describe_file(a, samples.root, samples.at.at[i]));
        if (samples.shuffled) /* Python's own shuffle: only the program knows which it took */
            lpo_node_set(a, out, "samples_shuffled", lpo_node_bool(a, true));
    }
    lpo_node_set(a, out, "samples", rows);
    lpo_vec_free(&samples.at);
    return out;
}
