#include "run/step.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/arena.h"
#include "util/str.h"

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

void lpo_run_step_arg(struct lpo_arena *a, struct lpo_step *step, const char *word)
{
    const char **grown = lpo_arena_array(a, step->argc + 2, sizeof *grown);

    if (step->argc)
        memcpy(grown, step->argv, step->argc * sizeof *grown);
    grown[step->argc++] = word;
    step->argv = grown;
}

void lpo_run_step_argf(struct lpo_arena *a, struct lpo_step *step, const char *fmt, ...)
{
    va_list ap;
    char *word;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    word = lpo_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    va_start(ap, fmt);
    vsnprintf(word, (size_t)(n < 0 ? 0 : n) + 1, fmt, ap);
    va_end(ap);
    lpo_run_step_arg(a, step, word);
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

bool lpo_run_env_is_secret(const char *name)
{
    static const char *const marks[] = { "TOKEN",  "KEY",    "PASSWORD",
                                         "PASSWD", "SECRET", "CREDENTIAL" };
    char upper[256];
    size_t i = 0;

    for (; i < sizeof upper - 1 && name[i]; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    upper[i] = '\0';
    for (i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(upper, marks[i]))
            return true;
    return false;
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
        } else if (lpo_run_env_is_secret(v->name)) {
            lpo_str_addf(out, "%s=\"$%s\" ", v->name, v->name);
        } else {
            lpo_str_addf(out, "%s=", v->name);
            lpo_str_add_shell(out, v->value);
            lpo_str_addc(out, ' ');
        }
    }
    if (step->nenv)
        lpo_str_add(out, "\\\n");
    for (size_t i = 0; i < step->argc; i++) {
        if (i)
            lpo_str_addc(out, ' ');
        lpo_str_add_shell(out, step->argv[i]);
    }
    lpo_str_addc(out, '\n');
}
