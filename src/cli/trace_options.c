/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/app.h"
#include "pipeline/stage.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

int lpo_cli_selection_from_args(const struct lpo_args *args, struct lpo_region_selection **out,
                                struct lpo_err *err)
{
    static const struct {
        const char *option;
        enum lpo_select_list list;
    } lists[] = {
        { "include", LPO_REGIONS_INCLUDE },
        { "exclude", LPO_REGIONS_EXCLUDE },
        { "kernels", LPO_KERNELS_INCLUDE },
        { "no-kernels", LPO_KERNELS_EXCLUDE },
    };
    LPO_AUTO(lpo_region_selection) s = lpo_region_selection_create();

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const char *const *p = lpo_cli_args_list(args, lists[i].option); *p; p++) {
            int rc = lpo_region_selection_add(s, lists[i].list, *p, err);

            if (rc < 0)
                return lpo_ctx(err, "--%s", lists[i].option);
        }
    }
    *out = s;
    s = NULL;
    return 0;
}

/* A shell pattern for the first traces that a report of the folder would read, for a message that
 * can be copied; NULL: there are none. */
static const char *traces_in(struct lpo_arena *a, const char *dir)
{
    const char **files;
    size_t n;

    for (size_t k = 0; lpo_rundir_trace_files(a, dir, lpo_pipeline_trace_kinds(a), k, &files, &n);
         k++) {
        const char *base = n ? lpo_path_base(files[0]) : "", *dot = strchr(base, '.');

        if (n)
            return lpo_arena_printf(a, "%.*s*%s", (int)(base - files[0]), files[0], dot ? dot : "");
    }
    return NULL;
}

int lpo_cli_trace_files_check(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    for (size_t i = 0; i < args->nwords; i++) {
        const char *word = args->words[i], *traces;

        if (!lpo_path_is_dir(word))
            continue;
        traces = traces_in(app->arena, word);
        if (traces)
            return lpo_fail(err, LPO_E_USAGE,
                            "'%s' is a folder: give the traces in it (%s), or rebuild the reports "
                            "of a run with lpo report %s",
                            word, traces, word);
        return lpo_fail(err, LPO_E_USAGE, "'%s' is a folder: give the trace files in it", word);
    }
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

void lpo_cli_print_doc(struct lpo_app *app, const struct lpo_doc *doc,
                       const struct lpo_writer *writer)
{
    LPO_STR out = { 0 };

    writer->write(doc, &out);
    fwrite(lpo_str_text(&out), 1, out.len, app->out);
}
