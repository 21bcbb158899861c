/* SPDX-License-Identifier: Apache-2.0 */
#include "run/step.h"

#include "run/secrets/secrets.h"

extern char **environ;

struct lpo_step *lpo_run_steps_add(struct lpo_steps *steps, const char *label)
{
    if (steps->len == steps->cap) {
        size_t cap = steps->cap ? steps->cap * 2 : 4;
        struct lpo_step *grown = lpo_arena_array(steps->arena, cap, sizeof *grown);

        if (steps->len)
            memcpy(grown, steps->at, steps->len * sizeof *grown);
        steps->at = grown;
        steps->cap = cap;
    }
    steps->at[steps->len] = (struct lpo_step){ .label = label };
    return &steps->at[steps->len++];
}

void lpo_run_steps_remove(struct lpo_steps *steps, size_t i)
{
    memmove(&steps->at[i], &steps->at[i + 1], (steps->len - i - 1) * sizeof *steps->at);
    steps->len--;
}

/* Copied for each word: a command has a few dozen, and a plan that shares words with another must
 * not change it. */
static bool is_set(const char *entry, const struct lpo_env_var *vars, size_t count)
{
    size_t len = strcspn(entry, "=");

    return lpo_any(i, count, strlen(vars[i].name) == len && strncmp(vars[i].name, entry, len) == 0);
}

char **lpo_run_environment(struct lpo_arena *a, const struct lpo_env_var *vars, size_t count)
{
    size_t n = 0, len = 0;
    char **env;

    while (environ[n])
        n++;
    env = lpo_arena_array(a, n + count + 1, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (!is_set(environ[i], vars, count))
            env[len++] = environ[i];
    for (size_t i = 0; i < count; i++)
        if (vars[i].value)
            env[len++] = lpo_arena_printf(a, "%s=%s", vars[i].name, vars[i].value);
    return env;
}

void lpo_run_words_add(struct lpo_arena *a, struct lpo_words *words, const char *word)
{
    const char **grown = lpo_arena_array(a, words->len + 2, sizeof *grown);

    if (words->len)
        memcpy(grown, words->at, words->len * sizeof *grown);
    grown[words->len++] = word;
    words->at = grown;
}

static char *print_word(struct lpo_arena *a, const char *fmt, va_list ap)
{
    LPO_STR word = { 0 };

    lpo_str_addv(&word, fmt, ap);
    return lpo_arena_strdup(a, lpo_str_text(&word));
}

void lpo_run_words_addf(struct lpo_arena *a, struct lpo_words *words, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    lpo_run_words_add(a, words, print_word(a, fmt, ap));
    va_end(ap);
}

void lpo_run_words_add_flag(struct lpo_arena *a, struct lpo_words *words, const char *flag,
                            const char *value)
{
    if (!value || !*value)
        return;
    lpo_run_words_add(a, words, flag);
    lpo_run_words_add(a, words, value);
}

void lpo_run_step_arg(struct lpo_arena *a, struct lpo_step *step, const char *word)
{
    struct lpo_words words = { step->argv, step->argc };

    lpo_run_words_add(a, &words, word);
    step->argv = words.at;
    step->argc = words.len;
}

void lpo_run_step_argf(struct lpo_arena *a, struct lpo_step *step, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    lpo_run_step_arg(a, step, print_word(a, fmt, ap));
    va_end(ap);
}

/* The words of the tool before those of the program: nsys and ncu start the command behind them. */
void lpo_run_step_wrap(struct lpo_arena *a, struct lpo_step *step, const struct lpo_words *words)
{
    size_t own = step->argc - step->program;
    const char **argv = lpo_arena_array(a, words->len + own + 1, sizeof *argv);

    if (words->len)
        memcpy(argv, words->at, words->len * sizeof *argv);
    if (own)
        memcpy(argv + words->len, step->argv + step->program, own * sizeof *argv);
    step->argv = argv;
    step->argc = words->len + own;
    step->program = words->len;
}

void lpo_run_step_args(struct lpo_arena *a, struct lpo_step *step, const char *const *words)
{
    for (; *words; words++)
        lpo_run_step_arg(a, step, *words);
}

void lpo_run_step_env(struct lpo_arena *a, struct lpo_step *step, const char *name,
                      const char *value)
{
    struct lpo_env_var *grown;

    for (size_t i = 0; i < step->nenv; i++) {
        if (strcmp(step->env[i].name, name) == 0) {
            step->env[i].value = value;
            return;
        }
    }
    grown = lpo_arena_array(a, step->nenv + 1, sizeof *grown);
    if (step->nenv)
        memcpy(grown, step->env, step->nenv * sizeof *grown);
    grown[step->nenv++] = (struct lpo_env_var){ name, value };
    step->env = grown;
}

void lpo_run_step_print(const struct lpo_step *step, struct lpo_str *out)
{
    if (step->cwd) {
        lpo_str_add(out, "cd ");
        lpo_str_add_shell(out, step->cwd);
        lpo_str_add(out, " && \\\n");
    }
    if (step->nenv)
        lpo_str_add(out, "env ");
    for (size_t i = 0; i < step->nenv; i++) {
        const struct lpo_env_var *v = &step->env[i];

        if (!v->value) {
            lpo_str_addf(out, "-u %s ", v->name);
        } else if (lpo_secrets_name_is_secret(v->name)) {
            /* the shell of who runs it again has the value; the file must not */
            lpo_str_addf(out, "%s=\"$%s\" ", v->name, v->name);
        } else {
            lpo_str_addf(out, "%s=", v->name);
            lpo_secrets_add_shell(out, v->value);
            lpo_str_addc(out, ' ');
        }
    }
    if (step->nenv)
        lpo_str_add(out, "\\\n");
    lpo_secrets_add_command(out, (const char *const *)step->argv, step->argc);
    lpo_str_addc(out, '\n');
}
