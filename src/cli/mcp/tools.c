/* SPDX-License-Identifier: Apache-2.0 */
/* The tools: a row each, and the command of lpo that answers it. */
#include <limits.h>

#include "cli/mcp/private.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

enum {
    DEFAULT_ROWS = 20,
    MOST_ROWS = 1000,
    DEFAULT_BYTES = 16000,
    LEAST_BYTES = 1000,
    MOST_BYTES = 200000
};

static void add_word(struct mcp_plan *p, const char *word)
{
    lpo_vec_push(&p->words, word);
}

static bool is_inside(const char *path, const char *root)
{
    size_t n = strlen(root);

    return strncmp(path, root, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || (n && root[n - 1] == '/'));
}

/* A path below one of the folders given at start, whatever links it goes through. */
static int add_path(struct mcp_plan *p, const char *given, struct lpo_err *err)
{
    char real[PATH_MAX];

    for (size_t i = 0; i <= p->server->nroots; i++) {
        /* below one of them, else as who started the server would write it */
        const char *path =
            i < p->server->nroots ? lpo_path_join(p->arena, p->server->roots[i], given) : given;

        if (!realpath(path, real))
            continue;
        for (size_t j = 0; j < p->server->nroots; j++)
            if (is_inside(real, p->server->roots[j])) {
                add_word(p, lpo_arena_strdup(p->arena, real));
                return 0;
            }
        return lpo_fail(err, LPO_E_USAGE, "%s lies outside the folders given to lpo mcp", given);
    }
    return lpo_fail(err, LPO_E_NOTFOUND, "%s: no such file below the folders given to lpo mcp",
                    given);
}

/* The paths of an argument; without it what lpo mcp was started with. */
static int add_paths(struct mcp_plan *p, const char *name, struct lpo_err *err)
{
    const struct lpo_json *v = lpo_json_get(p->arguments, name);

    if (!v) {
        for (size_t i = 0; i < p->server->nroots; i++)
            add_word(p, p->server->roots[i]);
        return 0;
    }
    if (v->kind == LPO_JSON_STRING)
        return add_path(p, v->text, err);
    LPO_JSON_EACH(item, v)
    if (add_path(p, lpo_json_text(item, ""), err) < 0)
        return err->code;
    return v->count ? 0 : lpo_fail(err, LPO_E_USAGE, "'%s' is an empty list", name);
}

static int plan_command(struct mcp_plan *p, const char *command, const char *rows,
                        struct lpo_err *err)
{
    add_word(p, command);
    add_word(p, "--json");
    p->rows = rows;
    return add_paths(p, "files", err);
}

static int plan_report(struct mcp_plan *p, struct lpo_err *err)
{
    static const char *const members[] = { "window", "ladder", "wall", "findings", "notes" };

    memcpy(p->members, members, sizeof members);
    return plan_command(p, "report", "findings", err);
}

static int plan_findings(struct mcp_plan *p, struct lpo_err *err)
{
    p->members[0] = "findings";
    return plan_command(p, "report", "findings", err);
}

static int plan_ladder(struct mcp_plan *p, struct lpo_err *err)
{
    p->members[0] = "window";
    p->members[1] = "ladder";
    return plan_command(p, "report", "rungs", err);
}

static int plan_explain(struct mcp_plan *p, struct lpo_err *err)
{
    p->only_id = lpo_json_text(lpo_json_get(p->arguments, "id"), "");
    return plan_command(p, "report", "findings", err);
}

static int plan_regions(struct mcp_plan *p, struct lpo_err *err)
{
    const char *pattern = lpo_json_text(lpo_json_get(p->arguments, "region"), NULL);

    if (plan_command(p, "regions", "regions", err) < 0)
        return err->code;
    if (pattern)
        add_word(p, lpo_arena_printf(p->arena, "--region=%s", pattern));
    return 0;
}

static int plan_kernels(struct mcp_plan *p, struct lpo_err *err)
{
    return plan_command(p, "top", "kernels", err);
}

static int plan_operators(struct mcp_plan *p, struct lpo_err *err)
{
    return plan_command(p, "operators", "operators", err);
}

static int plan_query(struct mcp_plan *p, const char *query, struct lpo_err *err)
{
    if (plan_command(p, "sql", "rows", err) < 0)
        return err->code;
    add_word(p, query);
    return 0;
}

