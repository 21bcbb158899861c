/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_options.h"

#include <errno.h>

#include "analysis/run.h"
#include "cli/app.h"
#include "pipeline/stage.h"
#include "region/select.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "writer/writer.h"

static bool is_bare(const char *pattern, const char *special)
{
    return !lpo_str_starts(pattern, "regex:") && !strpbrk(pattern, special);
}

int lpo_cli_selection_from_args(const struct lpo_args *args, struct lpo_region_selection **out,
                                struct lpo_err *err)
{
    static const struct {
        const char *option;
        enum lpo_select_list list;
        const char *special; /* a word without any of these is a part of a name, because nobody
                                types whole names of kernels; NULL: it is the name */
    } lists[] = {
        { "include", LPO_REGIONS_INCLUDE, NULL },
        { "region", LPO_REGIONS_INCLUDE, "*?[\\/@:" },
        { "exclude", LPO_REGIONS_EXCLUDE, NULL },
        { "kernels", LPO_KERNELS_INCLUDE, "*?[\\" },
        { "no-kernels", LPO_KERNELS_EXCLUDE, "*?[\\" },
    };
    LPO_AUTO(lpo_region_selection) s = lpo_region_selection_create();

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const char *const *p = lpo_cli_args_list(args, lists[i].option); *p; p++) {
            LPO_STR part = { 0 };
            bool bare = lists[i].special && is_bare(*p, lists[i].special);
            int rc;

            if (bare)
                lpo_str_addf(&part, "*%s*", *p);
            rc = lpo_region_selection_add(s, lists[i].list, bare ? part.at : *p, err);

            if (rc < 0)
                return lpo_ctx(err, "--%s", lists[i].option);
        }
    }
    lpo_region_selection_set_full_names(s, lpo_cli_args_has(args, "full-names"));
    *out = s;
    s = NULL;
    return 0;
}

int lpo_cli_no_trace(const char *path, const struct lpo_rundir *d, struct lpo_err *err)
{
    if (d->problems.len)
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no trace that can be read: %s", path,
                        d->problems.at[0]);
    return lpo_fail(err, LPO_E_NOTFOUND, "'%s': %s", path, lpo_report_why_no_trace(d));
}

int lpo_cli_traces_open(struct lpo_app *app, const struct lpo_args *args, unsigned skip,
                        struct lpo_region_selection *select, struct lpo_analysis_run **out,
                        struct lpo_err *err)
{
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena),
                                    .skip = skip,
                                    .select = select };
    LPO_AUTO(lpo_analysis_run) run = NULL;

    if (lpo_analysis_run_of_paths(args->words, args->nwords, &o, &run, err) < 0)
        return err->code;
    if (!lpo_rundir_main(run->dir))
        return lpo_cli_no_trace(args->words[0], run->dir, err);
    for (size_t i = 0; i < run->dir->problems.len; i++)
        fprintf(app->log, "lpo: warning: %s\n", run->dir->problems.at[i]);
    *out = run;
    run = NULL;
    return 0;
}

int lpo_cli_writer_from_args(const struct lpo_args *args, const struct lpo_writer **out,
                             struct lpo_err *err)
{
    const char *name =
        lpo_cli_args_text(args, "format", lpo_cli_args_has(args, "json") ? "json" : "text");
    const char *names[16] = { NULL };
    const char *near, *formats = "";
    size_t n = 0;

    for (const struct lpo_option *o = args->table; o->name; o++)
        if (strcmp(o->name, "format") == 0)
            formats = o->help;
    *out = lpo_writer_find(name);
    if (*out && strstr(formats, name))
        return 0;
    for (size_t i = 0; n < 16 && lpo_writer_at(i); i++)
        if (strstr(formats, lpo_writer_at(i)->name))
            names[n++] = lpo_writer_at(i)->name;
    if (strcmp(name, "html") == 0)
        return lpo_fail(err, LPO_E_USAGE,
                        "--format must be %s, not 'html'; `lpo report` makes the page", formats);
    near = lpo_str_nearest(name, names, n);
    return lpo_fail(err, LPO_E_USAGE, "--format must be %s, not '%s'%s%s%s", formats, name,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int lpo_cli_count_from_args(const struct lpo_args *args, const char *option, size_t fallback,
                            size_t *out, struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(args, option, NULL);
    char *end;
    unsigned long long n;

    *out = fallback;
    if (!text)
        return 0;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || *end || end == text || text[0] == '-' || n > 1000000000)
        return lpo_fail(err, LPO_E_USAGE, "--%s must be a whole number, not '%s'", option, text);
    *out = (size_t)n;
    return 0;
}
