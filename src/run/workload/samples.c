/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hydra/compose.h"
#include "run/secrets/secrets.h"
#include "settings/settings.h"
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
            lpo_vec_sort(&out->at, by_path);
        }
    }
    if (!out->shuffled && most > 0 && (size_t)most < out->at.len)
        out->at.len = (size_t)most;
    return found;
}

/* Metadata stands before the size in a JPEG: a thumbnail or a colour profile is a few segments of
 * at most 64 KiB. A file with more of them than this is left without a size. */
enum { MAX_SEGMENTS = 1024 };

static uint32_t big_endian(const unsigned char *at, int bytes)
{
    uint32_t n = 0;

    for (int i = 0; i < bytes; i++)
        n = n << 8 | at[i];
    return n;
}

static bool read_at(int fd, off_t at, unsigned char *out, size_t len)
{
    return pread(fd, out, len, at) == (ssize_t)len;
}

static bool png_size(int fd, uint32_t *width, uint32_t *height)
{
    unsigned char head[24];

    if (!read_at(fd, 0, head, sizeof head) || memcmp(head, "\x89PNG\r\n\x1a\n", 8) != 0 ||
        memcmp(head + 12, "IHDR", 4) != 0)
        return false;
    *width = big_endian(head + 16, 4);
    *height = big_endian(head + 20, 4);
    return true;
}

/* Start of frame: C0 to CF, but for the tables C4 and CC and the reserved C8. */
static bool is_frame(unsigned char marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bool jpeg_size(int fd, uint32_t *width, uint32_t *height)
{
    unsigned char head[9];
    off_t at = 2;

    if (!read_at(fd, 0, head, 3) || memcmp(head, "\xff\xd8\xff", 3) != 0)
        return false;
    for (int i = 0; i < MAX_SEGMENTS; i++) {
        if (!read_at(fd, at, head, 4) || head[0] != 0xFF)
            return false;
        if (head[1] == 0xFF) { /* any number of these may fill the space before a marker */
            at++;
            continue;
        }
        if (is_frame(head[1])) {
            if (!read_at(fd, at, head, 9))
                return false;
            *height = big_endian(head + 5, 2);
            *width = big_endian(head + 7, 2);
            return true;
        }
        if (head[1] == 0xDA || head[1] == 0xD9 || big_endian(head + 2, 2) < 2)
            return false; /* the picture begins or ends without a frame */
        at += 2 + (off_t)big_endian(head + 2, 2);
    }
    return false;
}

bool lpo_workload_image_size(const char *path, uint32_t *width, uint32_t *height)
{
    /* a named pipe would block the open, and a device could do anything */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    bool known = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        known = png_size(fd, width, height) || jpeg_size(fd, width, height);
    close(fd);
    return known && *width && *height;
}

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
