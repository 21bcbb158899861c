/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "run/secrets/secrets.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

enum {
    MOST_JOBS = 1000000,
    MOST_WORDS = 10000,
    MOST_ARRAYS = 100000,
    MOST_BYTES = 256 << 20,
};

static const char *file_at(const struct lpo_sweep_plan *p, const char *name)
{
    return lpo_path_join(p->arena, lpo_path_join(p->arena, p->dir, LPO_SWEEP_FOLDER), name);
}

/* --- secrets -------------------------------------------------------------------------------- */

/* KEY='${oc.env:NAME}': where the secret is, and not what it is. */
static bool is_reference(const char *override)
{
    const char *value = strchr(override, '='), *name;
    size_t quoted, n;

    if (!value)
        return false;
    value++;
    quoted = *value == '\'' || *value == '"';
    if (!lpo_str_starts(value + quoted, "${oc.env:"))
        return false;
    name = value + quoted + strlen("${oc.env:");
    n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return n && name[n] == '}' && strlen(name + n + 1) == quoted;
}

static const char *secret_override(struct lpo_arena *a, const char *const *words)
{
    for (; words && *words; words++) {
        const char *masked = lpo_secrets_mask_override(a, *words);

        if (!is_reference(*words) && strcmp(masked, *words) != 0)
            return lpo_secrets_mask_text(a, masked);
    }
    return NULL;
}

const char *lpo_sweep_plan_secret(const struct lpo_sweep_plan *plan)
{
    const char *found = secret_override(plan->arena, (const char *const *)plan->words);
    const char *const *program = (const char *const *)plan->program;
    size_t n = 0;
    int word;

    for (size_t i = 0; !found && i < plan->count; i++)
        found = secret_override(plan->arena, (const char *const *)plan->jobs[i].words);
    while (program && program[n])
        n++;
    word = found ? -1 : lpo_secrets_in_command(program, n);
    return word < 0 ? found
                    : lpo_arena_printf(plan->arena, "word %d after '--', behind '%s'", word + 1,
                                       word ? lpo_secrets_mask_text(plan->arena, program[word - 1])
                                            : "--");
}

/* --- out ------------------------------------------------------------------------------------ */

static void put_words(struct lpo_json_writer *w, const char *key, const char *const *words)
{
    if (!words) {
        lpo_jw_put(w, LPO_KV(key, lpo_jv_null()));
        return;
    }
    lpo_jw_array(w, key);
    for (; *words; words++)
        lpo_jw_put(w, LPO_V(*words));
    lpo_jw_end(w);
}

int lpo_sweep_plan_save(const struct lpo_sweep_plan *p, struct lpo_err *err)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 1);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", LPO_SWEEP_SCHEMA), LPO_KV("cwd", p->cwd),
               LPO_KV("config_dir", p->config_dir), LPO_KV("config_name", p->config_name));
    put_words(&w, "overrides", (const char *const *)p->words);
    put_words(&w, "program", (const char *const *)p->program);
    lpo_jw_array(&w, "jobs");
    for (size_t i = 0; i < p->count; i++) {
        lpo_jw_object(&w, NULL);
        lpo_jw_put(&w, LPO_KV("num", p->jobs[i].num), LPO_KV("shown", p->jobs[i].shown));
        put_words(&w, "overrides", (const char *const *)p->jobs[i].words);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_array(&w, "arrays");
    for (size_t i = 0; i < p->narrays; i++)
        lpo_jw_record(&w, NULL, LPO_KV("id", p->arrays[i].id),
                      LPO_KV("offset", p->arrays[i].offset));
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    return lpo_file_write_private(file_at(p, "plan.json"), lpo_str_text(&out), out.len, err);
}

int lpo_sweep_plan_begin(const struct lpo_sweep_plan *p, struct lpo_err *err)
{
    const char *folder = lpo_path_join(p->arena, p->dir, LPO_SWEEP_FOLDER);
    struct dirent *e;
    DIR *d;

    if (lpo_file_make_dirs(folder, err) < 0)
        return lpo_ctx(err, "cannot make the folder of the sweep");
    d = lpo_path_open_dir(folder);
    while (d && (e = readdir(d)))
        if (lpo_str_ends(e->d_name, ".json"))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    return 0;
}

int lpo_sweep_plan_lock(const struct lpo_sweep_plan *p, int *fd, struct lpo_err *err)
{
    *fd = open(file_at(p, "lock"), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd < 0)
        return lpo_fail_errno(err, "cannot lock the sweep '%s'", p->dir);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    close(*fd);
    *fd = -1;
    if (errno != EWOULDBLOCK)
        return 0;
    return lpo_fail(err, LPO_E_USAGE, "another lpo is at work on the sweep '%s'", p->dir);
}

/* --- in ------------------------------------------------------------------------------------- */

