/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/inputs_yaml.h"

#include <string.h>
#include <sys/stat.h>

#include "hydra/compose.h"
#include "run/secrets/secrets.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

enum { MAX_SAMPLES = 10000 };

static void copy_section(struct lpo_arena *a, struct lpo_node *to, const struct lpo_node *from,
                         const char *key)
{
    const struct lpo_node *n = lpo_node_get(from, key);

    if (n)
        lpo_node_set(a, to, key, lpo_node_clone(a, n));
}

static struct lpo_node *describe_file(struct lpo_arena *a, const char *root, const char *name)
{
    struct lpo_node *row = lpo_node_map(a);
    struct stat st;

    lpo_node_set(a, row, "path", lpo_node_string(a, name));
    if (stat(lpo_path_join(a, root, name), &st) == 0)
        lpo_node_set(a, row, "bytes", lpo_node_int(a, st.st_size));
    else
        lpo_node_set(a, row, "bytes", lpo_node_null(a));
    return row;
}

/* The lines of the sample list; '#' starts a comment. */
static struct lpo_node *describe_list(struct lpo_arena *a, const char *path, const char *root)
{
    struct lpo_node *rows = lpo_node_list(a);
    LPO_AUTO(lpo_file_text) text = NULL;
    char *rest = NULL;

    if (lpo_file_text_read(path, &text, NULL) < 0)
        return lpo_node_null(a);
    for (char *line = strtok_r(text->at, "\n", &rest); line && rows->count < MAX_SAMPLES;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t n = strcspn(line, "\r");

        line[n] = '\0';
        if (*line && *line != '#')
            lpo_node_push(a, rows, describe_file(a, root, line));
    }
    return rows;
}

struct lpo_node *lpo_workload_inputs_describe(struct lpo_arena *a, const struct lpo_node *config,
                                              const char *call_dir)
{
    static const char *const sections[] = { "workload", "model", "infer", "dataset" };
    const struct lpo_node *masked = lpo_secrets_mask_config(a, config, NULL);
    struct lpo_node *out = lpo_node_map(a);
    const char *list = lpo_settings_text(config, "run.dataset_subset_filelist");
    const char *root = lpo_settings_text(config, "dataset.root");

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        copy_section(a, out, masked, sections[i]);
    if (!list)
        list = lpo_settings_text(config, "dataset.subset_filelist");
    lpo_node_set(a, out, "samples",
                 list ? describe_list(a, lpo_path_join(a, call_dir, list), root ? root : call_dir)
                      : lpo_node_null(a));
    return out;
}
