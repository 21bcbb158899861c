/* SPDX-License-Identifier: Apache-2.0 */
/* lpo digest: the trace of a rank in little space, where it lies, for a report over all ranks. */

#include "cli/app.h"
#include "cli/command.h"
#include "pipeline/stage.h"
#include "rundir/rundir.h"
#include "trace/digest/digest.h"
#include "trace/reader.h"
#include "util/file.h"
#include "util/path.h"

static const struct lpo_option options[] = {
    { "output", 'o', LPO_OPT_TEXT, "FILE.lpod", "what to write (default: the trace's name.lpod)" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* "rank3.json.gz" and "rank3.pt.trace.json" become "rank3.lpod" and "rank3.pt.trace.lpod". */
static const char *name_beside(struct lpo_arena *a, const char *path)
{
    static const char *const endings[] = {
        ".gz", ".zst", ".json", ".lpot", ".sqlite", ".nsys-rep"
    };
    LPO_STR name = { 0 };

    lpo_str_add(&name, path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (lpo_str_ends(name.at, endings[i]))
            name.at[name.len -= strlen(endings[i])] = '\0';
    return lpo_arena_printf(a, "%s.lpod", name.at);
}

/* Of a digest, what that was made of. */
static struct lpo_digest_origin origin_of(struct lpo_arena *a, const struct lpo_source *s,
                                          const char *path)
{
    struct lpo_digest_origin o = { s->kind->formats[0], lpo_path_base(path) };
    const struct lpo_reader *r = NULL;

    if (!lpo_digest_origin_of(a, path, &o) && lpo_trace_reader_find(path, &r, NULL) == 0)
        o.format = r->like ? r->like : r->name;
    return o;
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena) };
    const char *path = lpo_cli_args_text(args, "output", NULL);
    LPO_AUTO(lpo_rundir) d = NULL;
    struct lpo_digest_origin origin;
    const struct lpo_source *s;
    LPO_STR bytes = { 0 };

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "usage: lpo digest DIR|FILE… [-o FILE.lpod]");
    path = path ? path : name_beside(app->arena, args->words[0]);
    if (!lpo_str_ends(path, ".lpod"))
        return lpo_fail(err, LPO_E_USAGE, "'%s': the name of a digest ends in .lpod", path);
    if (lpo_rundir_of_paths(args->words, args->nwords, &o, &d, err) < 0)
        return lpo_ctx(err, "cannot make a digest of '%s'", args->words[0]);
    s = lpo_rundir_main(d);
    if (!s)
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no trace", args->words[0]);
    origin = origin_of(app->arena, s, lpo_rundir_path(d, s->files[0]));
    lpo_digest_add(s->trace, &origin, &bytes);
    if (lpo_file_write(path, bytes.at, bytes.len, err) < 0)
        return err->code;
    fprintf(app->out, "%s\n", path);
    return 0;
}

const struct lpo_command lpo_cli_cmd_digest = {
    .name = "digest",
    .summary = "the trace of a rank in little space, for a report over all ranks",
    .usage = "DIR|FILE… [-o FILE.lpod]",
    .about =
        "Holds every event, so a report of digests is the report of the traces. Made where the\n"
        "traces lie, it is what has to travel.\n\n"
        "  lpo digest rank3.json.gz -o rank3.lpod\n"
        "  srun lpo digest \"trace_$SLURM_PROCID.json\"\n"
        "  lpo report *.lpod",
    .options = options,
    .run = run,
};
