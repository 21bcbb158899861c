/* SPDX-License-Identifier: Apache-2.0 */
/* lpo operators: what the framework called, by input shapes, and how near each came to the roof. */
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv or json"),
    { "rows", 'n', LPO_OPT_TEXT, "N",
      "only the first N rows; 0: all (default: 30 in a table, all in JSON and CSV)" },
    { "rule", 0, LPO_OPT_LIST, "KNOWN=PATTERN",
      "operators of yours that compute as a known one does: aten::linear=my::gemm*; repeatable" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* The source that has operators; of files that were given, the one there is. */
static const struct lpo_source *with_operators(const struct lpo_analysis_run *run)
{
    const struct lpo_source *s = lpo_rundir_source_with(run->dir, LPO_ROLE_OPERATORS);

    for (size_t i = 0; !s && i < run->dir->sources.len; i++)
        if (run->dir->sources.at[i].analysis && run->dir->sources.at[i].trace->ops.len)
            s = &run->dir->sources.at[i];
    return s && s->analysis && s->trace->ops.len ? s : NULL;
}

static int show(struct lpo_app *app, const struct lpo_args *args,
                const struct lpo_analysis_run *run, const struct lpo_writer *writer,
                struct lpo_err *err)
{
    const struct lpo_source *s = with_operators(run);
    LPO_AUTO(lpo_doc) doc = lpo_doc_create_data(LPO_OPERATORS_SCHEMA, "operators", "Operators");
    const struct lpo_hardware *hw = NULL;
    size_t most = 0;

    if (!s)
        return lpo_fail(err, LPO_E_FORMAT,
                        "no operators are in it: they come from the PyTorch profiler "
                        "(pipeline.torch_profiler.enable=true, or a trace of torch.profiler)");
    if (lpo_cli_count_from_args(args, "rows", writer->records ? 0 : 30, &most, err) < 0 ||
        lpo_rundir_hardware(run->dir, s, &hw, err) < 0)
        return err->code;
    if (writer->records) {
        lpo_report_put_operators(doc, s->analysis, hw, most);
        lpo_report_put_notes(doc->data, s->analysis, NULL);
    } else {
        lpo_doc_section(doc, "operators", "", 1);
        lpo_report_add_operator_shapes(doc, s->analysis, hw, most);
        lpo_report_add_replays(doc, s->analysis, hw, most);
        lpo_report_notes_doc(doc, s->analysis, NULL);
    }
    lpo_cli_print_doc(app, doc, writer);
    return 0;
}

static int read_rules(const struct lpo_args *args, struct lpo_analysis_run *run,
                      struct lpo_err *err)
{
    const char *const *rules = lpo_cli_args_list(args, "rule");
    size_t count = 0;

    while (rules[count])
        count++;
    return lpo_analysis_run_operator_rules(run, rules, count, err);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    LPO_AUTO(lpo_analysis_run) traces = NULL;
    const struct lpo_writer *writer = NULL;
    int rc;

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "no trace is given; usage: lpo operators DIR|FILE…");
    rc = lpo_cli_writer_from_args(args, &writer, err);
    if (rc == 0)
        rc = lpo_cli_traces_open(app, args, LPO_SKIP_METRICS | LPO_SKIP_CALLS, NULL, &traces, err);
    if (rc == 0)
        rc = read_rules(args, traces, err);
    return rc < 0 ? rc : show(app, args, traces, writer, err);
}

const struct lpo_command lpo_cli_cmd_operators = {
    .name = "operators",
    .summary = "framework operators by input shapes: time, FLOPs, bytes, share of the roof",
    .usage = "DIR|FILE… [-n N] [--json]",
    .about = "Operators come from traces of the PyTorch profiler, with shapes where it recorded "
             "them\n(record_shapes=True). DIR is a run folder, or a folder of traces.\n\n"
             "  lpo operators trace.json.gz -n 10\n"
             "  lpo operators rank*.json.gz --json > operators.json",
    .options = options,
    .run = run,
};
