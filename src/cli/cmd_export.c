/* SPDX-License-Identifier: Apache-2.0 */
/* lpo export: traces in the formats of other people's viewers. The end of the name chooses. */

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "analysis/tables/tables.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/catalog.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/stack_files.h"
#include "util/file.h"
#include "util/path.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    { "output", 'o', LPO_OPT_TEXT, "FILE", "what to write; its ending chooses the format" },
    { "weight", 0, LPO_OPT_TEXT, "WHAT",
      "of stacks: gpu, exposed, idle, bytes, host or energy; what is shown, or shown first (gpu)" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* What a row is asked to write. */
struct job {
    struct lpo_app *app;
    struct lpo_analysis_run *run;
    const char *path;
    enum lpo_stack_weight weight;
};

static int write_perfetto(const struct job *j, struct lpo_err *err)
{
    LPO_AUTO(lpo_doc)
    doc = lpo_report_timeline_doc(lpo_analysis_run_main(j->run), NULL, NULL);

    return lpo_writer_write(doc, &lpo_writer_perfetto, j->path, err);
}

static int write_database(const struct job *j, struct lpo_err *err)
{
    const struct lpo_tables_of of = lpo_cli_tables_of(j->app, j->run);
    LPO_AUTO(lpo_table_sql) sql = NULL;
    int rc = lpo_table_sql_open(lpo_report_catalog, &of, &sql, err);

    return rc < 0 ? rc : lpo_table_sql_export(sql, j->path, err);
}

static int write_stacks(const struct job *j,
                        void (*write)(const struct lpo_stack_view *view, struct lpo_str *out),
                        struct lpo_err *err)
{
    const struct lpo_analysis *a = lpo_analysis_run_main(j->run);
    const struct lpo_stack_view view = { lpo_analysis_stacks(a), a->tree, lpo_path_base(j->path),
                                         j->weight };
    LPO_STR out = { 0 };

    if (view.stacks->folded)
        fprintf(j->app->log,
                "lpo export: %llu slices and operations are nested too deep, or too many to list "
                "one by one; each counts at the frame around it\n",
                (unsigned long long)view.stacks->folded);
    write(&view, &out);
    return lpo_file_write(j->path, lpo_str_text(&out), out.len, err);
}

static int write_folded(const struct job *j, struct lpo_err *err)
{
    return write_stacks(j, lpo_report_stacks_folded, err);
}

static int write_speedscope(const struct job *j, struct lpo_err *err)
{
    return write_stacks(j, lpo_report_stacks_speedscope, err);
}

static int write_pprof(const struct job *j, struct lpo_err *err)
{
    return write_stacks(j, lpo_report_stacks_pprof, err);
}

/* One more format is one more row. */
static const struct format {
    const char *ending;
    int (*write)(const struct job *j, struct lpo_err *err);
} formats[] = {
    { ".perfetto.json", write_perfetto },
    { ".sqlite", write_database },
    { ".speedscope.json", write_speedscope },
    { ".folded", write_folded },
    { ".pb.gz", write_pprof },
};

enum { FORMATS = sizeof formats / sizeof *formats };

static int find_format(const char *path, const struct format **out, struct lpo_err *err)
{
    LPO_STR endings = { 0 };

    for (size_t i = 0; i < FORMATS; i++) {
        const char *ending = formats[i].ending;

        if (strlen(path) > strlen(ending) &&
            strcmp(path + strlen(path) - strlen(ending), ending) == 0) {
            *out = &formats[i];
            return 0;
        }
        lpo_str_addf(&endings, "%s%s", i ? ", " : "", ending);
    }
    return lpo_fail(err, LPO_E_USAGE, "'%s': its ending must be one of %s", path, endings.at);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *path = lpo_cli_args_text(args, "output", NULL);
    enum lpo_stack_weight weight = lpo_stacks_weight_of(lpo_cli_args_text(args, "weight", "gpu"));
    const struct format *format = NULL;
    LPO_AUTO(lpo_analysis_run) run = NULL;
    int rc;

    if (!args->nwords || !path)
        return lpo_fail(err, LPO_E_USAGE, "usage: lpo export DIR|FILE… -o FILE");
    if (weight == LPO_STACK_WEIGHTS)
        return lpo_fail(err, LPO_E_USAGE,
                        "--weight must be gpu, exposed, idle, bytes, host or energy");
    rc = find_format(path, &format, err);
    if (rc == 0)
        rc = lpo_cli_traces_open(app, args, 0, NULL, &run, err);
    if (rc == 0)
        rc = format->write(&(struct job){ app, run, path, weight }, err);
    if (rc == 0)
        fprintf(app->out, "%s\n", path);
    return rc;
}

const struct lpo_command lpo_cli_cmd_export = {
    .name = "export",
    .summary = "a trace as a file for other viewers",
    .usage = "DIR|FILE… -o FILE",
    .about = "Reads what lpo report reads. The ending of FILE chooses the format.\n\n"
             "  lpo export trace.json.gz -o trace.perfetto.json\n"
             "  lpo export trace.json.gz -o trace.speedscope.json --weight exposed",
    .options = options,
    .run = run,
};
