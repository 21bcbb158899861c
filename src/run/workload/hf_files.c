/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/hf_files.h"

#include <string.h>

#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

/* A name that Python reads in its own way is left to it. */
static const char *local(struct lpo_arena *a, const char *cwd, const char *name)
{
    return name && *name && !lpo_str_starts(name, "~") ? lpo_path_join(a, cwd, name) : NULL;
}

static int check_model(struct lpo_arena *a, const char *cwd, const char *name, struct lpo_err *err)
{
    const char *path = local(a, cwd, name);

    if (!path)
        return 0;
    if (!lpo_path_exists(path))
        return lpo_fail(err, LPO_E_CONFIG, "model.path '%s' is neither a folder nor a file", name);
    if (lpo_path_is_dir(path) && !lpo_path_exists(lpo_path_join(a, path, "config.json")))
        return lpo_fail(err, LPO_E_CONFIG, "the model folder '%s' has no config.json", name);
    return 0;
}

/* '#' starts a comment, as in samples.c and lpo_hf/samples.py. */
static bool names_a_sample(const char *text)
{
    while (*text) {
        text += strspn(text, " \t\r\n\f\v");
        if (*text && *text != '#')
            return true;
        text += strcspn(text, "\n");
    }
    return false;
}

static int check_list(const char *path, const char *name, struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (lpo_file_text_read(path, &text, err) < 0)
        return lpo_ctx(err, "cannot read the file list '%s'", name);
    if (!names_a_sample(text->at))
        return lpo_fail(err, LPO_E_CONFIG, "the file list '%s' lists no sample", name);
    return 0;
}

int lpo_workload_list_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                            struct lpo_err *err)
{
    const char *list = lpo_settings_text(config, "run.dataset_subset_filelist");
    const char *path;

    if (!list)
        list = lpo_settings_text(config, "dataset.subset_filelist");
    path = local(a, cwd, list);
    return path ? check_list(path, list, err) : 0;
}

int lpo_workload_hf_files_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                                struct lpo_err *err)
{
    const char *list = lpo_settings_text(config, "run.dataset_subset_filelist");
    const char *root = lpo_settings_text(config, "dataset.root");
    const char *path;

    if (check_model(a, cwd, lpo_settings_text(config, "model.path"), err) < 0)
        return err->code;
    if (!list)
        list = lpo_settings_text(config, "dataset.subset_filelist");
    path = local(a, cwd, list);
    if (path)
        return check_list(path, list, err);
    path = local(a, cwd, root);
    if (!list && path && !lpo_path_is_dir(path))
        return lpo_fail(err, LPO_E_CONFIG, "dataset.root '%s' is not a folder", root);
    return 0;
}
