/* SPDX-License-Identifier: Apache-2.0 */
/* lpo top: the most expensive kernels, and the file that `lpo kernels` starts from. */

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/top_yaml.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "util/file.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv or json"),
    { "kernels", 'k', LPO_OPT_LIST, "PATTERN", "only these kernels (glob or regex:…); repeatable" },
    { "no-kernels", 0, LPO_OPT_LIST, "PATTERN", "not these kernels; wins over --kernels" },
    { "rows", 'n', LPO_OPT_TEXT, "N",
      "only the first N kernels; 0: all (default: 20 in a table, all in JSON and YAML)" },
    { "output", 'o', LPO_OPT_TEXT, "FILE", "also write a YAML list for `lpo kernels`" },
    { "full-names", 0, LPO_OPT_FLAG, NULL, "whole names of kernels, not short ones" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static void print(struct lpo_app *app, const struct lpo_args *args, const struct lpo_analysis *a,
                  const struct lpo_writer *writer, size_t most)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create_data(LPO_TOP_SCHEMA, "top", "Top kernels");

    if (writer->records) {
        lpo_report_put_kernels(doc->data, a, most);
        lpo_report_put_notes(doc->data, a, a->select);
    } else {
        doc->whole = lpo_cli_args_has(args, "full-names");
        lpo_doc_section(doc, "top", "", 1);
        lpo_report_add_top_kernels(doc, a, NULL, lpo_cli_args_has(args, "rows") ? most : 20);
        lpo_report_add_total(doc, a);
        lpo_report_notes_doc(doc, a, a->select);
    }
    lpo_cli_print_doc(app, doc, writer);
}

static int show(struct lpo_app *app, const struct lpo_args *args, const struct lpo_analysis *a,
                const struct lpo_writer *writer, struct lpo_err *err)
{
    const char *output = lpo_cli_args_text(args, "output", NULL);
    const lpo_top_rows *rows = lpo_analysis_top(a, LPO_KERNEL);
    size_t most = 0, count;
    int rc = lpo_cli_count_from_args(args, "rows", 0, &most, err);

    count = most && most < rows->len ? most : rows->len;
    if (rc == 0 && output) {
        LPO_STR yaml = { 0 };

        lpo_report_top_yaml(&yaml, a->cells, rows->at, count);
        rc = lpo_file_write(output, lpo_str_text(&yaml), yaml.len, err);
    }
    if (rc == 0)
        print(app, args, a, writer, most);
    return rc;
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_region_selection *select = NULL;
    LPO_AUTO(lpo_analysis_run) traces = NULL;
    const struct lpo_writer *writer = NULL;
    int rc;

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "no trace is given; usage: lpo top DIR|FILE…");
    rc = lpo_cli_writer_from_args(args, &writer, err);
    if (rc == 0)
        rc = lpo_cli_selection_from_args(args, &select, err);
    if (rc == 0)
        rc = lpo_cli_traces_open(
            app, args, LPO_SKIP_OPS | LPO_SKIP_RANGES | LPO_SKIP_LAUNCHES | LPO_SKIP_CALLS, select,
            &traces, err);
    return rc < 0 ? rc : show(app, args, lpo_analysis_run_main(traces), writer, err);
}

const struct lpo_command lpo_cli_cmd_top = {
    .name = "top",
    .summary = "the most expensive kernels of any trace or report that lpo reads",
    .usage = "DIR|FILE… [-n N] [--json] [-o top.yaml]",
    .about = "DIR is a run folder, or a folder of traces.\n\n"
             "  lpo top trace.json.gz -n 10\n"
             "  lpo top run.sqlite --kernels '*gemm*' -o top.yaml   # for lpo kernels",
    .options = options,
    .run = run,
};
