/* SPDX-License-Identifier: Apache-2.0 */
/* cli/mcp/private.h - the Model Context Protocol over standard input and output.
 *
 * server.c speaks JSON-RPC, one message a line; tools.c has a row for each tool, which turns its
 * arguments into the words of another command of lpo; child.c runs that command, so that a call can
 * be cancelled and a broken file ends nobody else; answer.c cuts what it printed to what was asked
 * for. */
#pragma once

#include "util/base.h"

struct lpo_app;
struct lpo_json;
struct lpo_json_writer;

struct mcp_server {
    struct lpo_app *app;
    const char *const *roots; /* real paths: nothing outside them is read */
    size_t nroots;
    bool allow_run;
};

enum mcp_type { MCP_TEXT, MCP_COUNT, MCP_WORDS }; /* WORDS: one text, or a list of them */

struct mcp_param {
    const char *name; /* NULL ends the list */
    enum mcp_type type;
    bool required;
    const char *meaning;
};

/* What an answer is cut to. */
struct mcp_cut {
    size_t offset, limit; /* rows of the table that was asked for */
    size_t most_bytes;
};

/* A call while it is planned: what to run, and what of its output is the answer. */
struct mcp_plan {
    const struct mcp_server *server;
    struct lpo_arena *arena;
    const struct lpo_json *arguments;
    LPO_VEC(const char *) words; /* of lpo, without its name */
    const char *members[8];      /* of the JSON it prints, NULL ends; none: all of it */
    const char *rows;            /* the member whose rows offset and limit count */
    const char *only_id;         /* the row with this id, whole */
    bool explain;                /* how it was found, and what would prove it wrong */
    struct mcp_cut cut;
};

struct mcp_tool {
    const char *name, *title, *meaning;
    struct mcp_param params[8];
    int (*plan)(struct mcp_plan *p, struct lpo_err *err);
    bool runs; /* starts the user's program: only with --allow-run */
};

/* The rows, NULL after the last. */
const struct mcp_tool *lpo_cli_mcp_tool(size_t i);
void lpo_cli_mcp_put_schema(struct lpo_json_writer *w, const struct mcp_tool *tool);
/* Checks the arguments against the row and plans the command. */
int lpo_cli_mcp_plan(const struct mcp_tool *tool, struct mcp_plan *p, struct lpo_err *err);

/* A page that a client may read: "lpo://docs/findings.md" and what it is. */
void lpo_cli_mcp_put_resources(struct lpo_json_writer *w, struct lpo_arena *a);
/* Its text; NULL: there is none of that name. */
const char *lpo_cli_mcp_resource(struct lpo_arena *a, const char *uri, size_t *len);

/* What a command printed, as the text of an answer. */
void lpo_cli_mcp_answer(struct lpo_str *out, const struct mcp_plan *p, const struct lpo_json *data);

struct mcp_child {
    int pid, out, err; /* -1: none runs, closed */
    struct lpo_str printed, said;
    bool too_long;
};

int lpo_cli_mcp_child_start(struct mcp_child *c, const struct mcp_plan *p, struct lpo_err *err);
/* Reads what there is on one of its descriptors. */
void lpo_cli_mcp_child_read(struct mcp_child *c, int *fd, struct lpo_str *into);
/* Its exit code, or minus the signal. Both ends must be closed, or it was killed. */
int lpo_cli_mcp_child_end(struct mcp_child *c);
void lpo_cli_mcp_child_kill(struct mcp_child *c);
