/* SPDX-License-Identifier: Apache-2.0 */
#include "run/manifest.h"

#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

static const char *const state_names[] = {
    [LPO_PENDING] = "pending",         [LPO_RUNNING] = "running", [LPO_DONE] = "done",
    [LPO_FAILED] = "failed",           [LPO_SKIPPED] = "skipped", [LPO_MISSING] = "missing",
    [LPO_INTERRUPTED] = "interrupted",
};

enum { NSTATES = sizeof state_names / sizeof *state_names };

const char *lpo_run_state_name(enum lpo_state state)
{
    return state_names[state];
}

static int state_from(const char *name)
{
    for (int i = 0; i < NSTATES; i++)
        if (name && strcmp(name, state_names[i]) == 0)
            return i;
    return -1;
}

struct lpo_stage_record *lpo_run_manifest_stage(struct lpo_manifest *m, const char *name)
{
    return lpo_find(i, m->stages, m->nstages, strcmp(m->stages[i].name, name) == 0);
}

/* Grows an arena array of `size`-byte rows by one zeroed row. */
static void *grow(struct lpo_arena *a, void *rows, size_t n, size_t size)
{
    char *grown = lpo_arena_array(a, n + 1, size);

    if (n)
        memcpy(grown, rows, n * size);
    return grown;
}

struct lpo_stage_record *lpo_run_manifest_add(struct lpo_manifest *m, const char *name)
{
    m->stages = grow(m->arena, m->stages, m->nstages, sizeof *m->stages);
    m->stages[m->nstages].name = lpo_arena_strdup(m->arena, name);
    return &m->stages[m->nstages++];
}

void lpo_run_manifest_note(struct lpo_manifest *m, struct lpo_stage_record *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < s->nnotes; i++)
        if (strcmp(s->notes[i], text) == 0)
            return; /* a second try has the same to say */
    s->notes = grow(m->arena, s->notes, s->nnotes, sizeof *s->notes);
    s->notes[s->nnotes++] = lpo_arena_strdup(m->arena, text);
}

void lpo_run_manifest_step(struct lpo_manifest *m, struct lpo_stage_record *s, const char *label,
                           const char *outcome, const struct lpo_result *r)
{
    s->steps = grow(m->arena, s->steps, s->nsteps, sizeof *s->steps);
    s->steps[s->nsteps++] = (struct lpo_step_record){
        .label = lpo_arena_strdup(m->arena, label),
        .outcome = lpo_arena_strdup(m->arena, outcome),
        .exit_code = r->end == LPO_END_EXIT ? r->code : -1,
        .wall_ns = r->wall_ns,
        .user_ns = r->user_ns,
        .system_ns = r->system_ns,
        .peak_rss_bytes = r->peak_rss_bytes,
        .lost_bytes = r->lost_bytes,
    };
}

static void write_stage(struct lpo_json_writer *w, const struct lpo_stage_record *s)
{
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("name", s->name), LPO_KV("state", state_names[s->state]),
               LPO_KV("message", s->message), LPO_KV("started_unix_ns", s->started_ns),
               LPO_KV("wall_ns", s->wall_ns));
    lpo_jw_array(w, "steps");
    for (size_t i = 0; i < s->nsteps; i++) {
        const struct lpo_step_record *x = &s->steps[i];

        lpo_jw_record(w, NULL, LPO_KV("label", x->label), LPO_KV("outcome", x->outcome),
                      LPO_KV("exit_code", lpo_jv_int_if(x->exit_code >= 0, x->exit_code)),
                      LPO_KV("wall_ns", x->wall_ns), LPO_KV("user_ns", x->user_ns),
                      LPO_KV("system_ns", x->system_ns),
                      LPO_KV("peak_rss_bytes", x->peak_rss_bytes),
                      LPO_KV("lost_output_bytes", x->lost_bytes));
    }
    lpo_jw_end(w);
    lpo_jw_texts(w, "notes", s->notes, s->nnotes);
    lpo_jw_texts(w, "files", s->files, s->nfiles);
    lpo_jw_end(w);
}

static void render(const struct lpo_manifest *m, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", LPO_MANIFEST_SCHEMA), LPO_KV("lpo_version", m->version),
               LPO_KV("state", state_names[m->state]), LPO_KV("started_unix_ns", m->started_ns),
               LPO_KV("ended_unix_ns", m->ended_ns), LPO_KV("pid", m->pid),
               LPO_KV("config_fingerprint", m->fingerprint), LPO_KV("call_dir", m->call_dir),
               LPO_KV("chdir", m->chdir));
    lpo_jw_array(&w, "stages");
    for (size_t i = 0; i < m->nstages; i++)
        write_stage(&w, &m->stages[i]);
    lpo_jw_end(&w);
    lpo_jw_end(&w);
}

/* What the manifest says when the user stops lpo before the next save. */
static void prepare_interrupt(const struct lpo_manifest *m)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest stopped = *m;
    LPO_STR out = { 0 };

    stopped.state = LPO_INTERRUPTED;
    stopped.stages = lpo_arena_array(a, m->nstages + 1, sizeof *stopped.stages);
    for (size_t i = 0; i < m->nstages; i++) {
        stopped.stages[i] = m->stages[i];
        if (m->stages[i].state == LPO_RUNNING) {
            stopped.stages[i].state = LPO_INTERRUPTED;
            stopped.stages[i].message = "interrupted";
        }
    }
    render(&stopped, &out);
    lpo_run_interrupt_prepare(lpo_str_text(&out), out.len);
}

