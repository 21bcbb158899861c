/* SPDX-License-Identifier: Apache-2.0 */
/* What a run was about: a model, or somebody's program. */
#include <string.h>

#include "hydra/compose.h"
#include "report/traced_facts.h"
#include "report/what_ran.h"
#include "run/secrets/secrets.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"

enum { MOST_BYTES = 400 }; /* of a command: a script given to sh -c may be long */

const char *lpo_report_run_model(const struct lpo_rundir *d)
{
    const char *name = lpo_settings_text(d->config, "model.name");

    return name && strcmp(name, "none") != 0 ? name : NULL; /* conf/model/none.yaml */
}

/* A list of traces has no config: the command of the first process that a trace names. */
static struct lpo_settings_words traced_words(const struct lpo_rundir *d)
{
    const char *command = lpo_report_traced_command(d);
    struct lpo_settings_words words = { 0 };

    if (!command)
        return words;
    words.at = lpo_arena_array(d->arena, MOST_BYTES, sizeof *words.at);
    for (const char *p = command; *p && words.len < MOST_BYTES;) {
        size_t len = strcspn(p, " ");

        if (len)
            words.at[words.len++] = lpo_arena_strndup(d->arena, p, len);
        p += len + (p[len] == ' ');
    }
    return words;
}

static struct lpo_settings_words words_of(const struct lpo_rundir *d)
{
    static const char *built_in[] = { "toy_server" };
    struct lpo_settings_words words;
    const char *kind;

    if (!d->dir)
        return traced_words(d);
    kind = lpo_settings_text(d->config, "workload.kind");
    words = lpo_settings_list(d->arena, d->config, "workload.argv");
    if (lpo_streq(kind, "server") && !words.len)
        return (struct lpo_settings_words){ built_in, 1 };
    if (!lpo_streq(kind, "command") && !lpo_streq(kind, "server"))
        return (struct lpo_settings_words){ 0 };
    return words;
}

const char *lpo_report_run_program(const struct lpo_rundir *d)
{
    struct lpo_settings_words argv = words_of(d);
    const char **words = argv.at, *name;
    size_t n = argv.len;

    if (n == 0)
        return NULL;
    name = lpo_path_base(words[0]);
    if (n > 2 && lpo_str_starts(name, "python") && strcmp(words[1], "-m") == 0)
        return words[2];
    return n > 1 && lpo_str_starts(name, "python") && words[1][0] != '-' ? lpo_path_base(words[1])
                                                                         : name;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789.,")] == '\0';
}

/* Absolute paths by their last part alone: a report that is shared shows no folders of its machine.
 */
static const char *short_paths(struct lpo_arena *a, const char *text)
{
    LPO_STR out = { 0 };

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, " \t\n'\":;,|&<>()`"), from = len;

        if (*p != '/' || p[1] == '/' || (p > text && !strchr(" \t\n=:'\":;,|&<>(`", p[-1]))) {
            len = strncmp(p, "//", 2) == 0 ? 2 : 1; /* of https:// */
            lpo_str_addn(&out, p, len);
            p += len;
            continue;
        }
        while (from > 1 && p[from - 1] == '/')
            from--;
        while (from > 1 && p[from - 1] != '/')
            from--;
        lpo_str_addn(&out, p + from, len - from);
        p += len;
    }
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* One word as it may be shown to others. `option`: the word before, where this is its value. */
static const char *shown(const struct lpo_rundir *d, const char *word, const char *option)
{
    const char *equals = strchr(word, '=');
    size_t key = equals ? (size_t)(equals - word) + 1 : 0;
    const char *name = equals ? lpo_arena_strndup(d->arena, word, key - 1) : option;
    const char *value = word + key;

    if (d->private_too)
        return word;
    if (name && lpo_secrets_name_is_secret(name) && !is_number(value))
        value = "…"; /* --max-new-tokens 8 is none */
    else
        value = short_paths(d->arena, value);
    return lpo_arena_printf(d->arena, "%.*s%s", (int)key, word, value);
}

const char *lpo_report_run_command(const struct lpo_rundir *d)
{
    struct lpo_settings_words argv = words_of(d);
    const char **words = argv.at;
    size_t n = argv.len;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < n && text.len < MOST_BYTES; i++) {
        const char *before =
            i && words[i - 1][0] == '-' && words[i][0] != '-' ? words[i - 1] : NULL;
        const char *word = shown(d, words[i], before);

        if (i)
            lpo_str_addc(&text, ' ');
        if (strcmp(word, "…") == 0)
            lpo_str_add(&text, word);
        else
            lpo_str_add_shell(&text, word);
    }
    if (text.len > MOST_BYTES) {
        size_t cut = MOST_BYTES;

        while (cut && ((unsigned char)text.at[cut] & 0xc0) == 0x80)
            cut--; /* not inside a character */
        return lpo_arena_printf(d->arena, "%.*s…", (int)cut, text.at);
    }
    return n ? lpo_arena_strdup(d->arena, text.at) : NULL;
}