static int plan_sql(struct mcp_plan *p, struct lpo_err *err)
{
    const char *query = lpo_json_text(lpo_json_get(p->arguments, "query"), NULL);

    if (query)
        return plan_query(p, query, err);
    if (plan_command(p, "sql", "tables", err) < 0)
        return err->code;
    add_word(p, "--tables");
    return 0;
}

static int plan_timeline(struct mcp_plan *p, struct lpo_err *err)
{
    long long from = lpo_json_int(lpo_json_get(p->arguments, "from_ns"), 0);
    long long to = lpo_json_int(lpo_json_get(p->arguments, "to_ns"), 0);

    if (to <= from)
        return lpo_fail(err, LPO_E_USAGE, "'to_ns' must be after 'from_ns'");
    return plan_query(
        p,
        lpo_arena_printf(
            p->arena,
            "select 'gpu' as side, kind, name, start_ns, end_ns, device, stream, null as thread "
            "from gpu_ops "
            "where start_ns < %lld and end_ns > %lld union all select 'host', kind, name, "
            "start_ns, "
            "end_ns, null, null, thread from slices where start_ns < %lld and end_ns > %lld "
            "order by start_ns limit %d",
            to, from, to, from, MOST_ROWS),
        err);
}

static int plan_diff(struct mcp_plan *p, struct lpo_err *err)
{
    add_word(p, "diff");
    add_word(p, "--json");
    p->rows = "kernels";
    if (add_paths(p, "before", err) < 0)
        return err->code;
    add_word(p, "--");
    return add_paths(p, "after", err);
}

static int plan_run(struct mcp_plan *p, struct lpo_err *err)
{
    const struct lpo_json *program = lpo_json_get(p->arguments, "program");

    add_word(p, "run");
    LPO_JSON_EACH(item, lpo_json_get(p->arguments, "overrides"))
    add_word(p, lpo_json_text(item, ""));
    add_word(p, lpo_arena_printf(p->arena, "artifacts.runs_dir=%s", p->server->roots[0]));
    if (program)
        add_word(p, "--");
    LPO_JSON_EACH(item, program)
    add_word(p, lpo_json_text(item, ""));
    (void)err;
    return 0;
}

#define FILES                                                                                      \
    {                                                                                              \
        "files", MCP_WORDS, false,                                                                 \
            "run folder or traces that belong together; default: what lpo mcp was given"           \
    }
#define CUT                                                                                        \
    { "limit", MCP_COUNT, false, "rows, 20 unless told" },                                         \
        { "offset", MCP_COUNT, false, "rows to skip" },                                            \
    {                                                                                              \
        "max_bytes", MCP_COUNT, false, "size of the answer, 16000 unless told"                     \
    }

static const struct mcp_tool tools[] = {
    { "report",
      "Report",
      "What was recorded and what to do first: window, ladder, wall time by part, findings.",
      { FILES, CUT },
      plan_report,
      false },
    { "findings",
      "Findings",
      "What costs wall time, largest saving first, each with evidence and advice.",
      { FILES, CUT },
      plan_findings,
      false },
    { "ladder",
      "Ladder",
      "From the measured time down to what the hardware allows, one change at a time.",
      { FILES, CUT },
      plan_ladder,
      false },
    { "explain",
      "Explain a finding",
      "One finding whole: evidence, how it was computed, what would falsify it.",
      { { "id", MCP_TEXT, true, "id of a finding, as in findings" }, FILES, CUT },
      plan_explain,
      false },
    { "regions",
      "Regions",
      "Time, launches and counters of NVTX regions.",
      { { "region", MCP_TEXT, false, "a pattern of paths, as decode/layer*" }, FILES, CUT },
      plan_regions,
      false },
    { "kernels", "Kernels", "Kernels by GPU time.", { FILES, CUT }, plan_kernels, false },
    { "operators",
      "Operators",
      "Framework operators by shape, with FLOPs, bytes and share of the roof.",
      { FILES, CUT },
      plan_operators,
      false },
    { "timeline",
      "Timeline",
      "What happened between two times: GPU operations and host slices in order.",
      { { "from_ns", MCP_COUNT, true, "on the clock of the trace, as in window.start_ns" },
        { "to_ns", MCP_COUNT, true, "end of the stretch" },
        FILES,
        CUT },
      plan_timeline,
      false },
    { "sql",
      "SQL",
      "A query over every event and result; without one, the tables and columns.",
      { { "query", MCP_TEXT, false, "select …" }, FILES, CUT },
      plan_sql,
      false },
    { "diff",
      "Compare",
      "What changed between two runs or traces, and whether it is significant.",
      { { "before", MCP_WORDS, true, "run folder or traces" },
        { "after", MCP_WORDS, true, "the same, later" },
        CUT },
      plan_diff,
      false },
    { "run",
      "Profile",
      "Profiles a program with every stage that the config enables; takes as long as the program, "
      "several times.",
      { { "program", MCP_WORDS, false, "the program and its arguments" },
        { "overrides", MCP_WORDS, false, "config overrides, as pipeline.ncu.enable=true" },
        CUT },
      plan_run,
      true },
};

