/* SPDX-License-Identifier: Apache-2.0 */
/* lpo demo: the report of a recorded run that comes with lpo, for people without a GPU at hand. */

#include "cli/app.h"
#include "cli/command.h"
#include "run/install.h"
#include "util/input.h"
#include "util/path.h"
#include "util/tar.h"

#define ARCHIVE "demo.tar.zst"

enum { MOST_BYTES = 64 << 20 };

static const struct lpo_option options[] = {
    { "output", 'o', LPO_OPT_TEXT, "DIR", "where the run goes (default: lpo-demo)" },
    { "open", 0, LPO_OPT_FLAG, NULL, "show report.html in a browser" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static int read_archive(const char *path, struct lpo_str *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w;
    int rc = lpo_input_open(path, &in, err);

    while (rc == 0 && (rc = lpo_input_next(in, 0, &w, err)) > 0 && out->len < MOST_BYTES) {
        lpo_str_addn(out, w.at, w.len);
        rc = 0;
    }
    if (rc == 0 && lpo_input_damage(in))
        rc = lpo_fail(err, LPO_E_IO, "'%s': %s", path, lpo_input_damage(in));
    return rc;
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *dir = lpo_cli_args_text(args, "output", "lpo-demo");
    const char *archive = lpo_run_install_find(app->arena, ARCHIVE);
    const char *words[] = { "lpo", "report", dir, "--open" };
    LPO_STR tar = { 0 };

    if (args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "usage: lpo demo [-o DIR] [--open]");
    if (!archive)
        return lpo_fail(err, LPO_E_MISSING, ARCHIVE " is not beside lpo; install lpo whole");
    if (lpo_path_exists(lpo_path_join(app->arena, dir, "run.json")))
        fprintf(app->log, "lpo demo: '%s' is there already; it is reported on as it is\n", dir);
    else if (read_archive(archive, &tar, err) < 0 ||
             lpo_tar_unpack(app->arena, tar.at, tar.len, dir, err) < 0)
        return lpo_ctx(err, "cannot make '%s'", dir);
    return lpo_cli_main(app, lpo_cli_args_has(args, "open") ? 4 : 3, words);
}

const struct lpo_command lpo_cli_cmd_demo = {
    .name = "demo",
    .summary = "the report of a run that comes with lpo: what it can say, without a GPU",
    .usage = "[-o DIR] [--open]",
    .about = "A Llama of eight layers on an H200, recorded by every stage: native trace, sampled\n"
             "counters, PyTorch's operators, ncu on its kernels, power.\n\n"
             "  lpo demo --open",
    .options = options,
    .run = run,
};
