/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/workload.h"

#include "run/install.h"
#include "run/server/server.h"
#include "settings/settings.h"
#include "util/path.h"

static void add_numbers(struct lpo_arena *a, const struct lpo_node *config, struct lpo_words *words)
{
    static const struct {
        const char *flag, *key;
    } numbers[] = {
        { "--layers", "model.layers" },
        { "--hidden", "model.hidden" },
        { "--heads", "model.heads" },
        { "--kv-heads", "model.kv_heads" },
        { "--ffn", "model.ffn" },
        { "--vocab", "model.vocab" },
        { "--threads", "workload.toy.threads" },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t v = lpo_settings_int(config, numbers[i].key);

        if (v > 0 && lpo_settings_is_set(config, numbers[i].key)) {
            lpo_run_words_add(a, words, numbers[i].flag);
            lpo_run_words_addf(a, words, "%lld", (long long)v);
        }
    }
}

/* The built-in ones, where the config names none. */
static int add_built_in(struct lpo_arena *a, const struct lpo_node *config,
                        struct lpo_server_plan *p, struct lpo_err *err)
{
    static const char *const server_words[] = { "--host", "@host@", "--port", "@port@", NULL };
    static const char *const client_words[] = { "--host", "@host@",   "--port",
                                                "@port@", "--result", "@out@/client.json",
                                                NULL };
    const char *server = lpo_run_install_find(a, "toy_server");
    const char *client = lpo_run_install_find(a, "toy_client");

    if (!server || !client)
        return lpo_fail(err, LPO_E_MISSING,
                        "toy_server and toy_client are not beside lpo; build them, or give a "
                        "server: lpo run workload=server -- ./server");
    lpo_run_words_add(a, &p->server, server);
    for (const char *const *w = server_words; *w; w++)
        lpo_run_words_add(a, &p->server, *w);
    add_numbers(a, config, &p->server);
    if (p->load.len)
        return 0;
    lpo_run_words_add(a, &p->load, client);
    for (const char *const *w = client_words; *w; w++)
        lpo_run_words_add(a, &p->load, *w);
    return 0;
}

static int read_plan(struct lpo_arena *a, const struct lpo_node *config, struct lpo_server_plan *p,
                     struct lpo_err *err)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");

    lpo_run_server_plan_read(a, config, p);
    p->server = (struct lpo_words){ argv.at, argv.len };
    if (!argv.len && add_built_in(a, config, p, err) < 0)
        return err->code;
    return lpo_run_server_plan_check(a, p, err);
}

static int find_program(struct lpo_arena *a, const struct lpo_words *words, const char *what,
                        struct lpo_err *err)
{
    if (!words->len || lpo_path_which(a, words->at[0]))
        return 0;
    return lpo_fail(err, LPO_E_MISSING, "the program '%s' of %s was not found or is not executable",
                    words->at[0], what);
}

bool lpo_workload_server_under_load(const struct lpo_node *config)
{
    const char *kind = lpo_settings_text(config, "workload.kind");
    const char *over = lpo_settings_text(config, "workload.server.window.over");

    return kind && over && strcmp(kind, "server") == 0 && strcmp(over, "load") == 0;
}

int lpo_workload_server_check(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_err *err)
{
    struct lpo_server_plan p;

    return read_plan(a, config, &p, err);
}

int lpo_workload_server_build(struct lpo_arena *a, const struct lpo_node *config,
                              const char *out_dir, struct lpo_step *step, struct lpo_err *err)
{
    const char *self = lpo_path_program(a);
    struct lpo_server_plan p;

    if (read_plan(a, config, &p, err) < 0 ||
        find_program(a, &p.server, "the server (workload.argv)", err) < 0 ||
        find_program(a, &p.warmup, "the warm-up (workload.server.warmup.argv)", err) < 0 ||
        find_program(a, &p.load, "the client (workload.server.load.argv)", err) < 0)
        return err->code;
    p.out_dir = out_dir;
    lpo_run_step_arg(a, step, self ? self : "lpo");
    lpo_run_step_arg(a, step, "__server");
    lpo_run_server_plan_add(a, &p, step);
    if (strcmp(p.window, "load") == 0) { /* nothing happens where no collector is loaded */
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_CONTROL", "1");
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_WAIT", "1");
    }
    return 0;
}