const struct mcp_tool *lpo_cli_mcp_tool(size_t i)
{
    return i < sizeof tools / sizeof *tools ? &tools[i] : NULL;
}

void lpo_cli_mcp_put_schema(struct lpo_json_writer *w, const struct mcp_tool *tool)
{
    static const char *const types[] = { [MCP_TEXT] = "\"string\"",
                                         [MCP_COUNT] = "\"integer\"",
                                         [MCP_WORDS] = "[\"array\",\"string\"]" };

    lpo_jw_object(w, "inputSchema");
    lpo_jw_put(w, LPO_KV("type", "object"));
    lpo_jw_object(w, "properties");
    for (const struct mcp_param *q = tool->params; q->name; q++)
        lpo_jw_record(w, q->name, LPO_KV("type", lpo_jv_raw(types[q->type])),
                      LPO_KV_IF(q->type == MCP_WORDS, "items", lpo_jv_raw("{\"type\":\"string\"}")),
                      LPO_KV("description", q->meaning));
    lpo_jw_end(w);
    lpo_jw_array(w, "required");
    for (const struct mcp_param *q = tool->params; q->name; q++)
        if (q->required)
            lpo_jw_put(w, LPO_V(q->name));
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("additionalProperties", lpo_jv_flag(false)));
    lpo_jw_end(w);
}

static bool has_type(const struct mcp_param *q, const struct lpo_json *v)
{
    if (q->type == MCP_COUNT)
        return v->kind == LPO_JSON_INT;
    if (v->kind == LPO_JSON_STRING)
        return strlen(v->text) == v->len; /* a NUL inside would end it early */
    if (q->type != MCP_WORDS || v->kind != LPO_JSON_ARRAY)
        return false;
    LPO_JSON_EACH(item, v)
    if (item->kind != LPO_JSON_STRING || strlen(item->text) != item->len)
        return false;
    return true;
}

static int check_arguments(const struct mcp_tool *tool, const struct lpo_json *arguments,
                           struct lpo_err *err)
{
    LPO_JSON_EACH(v, arguments)
    {
        const struct mcp_param *q = tool->params;

        while (q->name && strcmp(q->name, v->key) != 0)
            q++;
        if (!q->name)
            return lpo_fail(err, LPO_E_USAGE, "%s has no argument '%s'", tool->name, v->key);
        if (!has_type(q, v))
            return lpo_fail(err, LPO_E_USAGE, "'%s' must be %s", q->name,
                            q->type == MCP_COUNT  ? "a whole number"
                            : q->type == MCP_TEXT ? "text"
                                                  : "text or a list of texts");
    }
    for (const struct mcp_param *q = tool->params; q->name; q++)
        if (q->required && !lpo_json_get(arguments, q->name))
            return lpo_fail(err, LPO_E_USAGE, "%s needs the argument '%s'", tool->name, q->name);
    return 0;
}

static size_t read_bounded(const struct lpo_json *v, size_t fallback, size_t least, size_t most)
{
    int64_t n = lpo_json_int(v, (int64_t)fallback);

    return n < (int64_t)least ? least : n > (int64_t)most ? most : (size_t)n;
}

int lpo_cli_mcp_plan(const struct mcp_tool *tool, struct mcp_plan *p, struct lpo_err *err)
{
    if (tool->runs && !p->server->allow_run)
        return lpo_fail(err, LPO_E_USAGE, "programs are run only after 'lpo mcp --allow-run'");
    if (check_arguments(tool, p->arguments, err) < 0)
        return err->code;
    p->cut.offset = read_bounded(lpo_json_get(p->arguments, "offset"), 0, 0, SIZE_MAX / 4);
    p->cut.limit = read_bounded(lpo_json_get(p->arguments, "limit"), DEFAULT_ROWS, 1, MOST_ROWS);
    p->cut.most_bytes = read_bounded(lpo_json_get(p->arguments, "max_bytes"), DEFAULT_BYTES,
                                     LEAST_BYTES, MOST_BYTES);
    return tool->plan(p, err);
}
