/* SPDX-License-Identifier: Apache-2.0 */
/* lpo regions: time by region of any trace or report that lpo reads. */

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv, json or perfetto"),
    LPO_SELECT_OPTIONS,
    { "scope", 's', LPO_OPT_LIST, "S",
      "aggregate (default), process:PID, device:ID, rank:N, or all; repeatable" },
    { "no-aggregate", 0, LPO_OPT_FLAG, NULL, "leave the aggregate out of the JSON" },
    { "rows", 'n', LPO_OPT_TEXT, "N", "at most N lines per table (default, and 0: all)" },
    { "fold-over", 0, LPO_OPT_TEXT, "N",
      "one line for regions that differ only in a number, where they are more than N (8)" },
    { "no-fold", 0, LPO_OPT_FLAG, NULL, "one line for every region" },
    { "metrics", 0, LPO_OPT_FLAG, NULL,
      "bytes and activity of each region too, where counters were sampled" },
    { "full-names", 0, LPO_OPT_FLAG, NULL, "whole names of kernels, not short ones" },
    { "modules", 0, LPO_OPT_FLAG, NULL,
      "calls of PyTorch modules as regions too, where Python stacks were recorded" },
    { "backward", 0, LPO_OPT_FLAG, NULL,
      "kernels of the backward pass, by the region of their forward (PyTorch traces)" },
    { "adopt", 0, LPO_OPT_TEXT, "A",
      "kernels of threads without ranges: auto (default: shown apart, with the one thread that was "
      "in a region) or off" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* Names asked for with --scope; `aggregate` when none were. */
static bool scope_asked(const char *const *asked, const char *name)
{
    if (!*asked)
        return strcmp(name, "aggregate") == 0;
    for (; *asked; asked++)
        if (strcmp(*asked, "all") == 0 || strcmp(*asked, name) == 0)
            return true;
    return false;
}

static int check_scopes(const struct lpo_args *args, const struct lpo_analysis *a,
                        struct lpo_err *err)
{
    const char *const *asked = lpo_cli_args_list(args, "scope");
    LPO_FREED lpo_scope_ids ids = { 0 };
    LPO_STR names = { 0 };
    int rc = 0;

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        lpo_str_add(&names, " ");
        lpo_region_scope_add_name(a->trace, ids.at[i], &names);
    }
    lpo_str_add(&names, " all ");
    for (; *asked && rc == 0; asked++) {
        LPO_STR word = { 0 };

        lpo_str_addf(&word, " %s ", *asked);
        if (!strstr(names.at, word.at))
            rc = lpo_fail(err, LPO_E_USAGE, "there is no scope '%s'; the scopes are:%s", *asked,
                          names.at);
    }
    return rc;
}

static void put_records(const struct lpo_args *args, const struct lpo_analysis *a,
                        struct lpo_record *data)
{
    lpo_report_put_scopes(data, a, !lpo_cli_args_has(args, "no-aggregate"));
    lpo_report_put_devices(data, a);
    lpo_report_put_notes(data, a, a->select);
}

static int add_sections(const struct lpo_args *args, const struct lpo_analysis *a,
                        struct lpo_doc *doc, struct lpo_err *err)
{
    struct lpo_table_options o = { 0 };
    lpo_scope_ids ids = { 0 };
    int rc = check_scopes(args, a, err);

    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "rows", 0, &o.most_rows, err);
    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "fold-over", 8, &o.fold_over, err);
    if (rc < 0)
        return rc;
    if (lpo_cli_args_has(args, "no-fold"))
        o.fold_over = SIZE_MAX;
    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        const struct lpo_region_scope *s;
        LPO_STR name = { 0 };

        lpo_region_scope_add_name(a->trace, ids.at[i], &name);
        if (!scope_asked(lpo_cli_args_list(args, "scope"), name.at))
            continue;
        s = lpo_analysis_scope(a, ids.at[i]);
        lpo_doc_section(doc, "regions", name.at, 1);
        lpo_report_add_regions(doc, s, &o);
        lpo_report_add_captured(doc, s, &o);
        lpo_report_add_backward(doc, s, &o);
        if (ids.at[i].kind == LPO_SCOPE_ALL)
            lpo_report_add_number_columns(doc, a, &o);
        if (lpo_cli_args_has(args, "metrics") && !lpo_report_add_region_counters(doc, a, s, &o))
            lpo_doc_note(doc, LPO_NOTE_INFO, "No counters were sampled beside this trace.");
        if (lpo_cli_args_has(args, "metrics")) {
            lpo_report_add_call_counters(doc, a, s, &o);
            lpo_report_add_captured_counters(doc, a, s, &o);
        }
        if (s->coverage.total.launches)
            lpo_report_add_coverage(doc, s);
    }
    lpo_vec_free(&ids);
    lpo_report_notes_doc(doc, a, a->select);
    return 0;
}

