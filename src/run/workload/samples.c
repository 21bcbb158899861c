/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/samples.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "settings/settings.h"
#include "util/arena.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

/* A folder may link to itself, and may hold a million files: both end here. */
enum { MAX_SAMPLES = 10000, MAX_DEPTH = 16, MAX_ENTRIES = 200000 };

struct walk {
    struct lpo_arena *a;
    struct lpo_settings_words patterns;
    struct lpo_samples *out;
    size_t entries;
};

/* A list may have been written on another machine: the end of such a path is looked for under the
 * root, as hf_generate.py does. */
static const char *find_sample(struct lpo_arena *a, const char *root, const char *line)
{
    if (*line != '/' || lpo_path_exists(line))
        return line;
    for (const char *end = line + 1; *end; end += strcspn(end, "/"), end += *end == '/')
        if (lpo_path_exists(lpo_path_join(a, root, end)))
            return end;
    return line;
}

/* The lines of the list; '#' starts a comment. */
static bool add_lines(struct lpo_arena *a, const char *path, struct lpo_samples *out)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    char *rest = NULL;

    if (lpo_file_text_read(path, &text, NULL) < 0)
        return false;
    for (char *line = strtok_r(text->at, "\n", &rest); line && out->at.len < MAX_SAMPLES;
         line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, "\r")] = '\0';
        if (*line && *line != '#')
            lpo_vec_push(&out->at, lpo_arena_strdup(a, find_sample(a, out->root, line)));
    }
    return true;
}

static bool add_pages(struct lpo_arena *a, const char *path, struct lpo_samples *out)
{
    const struct lpo_json *pages = NULL;

    if (lpo_json_read_file(a, path, &pages, NULL) < 0 || pages->kind != LPO_JSON_ARRAY)
        return false;
    for (const struct lpo_json *p = pages->first; p && out->at.len < MAX_SAMPLES; p = p->next) {
        const char *name = lpo_json_text(lpo_json_at(p, "page_info.image_path"), "");

        if (*name)
            lpo_vec_push(&out->at, lpo_path_exists(lpo_path_join(a, out->root, name))
                                       ? name
                                       : lpo_path_join(a, "images", name));
    }
    return out->at.len > 0;
}

/* As Python's glob: a part between slashes is matched as a whole, and ** stands for any number of
 * folders; names with a dot in front are only matched by a dot. */
static bool matches(const char *pattern, const char *name)
{
    char part[256], word[256];
    size_t p = strcspn(pattern, "/"), n = strcspn(name, "/");

    if (p == 2 && strncmp(pattern, "**", 2) == 0) {
        if (!pattern[p])
            return true;
        if (matches(pattern + p + 1, name))
            return true;
        return name[n] && *name != '.' && matches(pattern, name + n + 1);
    }
    if (p >= sizeof part || n >= sizeof word || (pattern[p] == '/') != (name[n] == '/'))
        return false;
    memcpy(part, pattern, p);
    memcpy(word, name, n);
    part[p] = word[n] = '\0';
    if (fnmatch(part, word, FNM_PERIOD | FNM_NOESCAPE) != 0)
        return false;
    return !pattern[p] || matches(pattern + p + 1, name + n + 1);
}

static void add_matches(struct walk *w, const char *below, int depth)
{
    const char *folder = lpo_path_join(w->a, w->out->root, below);
    const struct dirent *e;
    DIR *d = opendir(folder);

    if (!d)
        return;
    while ((e = readdir(d)) && w->entries++ < MAX_ENTRIES && w->out->at.len < MAX_SAMPLES) {
        const char *name = *below ? lpo_path_join(w->a, below, e->d_name) : e->d_name;
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            stat(lpo_path_join(w->a, w->out->root, name), &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
            add_matches(w, lpo_arena_strdup(w->a, name), depth + 1);
        for (size_t i = 0; S_ISREG(st.st_mode) && i < w->patterns.len; i++)
            if (matches(w->patterns.at[i], name)) {
                lpo_vec_push(&w->out->at, lpo_arena_strdup(w->a, name));
                break;
            }
    }
    closedir(d);
}

/* Part by part, as Python compares paths: "a/x" before "a-b/x". */
static int by_path(const void *x, const void *y)
{
    const unsigned char *a = *(const unsigned char *const *)x,
                        *b = *(const unsigned char *const *)y;

    for (; *a && *a == *b; a++)
        b++;
    return (*a == '/' ? 1 : *a) - (*b == '/' ? 1 : *b);
}

bool lpo_workload_samples_list(struct lpo_arena *a, const struct lpo_node *config,
                               const char *call_dir, struct lpo_samples *out)
{
    const char *list = lpo_settings_text(config, "run.dataset_subset_filelist");
    const char *root = lpo_settings_text(config, "dataset.root");
    const char *pages = lpo_settings_text(config, "dataset.annotations");
    int64_t most = lpo_settings_int(config, "dataset.sampling.num_samples_per_epoch");
    struct walk w = { .a = a, .out = out };
    bool found;

    if (!list)
        list = lpo_settings_text(config, "dataset.subset_filelist");
    *out = (struct lpo_samples){
        .root = root ? lpo_path_join(a, call_dir, root) : call_dir,
        .shuffled = lpo_settings_bool(config, "dataset.sampling.randomize"),
    };
    if (!list && !root)
        return false;
    if (list) {
        found = add_lines(a, lpo_path_join(a, call_dir, list), out);
    } else {
        pages = pages ? lpo_path_join(a, out->root, pages) : NULL;
        found = pages && lpo_path_exists(pages) && add_pages(a, pages, out);
        if (!found && !(pages && lpo_path_exists(pages)) && lpo_path_is_dir(out->root)) {
            w.patterns = lpo_settings_list(a, config, "dataset.fallback_patterns");
            add_matches(&w, "", 0);
            found = true;
            if (out->at.len)
                qsort(out->at.at, out->at.len, sizeof *out->at.at, by_path);
        }
    }
    if (!out->shuffled && most > 0 && (size_t)most < out->at.len)
        out->at.len = (size_t)most;
    return found;
}
