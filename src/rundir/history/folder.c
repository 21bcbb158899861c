/* SPDX-License-Identifier: Apache-2.0 */
/* A history as files that git can keep: <folder>/<number>-<name>.json, an object with the entry's
 * members and its text in `digest`. The number says the order. */
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "rundir/history/history.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

struct found {
    int64_t id;
    const char *file; /* without the folder */
    const char *name;
};

typedef LPO_VEC(struct found) found_vec;

LPO_COMPARE(by_id, struct found, LPO_UP(id) ?: LPO_TEXT(file));

enum { MOST_ID = 1000000000 }; /* a larger number is not one that a history gave */

/* "000012-main.json" */
static bool take_name(struct lpo_arena *a, const char *file, struct found *out)
{
    char *end;
    size_t len = strlen(file);

    out->id = strtoll(file, &end, 10);
    if (end == file || *end != '-' || out->id <= 0 || out->id > MOST_ID ||
        !lpo_str_ends(file, ".json") || file + len - 5 <= end + 1)
        return false;
    out->file = lpo_arena_strdup(a, file);
    out->name = lpo_arena_strndup(a, end + 1, (size_t)(file + len - 5 - end - 1));
    return true;
}

static int list(struct lpo_arena *a, const char *dir, found_vec *out, struct lpo_err *err)
{
    DIR *d = lpo_path_open_dir(dir);
    struct dirent *e;

    if (!d)
        return lpo_fail_errno(err, "cannot read the history '%s'", dir);
    while ((e = readdir(d)) && out->len < LPO_HISTORY_ENTRIES) {
        struct found f;

        if (take_name(a, e->d_name, &f))
            lpo_vec_push(out, f);
    }
    closedir(d);
    lpo_vec_sort(out, by_id);
    return 0;
}

/* Under the next number that is free: a job beside this one may add at the same time, and no entry
 * may replace another. A link fails where the name is taken; a rename would not. */
static int give_number(struct lpo_arena *a, const char *dir, const char *file, const char *name,
                       int64_t *id, struct lpo_err *err)
{
    const char *to;

    for (;; ++*id) {
        to = lpo_path_join(a, dir, lpo_arena_printf(a, "%06" PRId64 "-%s.json", *id, name));
        if (link(file, to) == 0) {
            unlink(file);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    if (rename(file, to) == 0) /* a file system without links */
        return 0;
    lpo_fail_errno(err, "cannot write '%s'", to);
    unlink(file);
    return err->code;
}

int lpo_history_folder_add(const char *dir, const struct lpo_history_entry *e, int64_t *id,
                           struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);
    LPO_FREED found_vec all = { 0 };
    const char *file = NULL;
    int rc = list(a, dir, &all, err);

    if (rc == 0) {
        *id = (all.len ? all.at[all.len - 1].id : 0) + 1;
        /* the digest is last: what is before it is read alone */
        lpo_jw_record(&w, NULL, LPO_KV("schema", "lpo.history/1"), LPO_KV("name", e->name),
                      LPO_KV("label", e->label), LPO_KV("unix_s", e->unix_s),
                      LPO_KV("revision", e->revision), LPO_KV("figures", e->figures),
                      LPO_KV("digest", lpo_jv_textn(e->text, e->len)));
        file = lpo_path_join(a, dir, lpo_arena_printf(a, ".add-%d", (int)getpid()));
        rc = lpo_file_write(file, lpo_str_text(&text), text.len, err);
    }
    if (rc == 0)
        rc = give_number(a, dir, file, e->name, id, err);
    return rc;
}

/* What stands before the long text, as an object of its own; "": nothing of that kind. */
static int read_head(const char *path, struct lpo_str *out, struct lpo_err *err)
{
    enum { HEAD = 1 << 16 };
    FILE *f = fopen(path, "rbe");
    char *head, *at;

    if (!f)
        return lpo_fail_errno(err, "cannot read '%s'", path);
    head = lpo_xcalloc(HEAD + 1, 1);
    if (fread(head, 1, HEAD, f) == 0)
        head[0] = '\0';
    fclose(f);
    at = strstr(head, "\"figures\":") ? strstr(head, "\"digest\":") : NULL;
    while (at && at > head && *at != ',')
        at--;
    if (at && at > head) {
        lpo_str_addn(out, head, (size_t)(at - head));
        lpo_str_addc(out, '}');
    }
    free(head);
    return 0;
}

static int read_one(const char *dir, const struct found *f, bool brief, lpo_history_fn *each,
                    void *ctx, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_STR head = { 0 };
    const char *path = lpo_path_join(a, dir, f->file);
    const struct lpo_json *root = NULL, *digest;
    struct lpo_history_entry e = { .id = f->id, .name = f->name };

    if (brief && read_head(path, &head, err) < 0)
        return lpo_ctx(err, "history '%s'", dir);
    if (head.len ? lpo_json_parse(a, head.at, head.len, &root, err) < 0
                 : lpo_file_text_read_limit(path, LPO_HISTORY_TEXT * 2, &text, err) < 0 ||
                       lpo_json_parse(a, text->at, text->len, &root, err) < 0)
        return lpo_ctx(err, "history '%s', '%s'", dir, f->file);
    digest = lpo_json_get(root, "digest");
    e.label = lpo_json_text(lpo_json_get(root, "label"), "");
    e.unix_s = lpo_json_int(lpo_json_get(root, "unix_s"), 0);
    e.revision = lpo_json_text(lpo_json_get(root, "revision"), "");
    e.figures = lpo_json_text(lpo_json_get(root, "figures"), "");
    e.text = lpo_json_text(digest, "");
    e.len = digest && digest->kind == LPO_JSON_STRING ? digest->len : 0;
    return each(ctx, &e, err);
}

int lpo_history_folder_each(const char *dir, const struct lpo_history_query *q,
                            lpo_history_fn *each, void *ctx, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_FREED found_vec all = { 0 };
    size_t kept = 0;
    int rc = list(a, dir, &all, err);

    for (size_t i = 0; i < all.len; i++)
        if (!q->name || strcmp(all.at[i].name, q->name) == 0)
            all.at[kept++] = all.at[i];
    for (size_t i = q->last && kept > q->last ? kept - q->last : 0; rc == 0 && i < kept; i++)
        rc = read_one(dir, &all.at[i], q->brief, each, ctx, err);
    return rc;
}
