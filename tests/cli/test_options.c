/* SPDX-License-Identifier: Apache-2.0 */
/* The words after a command: options by table, the rest in order. */
#include "../unit.h"
#include "cli/app.h"
#include "cli/options.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct lpo_option table[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "flag" },
    { "quiet", 'q', LPO_OPT_FLAG, NULL, "flag with a letter" },
    { "rows", 'n', LPO_OPT_TEXT, "N", "value" },
    { "include", 'i', LPO_OPT_LIST, "PATTERN", "list" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* `want` is "words | options | what follows --", or the error's text. */
static const struct parse_case {
    const char *name, *line, *want;
    int code;
} cases[] = {
    { "no words", "", " | | ", 0 },
    { "words keep their order", "b a", "b a | | ", 0 },
    { "options stand anywhere", "a --json b -q", "a b | json= quiet= | ", 0 },
    { "a value as the next word", "--rows 5", " | rows=5 | ", 0 },
    { "a value after =", "--rows=5", " | rows=5 | ", 0 },
    { "a value may be empty", "--rows=", " | rows= | ", 0 },
    { "a value at its letter", "-n5 -n 6", " | rows=6 | ", 0 },
    { "a value may begin with a dash", "--rows -1", " | rows=-1 | ", 0 },
    { "a list grows", "-i a --include=b", " | include=a,b | ", 0 },
    { "what follows -- is kept apart", "a -- --json -x", "a | | --json -x", 0 },
    { "a lone dash is a word", "-", "- | | ", 0 },
    { "overrides are words", "~key +key=1 a.b=c", "~key +key=1 a.b=c | | ", 0 },
    { "debug belongs to all", "a --debug", "a | debug | ", 0 },
    { "debug after -- is the program's", "-- --debug", " | | --debug", 0 },
    { "a near option is suggested", "--row 5", "unknown option --row; did you mean --rows?",
      LPO_E_USAGE },
    { "a far one is not", "--zzzzzz", "unknown option --zzzzzz; -h lists the options",
      LPO_E_USAGE },
    { "an unknown letter", "-z", "unknown option -z; -h lists the options", LPO_E_USAGE },
    { "a flag takes no value", "--json=1", "--json takes no value", LPO_E_USAGE },
    { "a missing value", "--rows", "--rows needs a value: N", LPO_E_USAGE },
};

static void add_list(struct lpo_str *out, const char *const *list, const char *between)
{
    for (size_t i = 0; list && list[i]; i++)
        lpo_str_addf(out, "%s%s", i ? between : "", list[i]);
}

static void add_options(struct lpo_str *out, const struct lpo_app *app, const struct lpo_args *args)
{
    size_t given = 0;

    for (const struct lpo_option *o = table; o->name; o++) {
        if (!lpo_cli_args_has(args, o->name))
            continue;
        lpo_str_addf(out, "%s%s=", given++ ? " " : "", o->name);
        if (o->kind == LPO_OPT_LIST)
            add_list(out, lpo_cli_args_list(args, o->name), ",");
        else
            lpo_str_add(out, lpo_cli_args_text(args, o->name, "?"));
    }
    if (app->debug)
        lpo_str_addf(out, "%sdebug", given ? " " : "");
    lpo_str_add(out, given || app->debug ? " | " : "| ");
}

static void check_parse(void **state)
{
    const struct parse_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_app app = { .arena = a };
    char *line = lpo_arena_strdup(a, c->line), *rest = NULL;
    const char *argv[16];
    int argc = 0;
    struct lpo_args args;
    struct lpo_err err = { 0 };
    LPO_STR got = { 0 };

    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    assert_int_equal(lpo_cli_args_parse(&app, table, argc, argv, &args, &err), c->code);
    if (c->code < 0) {
        lpo_str_add(&got, lpo_err_cause(&err));
    } else {
        add_list(&got, (const char *const *)args.words, " ");
        lpo_str_add(&got, " | ");
        add_options(&got, &app, &args);
        add_list(&got, (const char *const *)args.rest, " ");
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_parse);
    return unit_run(&u);
}
