/* SPDX-License-Identifier: Apache-2.0 */
/* lpo ctl: begin and end recording in a program that runs with the collector. */
#include <string.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/ctl.h"
#include "run/control.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/str.h"

#define CTL_SCHEMA "lpo.ctl/1"

static const char *const requests[] = { "start", "stop", "status", "dump", "mark" };

static void print_json(struct lpo_app *app, const struct lpo_control_answers *answers)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", CTL_SCHEMA);
    lpo_jw_array(&w, "processes");
    for (size_t i = 0; i < answers->len; i++) {
        const struct lpo_control_answer *p = &answers->at[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_int(&w, "pid", p->pid);
        lpo_jw_bool(&w, "recording", p->recording);
        lpo_jw_uint(&w, "windows", p->windows);
        lpo_jw_uint(&w, "calls_seen", p->seen);
        lpo_jw_uint(&w, "calls_recorded", p->recorded);
        lpo_jw_text(&w, "error", p->error);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct lpo_control_answers *answers)
{
    for (size_t i = 0; i < answers->len; i++) {
        const struct lpo_control_answer *p = &answers->at[i];

        if (p->error && p->pid < 0) {
            fprintf(app->out, "%s: %s\n", p->name, p->error);
            continue;
        }
        fprintf(app->out, "process %lld: %s, %llu window%s recorded before", (long long)p->pid,
                p->recording ? "recording" : "not recording", (unsigned long long)p->windows,
                p->windows == 1 ? "" : "s");
        if (p->seen)
            fprintf(app->out, ", %llu of %llu calls", (unsigned long long)p->recorded,
                    (unsigned long long)p->seen);
        fprintf(app->out, "%s%s\n", p->error ? ": " : "", p->error ? p->error : "");
    }
}

/* On stdout, or as a file that node_exporter takes up whole. */
static int put_metrics(struct lpo_app *app, const struct lpo_args *args,
                       const struct lpo_control_answers *answers, struct lpo_err *err)
{
    const char *path = lpo_cli_args_text(args, "output", NULL);
    LPO_STR text = { 0 };

    lpo_cli_ctl_metrics(app, args->words[0], answers, &text);
    if (path)
        return lpo_file_write(path, lpo_str_text(&text), text.len, err);
    fputs(lpo_str_text(&text), app->out);
    return 0;
}

static int request_of(struct lpo_app *app, const struct lpo_args *args, const char **out,
                      struct lpo_err *err)
{
    const char *word = args->nwords > 1 ? args->words[1] : "";
    bool known = false, mark = strcmp(word, "mark") == 0;

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        known |= strcmp(requests[i], word) == 0;
    if (!known || args->nwords != (mark ? 3 : 2))
        return lpo_fail(err, LPO_E_USAGE,
                        "usage: lpo ctl DIR start|stop|dump|status, or lpo ctl DIR mark TEXT");
    *out = mark ? lpo_arena_printf(app->arena, "mark %s", args->words[2]) : word;
    return 0;
}

static int ctl_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_control_answers answers = { 0 };
    const char *request = NULL;
    bool metrics = lpo_cli_args_has(args, "prometheus");
    int failed = 0;

    if (args->nwords == 2 && strcmp(args->words[1], "trace") == 0 &&
        args->words[0][strspn(args->words[0], "0123456789")] == '\0')
        return lpo_cli_ctl_trace(app, args, err);
    if (request_of(app, args, &request, err) < 0)
        return err->code;
    if (metrics && strcmp(request, "status") != 0)
        return lpo_fail(err, LPO_E_USAGE, "--prometheus goes with status");
    if (lpo_run_control_send(app->arena, args->words[0], request, &answers, err) < 0)
        return err->code;
    if (!answers.len)
        return lpo_fail(err, LPO_E_MISSING,
                        "no collector listens in '%s': the program has ended, or it runs without "
                        "pipeline.native.capture.control=true (LPO_COLLECT_CAPTURE_CONTROL=1) or "
                        "pipeline.nsys.capture.control=true",
                        args->words[0]);
    if (metrics && put_metrics(app, args, &answers, err) < 0)
        return err->code;
    if (metrics)
        return 0;
    if (lpo_cli_args_has(args, "json"))
        print_json(app, &answers);
    else
        print_text(app, &answers);
    for (size_t i = 0; i < answers.len; i++)
        failed |= answers.at[i].error != NULL;
    return failed;
}

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { "prometheus", 0, LPO_OPT_FLAG, NULL,
      "status: figures for Prometheus: windows, lost records, step time, GPU busy share" },
    { "output", 'o', LPO_OPT_TEXT, "PATH",
      "with --prometheus a file for node_exporter, with trace the folder (lpo-trace)" },
    { "steps", 0, LPO_OPT_TEXT, "N", "trace: so many steps of the program" },
    { "seconds", 0, LPO_OPT_TEXT, "S", "trace: so long (5)" },
    { "wait", 0, LPO_OPT_TEXT, "S", "trace: how long it may take (120)" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_ctl = {
    .name = "ctl",
    .summary = "begin and end recording in a program that runs with the collector",
    .usage = "DIR start|stop|status|dump|mark [TEXT] [--json] | PID trace [--steps N]",
    .about =
        "DIR is a run folder, or the folder of the traces (LPO_COLLECT_DIR). Every process that "
        "listens there\nis asked; the program must run with "
        "pipeline.native.capture.control=true, or pipeline.nsys.capture.control=true for nsys.\n"
        "PID trace asks a PyTorch that was started with KINETO_CONFIG (docs/ctl.md) for a trace, "
        "and\n"
        "reports on it.",
    .options = options,
    .run = ctl_run,
};