static const char **take_words(struct lpo_arena *a, const struct lpo_json *list)
{
    size_t n = list && list->count < MOST_WORDS ? list->count : 0, i = 0;
    const char **words;

    if (!list || list->kind != LPO_JSON_ARRAY)
        return NULL;
    words = lpo_arena_array(a, n + 1, sizeof *words);
    LPO_JSON_EACH(v, list)
    {
        if (i < n && v->kind == LPO_JSON_STRING && strlen(v->text) == v->len)
            words[i++] = lpo_arena_strdup(a, v->text);
    }
    return words;
}

static int take_jobs(struct lpo_sweep_plan *p, const struct lpo_json *list, struct lpo_err *err)
{
    if (!list || list->kind != LPO_JSON_ARRAY || list->count > MOST_JOBS)
        return lpo_fail(err, LPO_E_FORMAT, "'jobs' is not a list of at most %d", MOST_JOBS);
    p->jobs = lpo_arena_array(p->arena, list->count + 1, sizeof *p->jobs);
    LPO_JSON_EACH(v, list)
    {
        struct lpo_sweep_plan_job *j = &p->jobs[p->count];
        int64_t shown = lpo_json_int(lpo_json_get(v, "shown"), 0);
        size_t n = 0;

        j->num = lpo_json_int(lpo_json_get(v, "num"), -1);
        j->words = take_words(p->arena, lpo_json_get(v, "overrides"));
        if (j->num < 0 || j->num > INT32_MAX || !j->words)
            return lpo_fail(err, LPO_E_FORMAT, "job %zu has no number or no overrides", p->count);
        while (j->words[n])
            n++;
        j->shown = shown < 0 ? 0 : (uint64_t)shown > n ? n : (size_t)shown;
        p->count++;
    }
    return 0;
}

void lpo_sweep_plan_add_array(struct lpo_sweep_plan *p, const char *id, int64_t offset)
{
    struct lpo_sweep_array *more =
        lpo_arena_array(p->arena, p->narrays + 1, sizeof *more); /* a handful, seldom */

    if (p->narrays)
        memcpy(more, p->arrays, p->narrays * sizeof *more);
    more[p->narrays++] = (struct lpo_sweep_array){ lpo_arena_strdup(p->arena, id), offset };
    p->arrays = more;
}

/* An id goes into command lines: digits, and nothing else. */
static bool is_id(const char *text)
{
    return *text && strlen(text) < 20 && text[strspn(text, "0123456789")] == '\0';
}

static const char *text_or_null(struct lpo_arena *a, const struct lpo_json *v)
{
    return v && v->kind == LPO_JSON_STRING ? lpo_arena_strdup(a, v->text) : NULL;
}

static int take_plan(struct lpo_sweep_plan *p, const struct lpo_json *root, struct lpo_err *err)
{
    if (strcmp(lpo_json_text(lpo_json_get(root, "schema"), ""), LPO_SWEEP_SCHEMA) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "its schema is not %s", LPO_SWEEP_SCHEMA);
    p->cwd = text_or_null(p->arena, lpo_json_get(root, "cwd"));
    p->config_dir = text_or_null(p->arena, lpo_json_get(root, "config_dir"));
    p->config_name = text_or_null(p->arena, lpo_json_get(root, "config_name"));
    p->words = take_words(p->arena, lpo_json_get(root, "overrides"));
    p->program = take_words(p->arena, lpo_json_get(root, "program"));
    if (!p->cwd || !p->words || (p->program && !p->program[0]))
        return lpo_fail(err, LPO_E_FORMAT,
                        "'cwd', 'overrides' or 'program' is missing or has the wrong type");
    LPO_JSON_EACH(v, lpo_json_get(root, "arrays"))
    {
        const char *id = lpo_json_text(lpo_json_get(v, "id"), "");
        int64_t offset = lpo_json_int(lpo_json_get(v, "offset"), 0);

        if (is_id(id) && offset >= 0 && offset <= INT32_MAX && p->narrays < MOST_ARRAYS)
            lpo_sweep_plan_add_array(p, id, offset);
    }
    return take_jobs(p, lpo_json_get(root, "jobs"), err);
}

bool lpo_sweep_plan_exists(struct lpo_arena *a, const char *dir)
{
    struct lpo_sweep_plan p = { .arena = a, .dir = dir };

    return lpo_path_exists(file_at(&p, "plan.json"));
}

int lpo_sweep_plan_load(struct lpo_arena *a, const char *dir, struct lpo_sweep_plan *out,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_arena) parsing = lpo_arena_create();
    const struct lpo_json *root = NULL;
    const char *file;

    *out = (struct lpo_sweep_plan){ .arena = a, .dir = lpo_path_absolute(a, dir) };
    file = file_at(out, "plan.json");
    if (lpo_file_text_read_limit(file, MOST_BYTES, &text, err) < 0 ||
        lpo_json_parse(parsing, text->at, text->len, &root, err) < 0 ||
        take_plan(out, root, err) < 0)
        return lpo_ctx(err, "the plan of the sweep, '%s'", file);
    return 0;
}
