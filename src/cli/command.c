/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <signal.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/screen.h"
#include "cli/waiting.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/one_rank.h"
#include "run/secrets/secrets.h"
#include "run/server/server.h"
#include "run/switched.h"
#include "util/spool.h"
#include "util/visible.h"

/* One line each; the order below is the order of `lpo -h`. */
extern const struct lpo_command lpo_cli_cmd_analyze;
extern const struct lpo_command lpo_cli_cmd_config;
extern const struct lpo_command lpo_cli_cmd_ctl;
extern const struct lpo_command lpo_cli_cmd_demo;
extern const struct lpo_command lpo_cli_cmd_view;
extern const struct lpo_command lpo_cli_cmd_diff;
extern const struct lpo_command lpo_cli_cmd_digest;
extern const struct lpo_command lpo_cli_cmd_doctor;
extern const struct lpo_command lpo_cli_cmd_export;
extern const struct lpo_command lpo_cli_cmd_history;
extern const struct lpo_command lpo_cli_cmd_kernels;
extern const struct lpo_command lpo_cli_cmd_mcp;
extern const struct lpo_command lpo_cli_cmd_operators;
extern const struct lpo_command lpo_cli_cmd_reference;
extern const struct lpo_command lpo_cli_cmd_regions;
extern const struct lpo_command lpo_cli_cmd_report;
extern const struct lpo_command lpo_cli_cmd_run;
extern const struct lpo_command lpo_cli_cmd_sql;
extern const struct lpo_command lpo_cli_cmd_top;

static const struct lpo_command *const commands[] = {
    &lpo_cli_cmd_run,     &lpo_cli_cmd_config,  &lpo_cli_cmd_report,    &lpo_cli_cmd_digest,
    &lpo_cli_cmd_regions, &lpo_cli_cmd_top,     &lpo_cli_cmd_operators, &lpo_cli_cmd_kernels,
    &lpo_cli_cmd_diff,    &lpo_cli_cmd_history, &lpo_cli_cmd_analyze,   &lpo_cli_cmd_reference,
    &lpo_cli_cmd_mcp,     &lpo_cli_cmd_sql,     &lpo_cli_cmd_export,    &lpo_cli_cmd_ctl,
    &lpo_cli_cmd_doctor,  &lpo_cli_cmd_demo,    &lpo_cli_cmd_view,      NULL,
};

enum { NCOMMANDS = sizeof commands / sizeof *commands - 1 };

const struct lpo_command *const *lpo_cli_commands(void)
{
    return commands;
}

static void print_help(const struct lpo_app *app)
{
    fprintf(app->out, "lpo - ");
    lpo_cli_print_wrapped(
        app, "where the time of an LLM goes on a GPU, how far from the limit, what to fix first",
        6);
    fprintf(app->out, "\nusage: lpo COMMAND [options] [arguments]\n\n");
    for (int i = 0; i < NCOMMANDS; i++) {
        fprintf(app->out, "  %-9s ", commands[i]->name);
        lpo_cli_print_wrapped(app, commands[i]->summary, 12);
    }
    fprintf(app->out,
            "\n'lpo COMMAND -h' describes one command; 'lpo --version' prints the version;\n"
            "'lpo --debug COMMAND …' prints with an error the source line that raised it;\n"
            "'lpo --limit N COMMAND …' raises what one file or config may cost N times.\n"
            "exit codes: 0 done; 1 a stage failed; 2 wrong usage or config; 3 a tool or\n"
            "permission is missing; 4 diff found a regression; 130 interrupted.\n");
}

static void print_option(const struct lpo_app *app, const struct lpo_option *o)
{
    char left[80];
    int n = snprintf(left, sizeof left, "  ");

    if (o->letter)
        n += snprintf(left + n, sizeof left - (size_t)n, "-%c, ", o->letter);
    snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", o->name, o->value ? " " : "",
             o->value ? o->value : "");
    fprintf(app->out, "%-28s ", left);
    lpo_cli_print_wrapped(app, o->help, 29);
}

