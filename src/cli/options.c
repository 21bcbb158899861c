/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "cli/app.h"
#include "util/budget.h"

static size_t table_size(const struct lpo_option *table)
{
    size_t n = 0;

    while (table[n].name)
        n++;
    return n;
}

static int unknown(const struct lpo_option *table, const char *word, struct lpo_arena *a,
                   struct lpo_err *err)
{
    size_t n = table_size(table), len = strcspn(word, "=");
    const char **names = lpo_arena_array(a, n + 3, sizeof *names);
    char *bare = lpo_arena_strndup(a, word, len);
    const char *near;

    for (size_t i = 0; i < n; i++)
        names[i] = table[i].name;
    names[n] = "help";
    names[n + 1] = "debug";
    names[n + 2] = "limit";
    near = lpo_str_nearest(bare, names, n + 3);
    if (near)
        return lpo_fail(err, LPO_E_USAGE, "unknown option --%s; did you mean --%s?", bare, near);
    return lpo_fail(err, LPO_E_USAGE, "unknown option --%s; -h lists the options", bare);
}

static int find_long(const struct lpo_option *table, const char *word)
{
    size_t len = strcspn(word, "=");

    for (int i = 0; table[i].name; i++)
        if (strlen(table[i].name) == len && strncmp(table[i].name, word, len) == 0)
            return i;
    return -1;
}

static int find_letter(const struct lpo_option *table, char c)
{
    for (int i = 0; table[i].name; i++)
        if (table[i].letter && table[i].letter == c)
            return i;
    return -1;
}

static void push(struct lpo_arena *a, const char ***list, const char *word)
{
    size_t n = 0;
    const char **grown;

    while (*list && (*list)[n])
        n++;
    grown = lpo_arena_array(a, n + 2, sizeof *grown);
    if (n)
        memcpy(grown, *list, n * sizeof *grown);
    grown[n] = word;
    *list = grown;
}

/* One option word; *i moves on when the value is the next word. */
static int take_option(struct lpo_arena *a, struct lpo_args *out, int argc, const char *const *argv,
                       int *i, struct lpo_err *err)
{
    const char *word = argv[*i], *value = NULL;
    int row;

    if (word[1] == '-') {
        row = find_long(out->table, word + 2);
        if (row < 0)
            return unknown(out->table, word + 2, a, err);
        value = strchr(word, '=');
        value = value ? value + 1 : NULL;
    } else {
        row = find_letter(out->table, word[1]);
        if (row < 0)
            return lpo_fail(err, LPO_E_USAGE, "unknown option -%c; -h lists the options", word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (out->table[row].kind == LPO_OPT_FLAG) {
        if (value)
            return lpo_fail(err, LPO_E_USAGE, "--%s takes no value", out->table[row].name);
        out->values[row] = "";
        return 0;
    }
    if (!value && *i + 1 < argc)
        value = argv[++*i];
    if (!value)
        return lpo_fail(err, LPO_E_USAGE, "--%s needs a value: %s", out->table[row].name,
                        out->table[row].value);
    out->values[row] = value;
    if (out->table[row].kind == LPO_OPT_LIST)
        push(a, &out->lists[row], value);
    return 0;
}

static int set_limit(const char *text, struct lpo_err *err)
{
    char *end;
    double factor = strtod(text, &end);

    if (*end || end == text || !(factor >= 1 && factor <= 1e6))
        return lpo_fail(err, LPO_E_USAGE, "--limit must be a number from 1 to 1000000, not '%s'",
                        text);
    lpo_budget_raise(factor);
    return 0;
}

int lpo_cli_common_option(struct lpo_app *app, int argc, const char *const *argv,
                          struct lpo_err *err)
{
    if (strcmp(argv[0], "--debug") == 0) {
        app->debug = true;
        return 1;
    }
    if (lpo_str_starts(argv[0], "--limit="))
        return set_limit(argv[0] + strlen("--limit="), err) < 0 ? LPO_E_USAGE : 1;
    if (strcmp(argv[0], "--limit") != 0)
        return 0;
    if (argc < 2)
        return lpo_fail(err, LPO_E_USAGE, "--limit needs a value: N");
    return set_limit(argv[1], err) < 0 ? LPO_E_USAGE : 2;
}

int lpo_cli_args_parse(struct lpo_app *app, const struct lpo_option *table, int argc,
                       const char *const *argv, struct lpo_args *out, struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    size_t n = table_size(table);

    *out = (struct lpo_args){ .table = table };
    out->values = lpo_arena_array(a, n + 1, sizeof *out->values);
    out->lists = lpo_arena_array(a, n + 1, sizeof *out->lists);
    out->words = lpo_arena_array(a, (size_t)argc + 1, sizeof *out->words);
    for (int i = 0; i < argc; i++) {
        int rc;

        if (strcmp(argv[i], "--") == 0) {
            out->rest = lpo_arena_array(a, (size_t)(argc - i), sizeof *out->rest);
            for (i++; i < argc; i++)
                out->rest[out->nrest++] = argv[i];
            break;
        }
        /* a lone "-" is a file name, and "~key" or "+key" are overrides */
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            out->words[out->nwords++] = argv[i];
            continue;
        }
        rc = lpo_cli_common_option(app, argc - i, argv + i, err);
        if (rc > 0) {
            i += rc - 1;
            continue;
        }
        if (rc == 0)
            rc = take_option(a, out, argc, argv, &i, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int row_of(const struct lpo_args *args, const char *name)
{
    return find_long(args->table, name);
}

bool lpo_cli_args_has(const struct lpo_args *args, const char *name)
{
    int row = row_of(args, name);

    return row >= 0 && args->values[row];
}

const char *lpo_cli_args_text(const struct lpo_args *args, const char *name, const char *fallback)
{
    int row = row_of(args, name);

    return row >= 0 && args->values[row] ? args->values[row] : fallback;
}

const char *const *lpo_cli_args_list(const struct lpo_args *args, const char *name)
{
    static const char *const none[] = { NULL };
    int row = row_of(args, name);

    return row >= 0 && args->lists[row] ? (const char *const *)args->lists[row] : none;
}