int lpo_run_manifest_save(const struct lpo_manifest *m, struct lpo_err *err)
{
    LPO_STR out = { 0 };

    render(m, &out);
    if (lpo_run_interrupt_armed())
        prepare_interrupt(m);
    if (lpo_run_folder_write(m->dir, "run.json", out.at, out.len, err) < 0)
        return lpo_ctx(err, "cannot save the state of this run");
    return 0;
}

static const char **read_texts(struct lpo_arena *a, const struct lpo_json *v, size_t *n)
{
    const char **texts = lpo_arena_array(a, (v ? v->count : 0) + 1, sizeof *texts);

    *n = 0;
    LPO_JSON_EACH(item, v)
    texts[(*n)++] = lpo_json_text(item, "");
    return texts;
}

static void read_steps(struct lpo_manifest *m, struct lpo_stage_record *s, const struct lpo_json *v)
{
    LPO_JSON_EACH(item, v)
    {
        struct lpo_step_record step = {
            .label = lpo_json_text(lpo_json_get(item, "label"), ""),
            .outcome = lpo_json_text(lpo_json_get(item, "outcome"), ""),
            .exit_code = (int)lpo_json_int(lpo_json_get(item, "exit_code"), -1),
            .wall_ns = lpo_json_int(lpo_json_get(item, "wall_ns"), 0),
            .user_ns = lpo_json_int(lpo_json_get(item, "user_ns"), 0),
            .system_ns = lpo_json_int(lpo_json_get(item, "system_ns"), 0),
            .peak_rss_bytes = (uint64_t)lpo_json_int(lpo_json_get(item, "peak_rss_bytes"), 0),
            .lost_bytes = (uint64_t)lpo_json_int(lpo_json_get(item, "lost_output_bytes"), 0),
        };

        s->steps = grow(m->arena, s->steps, s->nsteps, sizeof *s->steps);
        s->steps[s->nsteps++] = step;
    }
}

static int read_stage(struct lpo_manifest *m, const struct lpo_json *v, struct lpo_err *err)
{
    const char *name = lpo_json_text(lpo_json_get(v, "name"), NULL);
    int state = state_from(lpo_json_text(lpo_json_get(v, "state"), NULL));
    struct lpo_stage_record *s;

    if (!name || state < 0)
        return lpo_fail(err, LPO_E_FORMAT, "a stage without a name or a known state");
    s = lpo_run_manifest_add(m, name);
    s->state = (enum lpo_state)state;
    s->message = lpo_json_text(lpo_json_get(v, "message"), NULL);
    s->started_ns = lpo_json_int(lpo_json_get(v, "started_unix_ns"), 0);
    s->wall_ns = lpo_json_int(lpo_json_get(v, "wall_ns"), 0);
    read_steps(m, s, lpo_json_get(v, "steps"));
    s->notes = read_texts(m->arena, lpo_json_get(v, "notes"), &s->nnotes);
    s->files = read_texts(m->arena, lpo_json_get(v, "files"), &s->nfiles);
    return 0;
}

/* "lpo.run/1"; manifests before 0.2 have the bare number. 0: neither. */
static int64_t schema_number(const struct lpo_json *v)
{
    static const char what[] = "lpo.run/";
    const char *text = lpo_json_text(v, NULL);

    if (v && v->kind != LPO_JSON_STRING)
        return lpo_json_int(v, 0);
    return text && lpo_str_starts(text, what) ? strtol(text + sizeof what - 1, NULL, 10) : 0;
}

static int read_manifest(struct lpo_manifest *m, const struct lpo_json *v, struct lpo_err *err)
{
    int64_t schema = schema_number(lpo_json_get(v, "schema"));
    int state = state_from(lpo_json_text(lpo_json_get(v, "state"), NULL));

    if (schema < 1 || state < 0)
        return lpo_fail(err, LPO_E_FORMAT, "not the manifest of a run: no schema or state");
    if (schema > LPO_MANIFEST_NUMBER)
        return lpo_fail(err, LPO_E_FORMAT, "schema %d is newer than this lpo, which reads up to %d",
                        (int)schema, LPO_MANIFEST_NUMBER);
    m->state = (enum lpo_state)state;
    m->version = lpo_json_text(lpo_json_get(v, "lpo_version"), "");
    m->started_ns = lpo_json_int(lpo_json_get(v, "started_unix_ns"), 0);
    m->ended_ns = lpo_json_int(lpo_json_get(v, "ended_unix_ns"), 0);
    m->pid = (long)lpo_json_int(lpo_json_get(v, "pid"), 0);
    m->fingerprint = lpo_json_text(lpo_json_get(v, "config_fingerprint"), NULL);
    m->call_dir = lpo_json_text(lpo_json_get(v, "call_dir"), NULL);
    m->chdir = lpo_json_bool(lpo_json_get(v, "chdir"), false);
    LPO_JSON_EACH(stage, lpo_json_get(v, "stages"))
    if (read_stage(m, stage, err) < 0)
        return err->code;
    return 0;
}

int lpo_run_manifest_load(struct lpo_manifest *m, struct lpo_err *err)
{
    const char *path = lpo_path_join(m->arena, m->dir, "run.json");
    const struct lpo_json *v = NULL;

    if (lpo_json_read_file(m->arena, path, &v, err) < 0)
        return lpo_ctx(err, "cannot read the manifest of this run");
    if (read_manifest(m, v, err) < 0)
        return lpo_ctx(err, "manifest '%s'", path);
    return 0;
}
