/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/app.h"
#include "cli/command.h"
#include "settings/schema.h"

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void offer_commands(const struct lpo_app *app, const char *typed)
{
    for (const struct lpo_command *const *c = lpo_cli_commands(); *c; c++)
        if (begins((*c)->name, typed))
            fprintf(app->out, "%s\t%s\n", (*c)->name, (*c)->summary);
}

static void offer_options(const struct lpo_app *app, const struct lpo_command *c, const char *typed)
{
    char word[80];

    for (const struct lpo_option *o = c->options; o->name; o++) {
        snprintf(word, sizeof word, "--%s", o->name);
        if (begins(word, typed))
            fprintf(app->out, "%s\t%s\n", word, o->help);
    }
    /* of every command, so in no table: see command.c */
    if (begins("--help", typed))
        fprintf(app->out, "--help\tthis command's options\n");
    if (begins("--debug", typed))
        fprintf(app->out, "--debug\tprint with an error the source line that raised it\n");
    if (begins("--limit", typed))
        fprintf(app->out, "--limit\traise N times what one file or config may cost\n");
}

/* Does the word before ask for a value, so that the unfinished word is that value? */
static bool wants_value(const struct lpo_command *c, const char *before)
{
    for (const struct lpo_option *o = c->options; o->name; o++) {
        if (o->kind == LPO_OPT_FLAG)
            continue;
        if (begins(before, "--")
                ? strcmp(before + 2, o->name) == 0
                : before[0] == '-' && o->letter && before[1] == o->letter && before[2] == '\0')
            return true;
    }
    return false;
}

/* "key=" and a part of the value: the values that the settings table allows. */
static void offer_values(const struct lpo_app *app, const char *sign, const char *typed)
{
    const char *equals = strchr(typed, '='), *v;
    size_t nkey = (size_t)(equals - typed), count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count), *row = NULL;

    for (size_t i = 0; i < count; i++)
        if (strlen(rows[i].path) == nkey && strncmp(rows[i].path, typed, nkey) == 0)
            row = &rows[i];
    if (!row)
        return;
    v = row->values ? row->values : row->type == LPO_S_BOOL ? "true|false" : "";
    while (*v) {
        size_t n = strcspn(v, "|");

        /* "repeat:*" stands for any word with that beginning: offer the beginning. An empty value
         * needs no completion. */
        if (n && begins(v, equals + 1))
            fprintf(app->out, "%s%.*s=%.*s\t\n", sign, (int)nkey, typed,
                    (int)(v[n - 1] == '*' ? n - 1 : n), v);
        v += n + (v[n] == '|');
    }
}

static void offer_keys(const struct lpo_app *app, const char *word)
{
    const char *typed = word + strspn(word, "+~");
    char sign[3] = "";
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    if (typed - word > 2)
        return;
    memcpy(sign, word, (size_t)(typed - word));
    if (strchr(typed, '=')) {
        offer_values(app, sign, typed);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != LPO_S_MAP && rows[i].type != LPO_S_OPEN && begins(rows[i].path, typed))
            fprintf(app->out, "%s%s=\t%s\n", sign, rows[i].path, rows[i].doc ? rows[i].doc : "");
}

int lpo_cli_complete_main(struct lpo_app *app, int argc, const char *const *argv)
{
    const char *typed = argc > 0 ? argv[argc - 1] : "";
    const struct lpo_command *command = NULL;

    if (argc <= 1) {
        offer_commands(app, typed);
        return 0;
    }
    for (const struct lpo_command *const *c = lpo_cli_commands(); *c; c++)
        if (strcmp((*c)->name, argv[0]) == 0)
            command = *c;
    if (!command)
        return 0;
    for (int i = 1; i < argc - 1; i++)
        if (strcmp(argv[i], "--") == 0)
            return 0; /* the words of another program */
    if (wants_value(command, argv[argc - 2]))
        return 0;
    if (typed[0] == '-')
        offer_options(app, command, typed);
    else if (strstr(command->usage, "override"))
        offer_keys(app, typed);
    return 0;
}
