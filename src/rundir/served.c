/* SPDX-License-Identifier: Apache-2.0 */
/* What a run folder holds of a server and its clients: workload/<stage>/server.json, and the JSON
 * of the client that it names. */

#include "rundir/private.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

enum { MOST_BYTES = 64 << 20 }; /* a client may list every token */

/* A run folder may come from anyone: the client's file is one below server.json, and no other. */
static bool is_below(const char *name)
{
    return *name && *name != '/' && strncmp(name, "../", 3) != 0 && !strstr(name, "/../") &&
           !lpo_str_ends(name, "/..") && strcmp(name, "..") != 0;
}

/* A client that appends a line for each of its runs (SGLang's) leaves the last one last. */
static int parse(struct lpo_arena *a, const struct lpo_file_text *text, const struct lpo_json **out,
                 struct lpo_err *err)
{
    size_t end = text->len, from;

    if (lpo_json_parse_python(a, text->at, text->len, out, err) == 0)
        return 0;
    while (end && strchr(" \t\r\n", text->at[end - 1]))
        end--;
    for (from = end; from && text->at[from - 1] != '\n';)
        from--;
    if (from == 0 || from == end)
        return err->code;
    *err = (struct lpo_err){ 0 };
    return lpo_json_parse_python(a, text->at + from, end - from, out, err);
}

static void read_client(struct lpo_rundir *d, struct lpo_served *s)
{
    const char *name = lpo_json_text(lpo_json_get(s->server, "client_result"), NULL);
    const char *below, *path;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err err = { 0 };

    if (!name || !is_below(name))
        return;
    below = lpo_arena_printf(d->arena, "workload/%s/%s", s->stage, name);
    path = lpo_path_join(d->arena, d->dir, below);
    if (lpo_file_text_read_limit(path, MOST_BYTES, &text, &err) < 0 ||
        parse(d->arena, text, &s->client, &err) < 0)
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, below, &err));
}

void lpo_rundir_add_served(struct lpo_rundir *d, const char *stage, const char *file)
{
    struct lpo_served s = { .stage = stage };
    struct lpo_err err = { 0 };

    if (lpo_json_read_file(d->arena, lpo_path_join(d->arena, d->dir, file), &s.server, &err) < 0) {
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, file, &err));
        return;
    }
    if (!lpo_streq(lpo_json_text(lpo_json_get(s.server, "schema"), NULL), "lpo.server/1"))
        return; /* a program of the user's wrote a file of that name */
    read_client(d, &s);
    lpo_vec_push(&d->served, s);
}
