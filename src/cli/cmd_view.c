/* SPDX-License-Identifier: Apache-2.0 */
/* lpo view: the page of a report, served to this machine, with all that a page of one file folds.
 */
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "cli/view/view.h"

static const struct lpo_option options[] = {
    { "port", 0, LPO_OPT_TEXT, "N", "where (default: 8765, or a free one where that is taken)" },
    { "open", 0, LPO_OPT_FLAG, NULL, "show it in a browser" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_view_page page;
    size_t port = 0;
    int rc;

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "no trace is given; usage: lpo view DIR|FILE…");
    if (lpo_cli_count_from_args(args, "port", 0, &port, err) < 0)
        return err->code;
    if (port > 65535)
        return lpo_fail(err, LPO_E_USAGE, "--port is a number up to 65535, not %zu", port);
    rc = lpo_cli_view_page_open(&page, app, args, err);
    if (rc == 0)
        rc = lpo_cli_view_serve(&page, lpo_cli_args_has(args, "port") ? (int)port : -1,
                                lpo_cli_args_has(args, "open"), err);
    lpo_cli_view_page_close(&page);
    return rc;
}

const struct lpo_command lpo_cli_cmd_view = {
    .name = "view",
    .summary = "the page of a report for browsers of this machine, with every event of the trace",
    .usage = "DIR|FILE… [--port N] [--open]",
    .about = "Reads what lpo report reads and writes no file. Only this machine can reach the\n"
             "address that it prints; over ssh, a tunnel can. A run that is going on is followed\n"
             "and shown as it grows; lpo view ends with it, else with Ctrl-C.\n\n"
             "  lpo view trace.json.gz --open\n"
             "  ssh -L 8765:127.0.0.1:8765 gpu-node lpo view tmp/profile-output/latest",
    .options = options,
    .run = run,
};
