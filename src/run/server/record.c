/* SPDX-License-Identifier: Apache-2.0 */
#include "run/server/record.h"

#include <glob.h>
#include <stdarg.h>
#include <string.h>

#include "run/server/plan.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

void lpo_run_server_record_note(struct lpo_server_record *r, struct lpo_arena *a, const char *fmt,
                                ...)
{
    LPO_STR text = { 0 };
    va_list ap;

    if (r->nnotes == LPO_SERVER_NOTES)
        return;
    va_start(ap, fmt);
    lpo_str_addv(&text, fmt, ap);
    va_end(ap);
    r->notes[r->nnotes++] = lpo_arena_strdup(a, lpo_str_text(&text));
}

/* Some clients choose a part of the name themselves, so it may be a pattern; the last in the order
 * of names is the latest of those with a date in them. NULL: no such file. */
static const char *find_result(const struct lpo_server_plan *p, struct lpo_arena *a)
{
    const char *found = NULL;
    size_t below = strlen(p->out_dir) + 1;
    LPO_STR pattern = { 0 };
    glob_t all;

    for (const char *c = p->out_dir; *c; c++) { /* the folder is a name, not a pattern */
        if (strchr("*?[\\", *c))
            lpo_str_addc(&pattern, '\\');
        lpo_str_addc(&pattern, *c);
    }
    lpo_str_addf(&pattern, "/%s", p->result);
    if (glob(pattern.at, 0, NULL, &all) != 0)
        return NULL;
    if (all.gl_pathc && strlen(all.gl_pathv[all.gl_pathc - 1]) > below)
        found = lpo_arena_strdup(a, all.gl_pathv[all.gl_pathc - 1] + below);
    globfree(&all);
    return found;
}

static void write_ms(struct lpo_json_writer *w, const char *key, int64_t ns)
{
    if (ns)
        lpo_jw_real(w, key, (double)ns / 1e6);
    else
        lpo_jw_null(w, key);
}

static void write_window(struct lpo_json_writer *w, const struct lpo_server_record *r,
                         const struct lpo_server_plan *plan)
{
    lpo_jw_object(w, "window");
    lpo_jw_text(w, "over", plan->window);
    if (r->to_unix_ns) {
        lpo_jw_int(w, "from_unix_ns", r->from_unix_ns);
        lpo_jw_int(w, "to_unix_ns", r->to_unix_ns);
    } else {
        lpo_jw_null(w, "from_unix_ns");
        lpo_jw_null(w, "to_unix_ns");
    }
    if (r->recorded >= 0)
        lpo_jw_int(w, "processes", r->recorded);
    else
        lpo_jw_null(w, "processes");
    lpo_jw_end(w);
}

int lpo_run_server_record_write(struct lpo_server_record *r, const struct lpo_server_plan *plan,
                                struct lpo_arena *a, struct lpo_err *err)
{
    const char *result = find_result(plan, a);
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    if (!result && r->load_ns)
        lpo_run_server_record_note(r, a,
                                   "the client left no %s: the report has no figures of its "
                                   "requests (workload.server.load.result; @out@ in its words is "
                                   "the folder)",
                                   plan->result);
    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo.server/1");
    lpo_jw_int(&w, "port", plan->port);
    write_ms(&w, "ready_ms", r->ready_ns);
    write_ms(&w, "warmup_ms", r->warmup_ns);
    write_ms(&w, "load_ms", r->load_ns);
    write_ms(&w, "stop_ms", r->stop_ns);
    write_window(&w, r, plan);
    lpo_jw_text(&w, "server_end", r->server_end);
    lpo_jw_text(&w, "client_end", r->client_end);
    lpo_jw_text(&w, "client_result", result);
    lpo_jw_text(&w, "problem", r->problem);
    lpo_jw_array(&w, "notes");
    for (size_t i = 0; i < r->nnotes; i++)
        lpo_jw_text(&w, NULL, r->notes[i]);
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    return lpo_file_write(lpo_path_join(a, plan->out_dir, "server.json"), text.at, text.len, err);
}
