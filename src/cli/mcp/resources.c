/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the documentation that a client may read. */

#include "cli/mcp/private.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"

#define PREFIX "lpo://docs/"

static const struct {
    const char *file, *meaning;
} pages[] = {
    { "agents.md", "the loop: profile, read the ladder, change one thing, diff, keep or revert" },
    { "findings.md", "every finding: what it means, how its saving is computed, what to do" },
    { "report-json.md", "members of report.json" },
    { "tables.md", "tables and columns of lpo sql" },
    { "glossary.md", "the words" },
    { "run.md", "the pipeline, its stages, the run folder" },
    { "config.md", "the config tree, overrides, sweeps" },
    { "diff.md", "what changed between two runs, and is it real" },
};

/* Beside an installed program, or in the source tree of a build. */
static const char *find_page(struct lpo_arena *a, const char *file)
{
    static const char *const folders[] = { "../share/doc/llm-perf-opt", "../docs" };
    const char *here = lpo_path_program_dir(a);

    for (size_t i = 0; here && i < sizeof folders / sizeof *folders; i++) {
        const char *path = lpo_path_join(a, lpo_path_join(a, here, folders[i]), file);

        if (lpo_path_exists(path))
            return path;
    }
    return NULL;
}

void lpo_cli_mcp_put_resources(struct lpo_json_writer *w, struct lpo_arena *a)
{
    lpo_jw_array(w, "resources");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (!find_page(a, pages[i].file))
            continue;
        lpo_jw_record(w, NULL, LPO_KV("uri", lpo_arena_printf(a, PREFIX "%s", pages[i].file)),
                      LPO_KV("name", pages[i].file), LPO_KV("description", pages[i].meaning),
                      LPO_KV("mimeType", "text/markdown"));
    }
    lpo_jw_end(w);
}

const char *lpo_cli_mcp_resource(struct lpo_arena *a, const char *uri, size_t *len)
{
    struct lpo_err err = { 0 };

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        LPO_AUTO(lpo_file_text) text = NULL;
        const char *path;

        if (strncmp(uri, PREFIX, strlen(PREFIX)) != 0 ||
            strcmp(uri + strlen(PREFIX), pages[i].file) != 0)
            continue;
        path = find_page(a, pages[i].file);
        if (!path || lpo_file_text_read(path, &text, &err) < 0)
            return NULL;
        *len = text->len;
        return lpo_arena_strndup(a, text->at, text->len);
    }
    return NULL;
}
