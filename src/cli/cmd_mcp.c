/* SPDX-License-Identifier: Apache-2.0 */
/* lpo mcp: the same answers for coding agents. */
#include <stddef.h>

#include "cli/command.h"
#include "cli/mcp/mcp.h"

static const struct lpo_option options[] = {
    { "allow-run", 0, LPO_OPT_FLAG, NULL, "offer the tool 'run', which starts programs" },
    { NULL, 0, 0, NULL, NULL },
};

const struct lpo_command lpo_cli_cmd_mcp = {
    .name = "mcp",
    .summary = "answers for coding agents (Model Context Protocol on stdin and stdout)",
    .usage = "[DIR|FILE…] [--allow-run]",
    .about =
        "A client such as a coding agent starts it and asks for the ladder, findings, regions,\n"
        "kernels, operators, SQL and comparisons. Only what lies in the folders named here is\n"
        "read; without one, the working folder.\n\n"
        "  lpo mcp tmp/profile-output\n"
        "  lpo mcp traces --allow-run",
    .options = options,
    .run = lpo_cli_mcp_serve,
};
