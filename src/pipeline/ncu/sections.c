#include "pipeline/ncu/sections.h"

#include <string.h>
#include <strings.h>

#include "hydra/node.h"
#include "pipeline/stage.h"
#include "run/conf.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

enum { MAX_SECTIONS = 1024 };

struct names {
    const char *at[MAX_SECTIONS];
    size_t len;
};

/* The first word of every line below the table's head, which stands between two dashed lines. A
 * cell that goes on in the next line leaves that one's first column blank. */
static void read_names(struct lpo_arena *a, const char *text, struct names *out)
{
    unsigned dashed = 0;

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, " \t\r\n");

        if (*p == '-')
            dashed++;
        else if (dashed == 2 && n > 0 && out->len < MAX_SECTIONS)
            out->at[out->len++] = lpo_arena_strndup(a, p, n);
    }
}

static bool has(const struct names *names, const char *section)
{
    for (size_t i = 0; i < names->len; i++)
        if (strcasecmp(names->at[i], section) == 0)
            return true;
    return false;
}

/* Words of the user's own may name a folder with more sections than the list has. */
static bool own_folder(struct lpo_stage_ctx *ctx, const struct lpo_node *cli)
{
    const char **words;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "extra_args", false, &words);

    for (size_t i = 0; i < n; i++)
        if (strstr(words[i], "--section-folder"))
            return true;
    return false;
}

int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                                    const char *list, struct lpo_err *err)
{
    struct names *names = LPO_NEW(ctx->arena, struct names);
    LPO_AUTO(lpo_file_text) text = NULL;
    const char **sections;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "sections", true, &sections);

    if (n == 0 || own_folder(ctx, cli) || lpo_file_text_read(list, &text, NULL) < 0)
        return 0;
    read_names(ctx->arena, text->at, names);
    for (size_t i = 0; i < n && names->len > 0; i++) {
        const char *near;

        if (strncmp(sections[i], "regex:", strlen("regex:")) == 0 || has(names, sections[i]))
            continue;
        near = lpo_str_nearest(sections[i], names->at, names->len);
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.ncu_cli.sections: this ncu has no section '%s'%s%s%s; %s "
                        "lists all %zu",
                        sections[i], near ? " (did you mean '" : "", near ? near : "",
                        near ? "'?)" : "", list, names->len);
    }
    return 0;
}