/* Of every command; read before the command's own. */
static const struct lpo_option common[] = {
    { "debug", 0, LPO_OPT_FLAG, NULL, "print with an error the source line that raised it" },
    { "limit", 0, LPO_OPT_TEXT, "N",
      "raise N times what one file or config may cost: bytes, text, seconds" },
    { "help", 'h', LPO_OPT_FLAG, NULL, "this text" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* Paragraphs are made as wide as the screen; a line that is indented, an example, stays one. */
static void print_about(const struct lpo_app *app, const char *about)
{
    LPO_STR paragraph = { 0 };

    for (const char *line = about, *next; *line; line = next) {
        size_t len = strcspn(line, "\n");

        next = line + len + (line[len] == '\n');
        if (len == 0 || *line == ' ') {
            fprintf(app->out, "%.*s\n", (int)len, line);
            continue;
        }
        lpo_str_addf(&paragraph, "%s%.*s", paragraph.len ? " " : "", (int)len, line);
        if (!strchr(" \n", *next)) /* which finds the end, too */
            continue;
        lpo_cli_print_wrapped(app, paragraph.at, 0);
        lpo_str_clear(&paragraph);
    }
    fputc('\n', app->out);
}

static void print_command_help(const struct lpo_app *app, const struct lpo_command *c)
{
    fprintf(app->out, "lpo %s - ", c->name);
    lpo_cli_print_wrapped(app, c->summary, strlen(c->name) + 7);
    fprintf(app->out, "\nusage: lpo %s ", c->name);
    lpo_cli_print_wrapped(app, c->usage, strlen(c->name) + 12);
    fputc('\n', app->out);
    if (c->about)
        print_about(app, c->about);
    for (const struct lpo_option *o = c->options; o->name; o++)
        print_option(app, o);
    for (const struct lpo_option *o = common; o->name; o++)
        print_option(app, o);
}

static const struct lpo_command *find(const char *name)
{
    for (int i = 0; i < NCOMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const struct lpo_app *app, const char *name)
{
    const char *names[NCOMMANDS + 1] = { NULL };
    const char *near;

    for (int i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i]->name;
    near = lpo_str_nearest(name, names, NCOMMANDS);
    fprintf(app->log, "lpo: unknown command '%s'; %s%s%s'lpo -h' lists the commands\n", name,
            near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
    return 2;
}

/* "lpo help", "lpo help run": who knows git or docker tries these. */
static int help(const struct lpo_app *app, const char *name)
{
    const struct lpo_command *c = name ? find(name) : NULL;

    if (name && !c)
        return unknown_command(app, name);
    if (c)
        print_command_help(app, c);
    else
        print_help(app);
    return 0;
}

static bool asks_for_help(int argc, const char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}

void lpo_cli_print_error(const struct lpo_app *app, const char *who, const struct lpo_err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    LPO_STR masked = { 0 };

    if (memory) {
        lpo_err_print(memory, who, err);
        fclose(memory);
    }
    /* an error may quote a value; standard error often ends in a file */
    if (text && lpo_secrets_mask(text, len, &masked))
        fputs(lpo_str_text(&masked), app->log);
    else
        lpo_err_print(app->log, who, err);
    free(text);
    if (app->debug)
        lpo_err_print_source(app->log, err);
}

static int run_command(struct lpo_app *app, const struct lpo_command *c, int argc,
                       const char *const *argv)
{
    struct lpo_err err = { 0 };
    struct lpo_args args;
    char who[64];
    int rc;

    if (asks_for_help(argc, argv)) {
        print_command_help(app, c);
        return 0;
    }
    rc = c->before ? c->before(app, c->options, argc, argv, &err) : 0;
    if (rc == 0)
        rc = lpo_cli_args_parse(app, c->options, argc, argv, &args, &err);
    /* Ctrl-C ends whatever reads or prints, and takes temporary files along; a command that runs
     * programs or keeps a run folder arms it anew with more to do. */
    lpo_run_interrupt_arm(NULL);
    if (rc == 0)
        rc = c->run(app, &args, &err);
    if (rc >= 0)
        return rc;
    snprintf(who, sizeof who, "lpo %s", c->name);
    lpo_cli_print_error(app, who, &err);
    return lpo_err_exit_code(rc);
}

/* On a terminal only: there somebody looks at nothing and wonders. */
static void say_what_is_waited_for(const char *path, double limit_seconds)
{
    LPO_STR shown = { 0 };

    if (!isatty(STDERR_FILENO))
        return;
    lpo_visible_add(&shown, path, strlen(path), 0);
    fprintf(stderr, "waiting for %s, for up to %.0f s; Ctrl-C ends it\n",
            strcmp(path, "-") == 0 ? "standard input" : lpo_str_text(&shown), limit_seconds);
}

int lpo_cli_main(struct lpo_app *app, int argc, const char *const *argv)
{
    const struct lpo_command *c;
    struct lpo_err err = { 0 };
    int used;

    lpo_run_signals_start();
    lpo_run_guard_offer();
    lpo_spool_on_wait(say_what_is_waited_for);
    lpo_cli_waiting_offer();
    while (argc > 1 && (used = lpo_cli_common_option(app, argc - 1, argv + 1, &err)) != 0) {
        if (used < 0) {
            lpo_cli_print_error(app, "lpo", &err);
            return lpo_err_exit_code(used);
        }
        argc -= used;
        argv += used;
    }
    if (argc < 2) {
        print_help(app);
        return 2;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(app, argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        fprintf(app->out, "lpo %s\n", LPO_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "__guard") == 0 && argc > 2) /* see run/child/supervise.h */
        return lpo_run_guard_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "__server") == 0) /* what a stage runs for workload=server */
        return lpo_run_server_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "__switched") == 0) /* between nsys and the program: run/switched.h */
        return lpo_run_switched_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "__rank") == 0) /* between a launcher and the program */
        return lpo_run_one_rank_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "__complete") == 0) /* called by the scripts in completions/ */
        return lpo_cli_complete_main(app, argc - 2, argv + 2);
    if (strcmp(argv[1], "sample-counters") == 0) /* started by stage counters */
        return lpo_cli_sample_counters_main(app, argc - 2, argv + 2);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of a write, with its message */
    lpo_secrets_begin();      /* before anything is written */
    c = find(argv[1]);
    return c ? run_command(app, c, argc - 2, argv + 2) : unknown_command(app, argv[1]);
}