static int skip_from_args(const struct lpo_args *args, unsigned *skip, struct lpo_err *err)
{
    const char *adopt = lpo_cli_args_text(args, "adopt", "auto");

    *skip = LPO_SKIP_OPS | LPO_SKIP_CALLS;
    if (lpo_cli_args_has(args, "modules"))
        *skip |= LPO_SKIP_BUT_PYTHON;
    if (lpo_cli_args_has(args, "backward")) /* a function of checkpoint.py shows recomputation */
        *skip = (*skip & ~(unsigned)LPO_SKIP_OPS) | LPO_SKIP_BUT_PYTHON;
    if (strcmp(adopt, "auto") == 0)
        return 0;
    *skip |= LPO_SKIP_ADOPTION;
    return strcmp(adopt, "off") == 0
               ? 0
               : lpo_fail(err, LPO_E_USAGE, "--adopt is auto or off, not '%s'", adopt);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_region_selection *select = NULL;
    LPO_AUTO(lpo_analysis_run) traces = NULL;
    const struct lpo_analysis *a;
    LPO_AUTO(lpo_doc) doc = NULL;
    const struct lpo_writer *writer = NULL;
    unsigned skip;
    int rc;

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "no trace is given; usage: lpo regions DIR|FILE…");
    rc = lpo_cli_writer_from_args(args, &writer, err);
    if (rc == 0)
        rc = skip_from_args(args, &skip, err);
    if (rc == 0)
        rc = lpo_cli_selection_from_args(args, &select, err);
    if (rc == 0)
        rc = lpo_cli_traces_open(app, args, skip, select, &traces, err);
    if (rc < 0)
        return rc;
    a = lpo_analysis_run_main(traces);
    if (lpo_cli_args_has(args, "modules")) {
        a = lpo_analysis_modules(a);
        if (!a)
            return lpo_fail(err, LPO_E_USAGE,
                            "no call of a PyTorch module or of a Python function is in here; "
                            "torch.profiler records them with with_stack=True");
    }
    if (strcmp(writer->kind, "timeline") == 0) {
        doc = lpo_report_timeline_doc(a, NULL, NULL);
    } else {
        doc = lpo_doc_create_data(LPO_REGIONS_SCHEMA, "regions", "Time by region");
        doc->whole = lpo_cli_args_has(args, "full-names");
        if (writer->records) /* the whole tree: built only for a format that shows it */
            put_records(args, a, doc->data);
        else
            rc = add_sections(args, a, doc, err);
    }
    if (rc == 0)
        lpo_cli_print_doc(app, doc, writer);
    return rc;
}

const struct lpo_command lpo_cli_cmd_regions = {
    .name = "regions",
    .summary = "time by region of any trace or report that lpo reads",
    .usage = "DIR|FILE… [--json]",
    .about = "Reads PyTorch profiler traces, Nsight Systems exports, Nsight Compute reports and "
             "CSVs,\nand lpo's own traces, on any machine. Several files are taken as one job "
             "(its ranks).\nDIR is a run folder, or a folder of traces.\n\n"
             "  lpo regions trace.json.gz\n"
             "  lpo regions run.sqlite --include 'decode/**/attn' --kernels '*gemm*'\n"
             "  lpo regions rank*.json.gz --json > regions.json\n"
             "  lpo regions trace.json.gz --format perfetto > timeline.json",
    .options = options,
    .run = run,
};
