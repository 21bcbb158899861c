/* SPDX-License-Identifier: Apache-2.0 */
#include "run/one_rank.h"

#include <errno.h>
#include <unistd.h>

#include "lpo/launchers.h"
#include "rules/rules.h"
#include "settings/settings.h"
#include "util/json_write.h"
#include "util/path.h"

#define TOOL_VARIABLE "LPO_RANK_TOOL" /* workloads/lpo_sitecustomize/lpo_rank_tool.py */

/* --- where the program begins --------------------------------------------------------------- */

/* Launchers whose words end with the program and its own: conf/rules/tools.yaml. */
struct words_launcher {
    const char *name, *words; /* whose options it has */
    int skip;                 /* words of a command before its options: "flux run" */
    bool short_value;         /* -n8 is -n 8, where others would mean an option of two letters */
};

static const struct lpo_rules_member members[] = {
    LPO_RULES_MEMBER(words_launcher, TEXT, name),
    LPO_RULES_MEMBER(words_launcher, TEXT, words),
    LPO_RULES_MEMBER(words_launcher, INT, skip),
    LPO_RULES_MEMBER(words_launcher, FLAG, short_value),
};
static struct lpo_rules_table words_launchers =
    LPO_RULES_TABLE("tools", "launchers", members, words_launcher);

/* How many words the option at `word` takes besides its own. */
static size_t values_of(const struct words_launcher *l, const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t dashes = (size_t)(name - word);

    if (strchr(word, '=') || lpo_rules_has("tools", "launcher_flags", l->words, name))
        return 0;
    if (l->short_value && dashes == 1 && strlen(name) > 1)
        return 0;
    return lpo_rules_has("tools", "launcher_pairs", l->words, name) ? 2 : 1;
}

static size_t find_program(const struct words_launcher *l, const char *const *argv, size_t argc)
{
    size_t i = 1 + (size_t)l->skip;

    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
        i += 1 + values_of(l, argv[i]);
    return i < argc && strcmp(argv[i], "--") == 0 ? i + 1 : i;
}

static bool starts_python(const char *const *argv, size_t argc)
{
    const char *base = lpo_path_base(argv[0]);

    if (lpo_rules_has("tools", "python_launchers", "program", base))
        return true;
    for (size_t i = 1; lpo_str_starts(base, "python") && i + 1 < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-m") == 0)
            return lpo_rules_has("tools", "python_launchers", "module", argv[i + 1]);
    }
    return false;
}

/* A word that no shell would start: the options were understood wrongly. */
static bool may_be_program(const char *word)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return strchr(word, '/') || lpo_path_which(a, word);
}

int lpo_run_one_rank_find(const char *const *argv, size_t argc, struct lpo_one_rank *out,
                          struct lpo_err *err)
{
    size_t count;
    const struct words_launcher *launchers = lpo_rules_rows(&words_launchers, &count);

    *out = (struct lpo_one_rank){ .launcher = argc ? lpo_path_base(argv[0]) : "" };
    if (argc && starts_python(argv, argc)) {
        out->way = LPO_ONE_RANK_PYTHON;
        return 0;
    }
    for (size_t i = 0; argc && i < count; i++) {
        const struct words_launcher *l = &launchers[i];

        if (strcmp(l->name, out->launcher) != 0)
            continue;
        out->way = LPO_ONE_RANK_WORDS;
        out->at = find_program(l, argv, argc);
        if (out->at < argc && may_be_program(argv[out->at]))
            return 0;
        return lpo_fail(err, LPO_E_CONFIG,
                        "one rank alone is to be measured, and the program could not be found "
                        "among the words of %s; put '--' before it, or start lpo in each task: "
                        "%s … lpo run -- PROGRAM",
                        l->name, l->name);
    }
    return 0;
}

/* --- the tool in between -------------------------------------------------------------------- */

static const char *for_python(struct lpo_arena *a, int32_t rank, const struct lpo_words *tool)
{
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("rank", rank));
    lpo_run_ranks_launchers_json(&w);
    lpo_jw_texts(&w, "words", (const char *const *)tool->at, tool->len);
    lpo_jw_end(&w);
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

void lpo_run_one_rank_wrap(struct lpo_arena *a, const struct lpo_one_rank *o, int32_t rank,
                           const struct lpo_words *tool, const struct lpo_words *program,
                           struct lpo_step *step)
{
    struct lpo_words words = { 0 };

    if (o->way == LPO_ONE_RANK_PYTHON) {
        lpo_run_step_env(a, step, TOOL_VARIABLE, for_python(a, rank, tool));
        return;
    }
    for (size_t i = 0; i < program->len; i++) {
        if (i == o->at) {
            lpo_run_words_add(a, &words, lpo_path_program(a));
            lpo_run_words_add(a, &words, "__rank");
            lpo_run_words_addf(a, &words, "%d", (int)rank);
            lpo_run_words_addf(a, &words, "%zu", tool->len);
            for (size_t k = 0; k < tool->len; k++)
                lpo_run_words_add(a, &words, tool->at[k]);
        }
        lpo_run_words_add(a, &words, program->at[i]);
    }
    step->argv = words.at;
    step->argc = words.len;
    step->program = 0;
}

int lpo_run_one_rank_main(int argc, const char *const *argv)
{
    int64_t rank = argc > 0 ? lpo_launcher_number(argv[0], LPO_RANK_MAX) : -1;
    int64_t count = argc > 1 ? lpo_launcher_number(argv[1], argc) : -1;
    struct lpo_rank own = lpo_launcher_rank();
    const char *const *words;

    if (rank < 0 || count < 0 || count + 2 >= argc) {
        fputs("lpo __rank: it is started by lpo run, between a launcher and a program\n", stderr);
        return 2;
    }
    words = argv + 2 + (own.launcher && own.rank == rank ? 0 : count);
    execvp(words[0], (char *const *)words);
    fprintf(stderr, "lpo: cannot start '%s': %s\n", words[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

const char *lpo_run_ranks_word(struct lpo_arena *a, const struct lpo_node *config)
{
    const char *ranks = lpo_settings_joined(a, config, "run.ranks");

    if (!ranks)
        return "all";
    return lpo_streq(ranks, "one per node") ? "node" : ranks;
}

int32_t lpo_run_ranks_first(struct lpo_arena *a, const struct lpo_node *config)
{
    const char *word = lpo_run_ranks_word(a, config);

    return *word >= '0' && *word <= '9' ? (int32_t)strtol(word, NULL, 10) : 0;
}

void lpo_run_ranks_json(struct lpo_arena *a, const struct lpo_node *config,
                        struct lpo_json_writer *w)
{
    lpo_jw_put(w, LPO_KV("ranks", lpo_run_ranks_word(a, config)));
    lpo_run_ranks_launchers_json(w);
}

void lpo_run_ranks_launchers_json(struct lpo_json_writer *w)
{
    lpo_jw_array(w, "launchers");
    for (int i = 0; i < LPO_LAUNCHERS; i++)
        lpo_jw_list(w, NULL, LPO_V(lpo_launchers[i].rank), LPO_V(lpo_launchers[i].local_rank),
                    LPO_V(lpo_launchers[i].world_size));
    lpo_jw_end(w);
}
