/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/job.h"

#include "cli/app.h"
#include "hydra/compose.h"
#include "pipeline/stage.h"
#include "util/path.h"

enum { MOST_STAGES = 32 };

static int fail_stage(const char *name, struct lpo_err *err)
{
    const char *names[MOST_STAGES], *near;
    LPO_STR all = { 0 };
    size_t n = 0;

    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s && n < MOST_STAGES; s++) {
        lpo_str_addf(&all, "%s%s", n ? ", " : "", (*s)->name);
        names[n++] = (*s)->name;
    }
    near = lpo_str_nearest(name, names, n);
    return lpo_fail(err, LPO_E_USAGE, "--only: unknown stage '%s'%s%s%s; the stages are %s", name,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all.at);
}

/* --only native,nsys: the stages of `asked` are on, all others off. */
static int add_only(struct lpo_arena *a, const char *const *asked, const char **words, size_t *n,
                    struct lpo_err *err)
{
    bool on[MOST_STAGES] = { false };
    size_t i;

    for (; *asked; asked++)
        for (const char *p = *asked; *p;) {
            const char *name = lpo_arena_strndup(a, p, strcspn(p, ","));
            const struct lpo_stage *const *s = lpo_pipeline_stages();

            for (i = 0; s[i] && strcmp(s[i]->name, name) != 0; i++)
                ;
            if (!s[i] || i >= MOST_STAGES)
                return fail_stage(name, err);
            on[i] = true;
            p += strlen(name) + (p[strlen(name)] == ',');
        }
    for (i = 0; lpo_pipeline_stages()[i] && i < MOST_STAGES; i++)
        words[(*n)++] = lpo_arena_printf(a, "pipeline.%s.enable=%s", lpo_pipeline_stages()[i]->name,
                                         on[i] ? "true" : "false");
    return 0;
}

/* --once: of the stages that start the program only native; those inside lpo or beside another
 * stay as the config has them. */
static void add_once(struct lpo_arena *a, const char **words, size_t *n)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        if ((*s)->plan)
            words[(*n)++] = lpo_arena_printf(a, "pipeline.%s.enable=%s", (*s)->name,
                                             (*s)->regions_file ? "true" : "false");
}

/* A folder may have any name: "${" in it is no interpolation. */
static const char *folder_value(struct lpo_arena *a, const char *dir)
{
    struct lpo_node *value;
    LPO_STR text = { 0 };

    for (; *dir; dir++) {
        if (lpo_str_starts(dir, "${"))
            lpo_str_addc(&text, '\\');
        lpo_str_addc(&text, *dir);
    }
    value = lpo_node_string(a, lpo_str_text(&text));
    value->quote = '\'';
    return lpo_override_value_text(a, value);
}

static void add_folder(struct lpo_arena *a, const char *dir, const char **words, size_t *n)
{
    const char *value = folder_value(a, dir);

    words[(*n)++] = lpo_arena_printf(a, "hydra.run.dir=%s", value);
    words[(*n)++] = lpo_arena_printf(a, "hydra.sweep.dir=%s", value);
}

int lpo_cli_run_words(struct lpo_app *app, const struct lpo_args *args, struct lpo_args *out,
                      struct lpo_err *err)
{
    const char *dir = lpo_cli_args_text(args, "output", NULL);
    const char **words = lpo_arena_array(app->arena, args->nwords + MOST_STAGES + 4, sizeof *words);
    size_t n = 0;

    /* first, so that an override of the user's still has the last word */
    if (lpo_cli_args_has(args, "only") &&
        add_only(app->arena, lpo_cli_args_list(args, "only"), words, &n, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "once"))
        add_once(app->arena, words, &n);
    if (lpo_cli_args_has(args, "keep-going"))
        words[n++] = "run.keep_going=true";
    for (size_t i = 0; i < args->nwords; i++)
        words[n++] = args->words[i];
    if (dir && !*dir)
        return lpo_fail(err, LPO_E_USAGE, "--output is empty; name a folder");
    if (dir)
        add_folder(app->arena, dir, words, &n);
    *out = *args;
    out->words = words;
    out->nwords = n;
    return 0;
}

/* How many words an option takes: its own, and its value where that is the next one. */
static int option_words(const struct lpo_option *table, const char *word)
{
    size_t len = strcspn(word, "=");

    if (strcmp(word, "--limit") == 0)
        return 2;
    for (const struct lpo_option *o = table; o->name; o++) {
        bool is_long = lpo_str_starts(word, "--") && strlen(o->name) == len - 2 &&
                       strncmp(o->name, word + 2, len - 2) == 0;
        bool is_short = word[1] == o->letter && o->letter;

        if (is_long)
            return o->kind != LPO_OPT_FLAG && !word[len] ? 2 : 1;
        if (is_short)
            return o->kind != LPO_OPT_FLAG && !word[2] ? 2 : 1;
    }
    return 1;
}

/* KEY=VALUE, ~KEY and the like; anything else can only be a program. A word like
 * pipeline.nsys.enable that is no file is a key without its value. */
static bool is_program(struct lpo_arena *a, const char *word)
{
    if (strchr(word, '=') || *word == '~' || *word == '+' || !*word)
        return false;
    return lpo_path_exists(word) || lpo_path_which(a, word) || !strchr(word, '.') ||
           strchr(word, '/');
}

int lpo_cli_run_check_program(struct lpo_app *app, const struct lpo_option *table, int argc,
                              const char *const *argv, struct lpo_err *err)
{
    LPO_STR meant = { 0 };
    int i = 0;

    while (i < argc && strcmp(argv[i], "--") != 0 &&
           (argv[i][0] == '-' || !is_program(app->arena, argv[i])))
        i += argv[i][0] == '-' ? option_words(table, argv[i]) : 1;
    if (i >= argc || strcmp(argv[i], "--") == 0)
        return 0;
    for (int k = 0; k < argc; k++) {
        if (k == i)
            lpo_str_add(&meant, " --");
        if (k > i && strcmp(argv[k], "--") == 0)
            return 0; /* a word before the program's: the grammar of overrides explains it */
        lpo_str_addc(&meant, ' ');
        lpo_str_add_shell(&meant, argv[k]);
    }
    return lpo_fail(err, LPO_E_USAGE,
                    "'%s' is not an override (KEY=VALUE); did you mean: lpo run%s", argv[i],
                    meant.at);
}
