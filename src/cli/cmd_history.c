/* SPDX-License-Identifier: Apache-2.0 */
/* lpo history: runs kept for later comparisons, and how their figures moved. */
#include <time.h>

#include "analysis/diff/diff.h"
#include "analysis/diff/digest_json.h"
#include "analysis/diff/trend.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/diff/diff.h"
#include "report/diff/history.h"
#include "report/doc/doc.h"
#include "rundir/history/history.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "writer/page_assets.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv or json"),
    { "store", 's', LPO_OPT_TEXT, "PATH",
      "the history: an SQLite file, or a folder of files for git (default: " LPO_CLI_HISTORY ")" },
    { "what", 'w', LPO_OPT_TEXT, "FIGURE",
      "trend of: wall, gpu, tokens_per_s, ttft_ms, …, region:PATH, kernel:NAME, operator:NAME "
      "(default: wall)" },
    { "commit", 0, LPO_OPT_TEXT, "ID",
      "add: the commit that was measured (default: what the run folder or file says)" },
    { "last", 0, LPO_OPT_TEXT, "N", "only the newest N runs of the name" },
    { "output", 'o', LPO_OPT_TEXT, "FILE", "trend: the picture as SVG" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

struct request {
    const struct lpo_args *args;
    const char *store, *what, *commit;
    const struct lpo_writer *writer;
    size_t last;
};

/* --- add ------------------------------------------------------------------------------------ */

static int add_digest(struct lpo_app *app, const struct request *r, struct lpo_history *h,
                      const char *name, const struct lpo_diff_digest *d, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    LPO_STR figures = { 0 };
    const char *commit = lpo_diff_digest_fact(d, "commit");
    struct lpo_history_entry e = { .name = name, .label = d->label, .unix_s = time(NULL) };
    int64_t id = 0;

    lpo_diff_digest_write(d, &text);
    lpo_diff_figures_write(d, &figures);
    e.text = text.at;
    e.len = text.len;
    e.figures = figures.at;
    e.revision = r->commit ? r->commit : commit ? commit : "";
    if (lpo_history_add(h, &e, &id, err) < 0)
        return err->code;
    fprintf(app->out, "run %lld of '%s': %s\n", (long long)id, name, d->label);
    return 0;
}

static int add(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    const char *const *words = r->args->words;
    LPO_AUTO(lpo_history) h = NULL;
    int rc;

    if (r->args->nwords < 3)
        return lpo_fail(err, LPO_E_USAGE, "usage: lpo history add NAME RUN…");
    rc = lpo_history_open(r->store, true, &h, err);
    for (size_t i = 2; rc == 0 && i < r->args->nwords; i++) {
        struct lpo_diff_reading one = { 0 };

        rc = lpo_cli_runs_read(app, &words[i], 1, &one, err);
        if (rc == 0)
            rc = add_digest(app, r, h, words[1], one.at[0], err);
        lpo_cli_runs_free(&one);
    }
    return rc;
}

/* --- site ----------------------------------------------------------------------------------- */

/* A folder of pages. The digest before is kept for the page that compares two neighbours. */
struct site {
    struct lpo_arena *arena;
    const char *dir;
    struct lpo_diff_digest *last;
    const char *last_name;
};

static int write_rows(const struct site *s, int64_t id, const struct lpo_diff_digest *d,
                      struct lpo_err *err)
{
    enum { MOST_ROWS = 150 };
    static const char *const kinds[LPO_DIFF_TABLES] = { "kernel", "region", "operator" };
    double length = d->steps ? (double)d->steps : 1;
    LPO_STR out = { 0 };
    LPO_STR list = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&list, 0);

    lpo_jw_array(&w, NULL);
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->items[t].len && i < MOST_ROWS; i++) {
            const struct lpo_diff_item *x = &d->items[t].at[i];

            lpo_jw_list(&w, NULL,
                        LPO_V(lpo_arena_printf(s->arena, "%s:%s%s%s", kinds[t], x->name,
                                               t == LPO_DIFF_OPERATORS && *x->detail ? " " : "",
                                               t == LPO_DIFF_OPERATORS ? x->detail : "")),
                        LPO_V((double)x->ns / length));
        }
    lpo_jw_end(&w);
    lpo_str_addf(&out, "lpo_rows(%lld, ", (long long)id);
    lpo_str_addn(&out, list.at, list.len);
    lpo_str_add(&out, ");\n");
    return lpo_file_write(
        lpo_path_join(s->arena, s->dir, lpo_arena_printf(s->arena, "rows/%lld.js", (long long)id)),
        out.at, out.len, err);
}

/* The page of a run: what changed since the one before it of the same name; of the first, itself.
 */
static int write_run(struct site *s, const struct lpo_report_history_run *x,
                     struct lpo_diff_digest **d, struct lpo_err *err)
{
    bool follows = s->last && strcmp(s->last_name, x->name) == 0;
    struct lpo_diff_digest *a = follows ? s->last : *d;
    struct lpo_report_diff_options o = { .rows = 20, .fail_over = -1 };
    const char *path = lpo_path_join(s->arena, s->dir,
                                     lpo_arena_printf(s->arena, "run-%lld.html", (long long)x->id));
    int rc = write_rows(s, x->id, *d, err);

    if (rc == 0) {
        LPO_AUTO(lpo_diff)
        diff = lpo_diff_create((struct lpo_diff_runs){ &a, 1 }, (struct lpo_diff_runs){ d, 1 });
        LPO_AUTO(lpo_doc) doc = lpo_report_diff_doc(diff, &o);

        rc = lpo_writer_write(doc, lpo_writer_find("html"), path, err);
    }
    lpo_diff_digest_destroy(s->last);
    s->last = *d;
    s->last_name = x->name;
    *d = NULL;
    return rc;
}

static int write_data(const struct site *s, const lpo_report_history_runs *runs,
                      const struct lpo_map *names, struct lpo_err *err)
{
    LPO_STR out = { 0 };
    LPO_STR data = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&data, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_array(&w, "names");
    for (size_t i = 0; i < lpo_map_count(names); i++)
        lpo_jw_put(&w, LPO_V(lpo_map_key(names, i, NULL)));
    lpo_jw_end(&w);
    lpo_jw_array(&w, "runs");
    for (size_t i = 0; i < runs->len; i++) {
        const struct lpo_report_history_run *x = &runs->at[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_put(&w, LPO_KV("id", x->id), LPO_KV("name", x->name), LPO_KV("label", x->label),
                   LPO_KV("revision", x->revision), LPO_KV("unix_s", x->unix_s));
        lpo_jw_object(&w, "figures");
        for (const struct lpo_json *v = x->figures->first; v; v = v->next)
            lpo_jw_put(&w, LPO_KV(v->key, lpo_json_real(v, NAN)));
        lpo_jw_end(&w);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    lpo_str_add(&out, "const lpo_history = ");
    lpo_str_addn(&out, data.at, data.len);
    lpo_str_add(&out, ";\n");
    return lpo_file_write(lpo_path_join(s->arena, s->dir, "data.js"), out.at, out.len, err);
}

/* A page of lines for each name, then the list of all runs. */
static int write_pages(const struct site *s, const lpo_report_history_runs *runs,
                       struct lpo_err *err)
{
    LPO_AUTO(lpo_map) names = lpo_map_create();

    for (size_t i = 0; i < runs->len; i++)
        lpo_map_put(names, runs->at[i].name, strlen(runs->at[i].name), NULL);
    for (size_t i = 0; i < lpo_map_count(names); i++) {
        const char *name = lpo_map_key(names, i, NULL);
        lpo_report_history_runs mine = { 0 };
        struct lpo_doc *doc;
        int rc;

        for (size_t k = 0; k < runs->len; k++)
            if (strcmp(runs->at[k].name, name) == 0)
                lpo_vec_push(&mine, runs->at[k]);
        doc = lpo_report_history_page(&mine, name);
        rc = lpo_writer_write(
            doc, lpo_writer_find("html"),
            lpo_path_join(s->arena, s->dir, lpo_arena_printf(s->arena, "%s.html", name)), err);
        lpo_doc_destroy(doc);
        lpo_vec_free(&mine);
        if (rc < 0)
            return rc;
    }
    if (write_data(s, runs, names, err) < 0 ||
        lpo_file_write(lpo_path_join(s->arena, s->dir, "style.css"), lpo_page_style,
                       lpo_page_style_len, err) < 0)
        return err->code;
    return lpo_file_write(lpo_path_join(s->arena, s->dir, "index.html"), lpo_page_history,
                          lpo_page_history_len, err);
}

/* --- list, show, trend ---------------------------------------------------------------------- */

struct gathering {
    struct lpo_arena *arena;
    lpo_report_history_runs runs;
    const char *what;
    struct site *site; /* NULL: no pages are written */
};

/* What the history says of an entry in short; of an older one, what its digest says. */
static int read_figures(struct gathering *g, const struct lpo_history_entry *e,
                        const struct lpo_diff_digest *d, struct lpo_report_history_run *x,
                        struct lpo_err *err)
{
    LPO_STR figures = { 0 };

    if (!*e->figures && d)
        lpo_diff_figures_write(d, &figures);
    else
        lpo_str_add(&figures, e->figures);
    return lpo_json_parse(g->arena, lpo_str_text(&figures), figures.len, &x->figures, err);
}

static int take(void *ctx, const struct lpo_history_entry *e, struct lpo_err *err)
{
    struct gathering *g = ctx;
    LPO_AUTO(lpo_diff_digest) d = NULL;
    struct lpo_report_history_run x = { .id = e->id,
                                        .unix_s = e->unix_s,
                                        .name = lpo_arena_strdup(g->arena, e->name),
                                        .label = lpo_arena_strdup(g->arena, e->label),
                                        .revision = lpo_arena_strdup(g->arena, e->revision) };

    if ((e->len && lpo_diff_digest_parse(e->text, e->len, &d, err) < 0) ||
        read_figures(g, e, d, &x, err) < 0)
        return lpo_ctx(err, "run %lld of the history", (long long)e->id);
    x.value = lpo_diff_figure_is_row(g->what) && d ? lpo_diff_figure_of(d, g->what)
                                                   : lpo_report_history_figure(&x, g->what);
    lpo_vec_push(&g->runs, x);
    if (!g->site)
        return 0;
    return write_run(g->site, &x, &d, err);
}

static int write_picture(const struct lpo_doc *doc, const char *path, struct lpo_err *err)
{
    LPO_STR out = { 0 };

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++)
            if (doc->sections.at[i]->items.at[k].kind == LPO_ITEM_FIGURE)
                lpo_writer_svg.draw(doc->sections.at[i]->items.at[k].figure, &out);
    return lpo_file_write(path, lpo_str_text(&out), out.len, err);
}

static int show_doc(struct lpo_app *app, const struct request *r, const struct gathering *g,
                    const char *verb, const char *name, struct lpo_err *err)
{
    const char *picture = lpo_cli_args_text(r->args, "output", NULL);
    LPO_AUTO(lpo_doc)
    doc = strcmp(verb, "list") == 0   ? lpo_report_history_list(&g->runs)
          : strcmp(verb, "show") == 0 ? lpo_report_history_show(&g->runs, name)
                                      : lpo_report_history_trend(&g->runs, name, r->what);

    if (picture && strcmp(verb, "trend") == 0 && write_picture(doc, picture, err) < 0)
        return err->code;
    lpo_cli_print_doc(app, doc, r->writer);
    return 0;
}

/* A figure that no run has is a wrong word, and not a trend without values. */
static int check_figure(const struct request *r, const struct gathering *g, const char *name,
                        struct lpo_err *err)
{
    LPO_FREED LPO_VEC(const char *) known = { 0 };
    const char *near;

    for (size_t i = 0; i < g->runs.len; i++)
        if (!isnan(g->runs.at[i].value))
            return 0;
    for (size_t i = 0; i < g->runs.len; i++)
        for (const struct lpo_json *v = g->runs.at[i].figures->first; v; v = v->next)
            lpo_vec_push(&known, v->key);
    near = lpo_str_nearest(r->what, known.at, known.len);
    lpo_fail(err, LPO_E_USAGE,
             "no run of '%s' has the figure '%s'%s%s%s; lpo history show %s lists them", name,
             r->what, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", name);
    return err->code;
}

static int look(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    const char *verb = r->args->words[0], *name = r->args->nwords > 1 ? r->args->words[1] : NULL;
    struct gathering g = { .arena = app->arena, .what = r->what };
    struct lpo_history_query q = { .name = name,
                                   .last = r->last,
                                   .brief = !lpo_diff_figure_is_row(r->what) };
    LPO_AUTO(lpo_history) h = NULL;
    int rc = lpo_history_open(r->store, false, &h, err);

    if (rc == 0)
        rc = lpo_history_each(h, &q, take, &g, err);
    if (rc == 0 && name && !g.runs.len)
        rc = lpo_fail(err, LPO_E_NOTFOUND, "the history '%s' has no runs of the name '%s'",
                      r->store, name);
    if (rc == 0 && strcmp(verb, "trend") == 0)
        rc = check_figure(r, &g, name, err);
    if (rc == 0)
        rc = show_doc(app, r, &g, verb, name, err);
    lpo_vec_free(&g.runs);
    return rc;
}

static int make_site(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    struct site s = { .arena = app->arena, .dir = r->args->words[1] };
    struct gathering g = { .arena = app->arena, .what = "wall", .site = &s };
    LPO_AUTO(lpo_history) h = NULL;
    int rc = lpo_history_open(r->store, false, &h, err);

    if (rc == 0)
        rc = lpo_file_make_dirs(lpo_path_join(app->arena, s.dir, "rows"), err);
    for (size_t i = 2; rc == 0 && i < r->args->nwords; i++) {
        struct lpo_history_query q = { .name = r->args->words[i], .last = r->last };

        rc = lpo_history_each(h, &q, take, &g, err);
    }
    if (rc == 0 && r->args->nwords == 2)
        rc = lpo_history_each(h, &(struct lpo_history_query){ .last = r->last }, take, &g, err);
    if (rc == 0 && !g.runs.len)
        rc = lpo_fail(err, LPO_E_NOTFOUND, "the history '%s' has no such runs", r->store);
    if (rc == 0)
        rc = write_pages(&s, &g.runs, err);
    if (rc == 0)
        fprintf(app->out, "%zu runs: %s\n", g.runs.len,
                lpo_path_join(app->arena, s.dir, "index.html"));
    lpo_diff_digest_destroy(s.last);
    lpo_vec_free(&g.runs);
    return rc;
}

/* --- words ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t least, most; /* words, its own included */
    int (*run)(struct lpo_app *app, const struct request *r, struct lpo_err *err);
} verbs[] = {
    { "add", 3, SIZE_MAX, add },
    { "list", 1, 1, look },
    { "show", 1, 2, look },
    { "trend", 2, 2, look },
    { "site", 2, SIZE_MAX, make_site },
};

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    static const char usage[] =
        "lpo history add NAME RUN… | list | show [NAME] | trend NAME | site DIR";
    struct request r = { .args = args,
                         .store = lpo_cli_args_text(args, "store", LPO_CLI_HISTORY),
                         .what = lpo_cli_args_text(args, "what", "wall"),
                         .commit = lpo_cli_args_text(args, "commit", NULL) };

    if (lpo_cli_writer_from_args(args, &r.writer, err) < 0 ||
        lpo_cli_count_from_args(args, "last", 0, &r.last, err) < 0)
        return err->code;
    for (size_t i = 0; args->nwords && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(args->words[0], verbs[i].name) == 0 && args->nwords >= verbs[i].least &&
            args->nwords <= verbs[i].most)
            return verbs[i].run(app, &r, err);
    return lpo_fail(err, LPO_E_USAGE, "usage: %s", usage);
}

const struct lpo_command lpo_cli_cmd_history = {
    .name = "history",
    .summary = "runs kept for later comparisons, and how their figures moved",
    .usage = "add NAME RUN… | list | show [NAME] | trend NAME [--what FIGURE] | site DIR [NAME…]",
    .about = "A history holds what a comparison needs of each run, some hundred KB, not the run\n"
             "itself. lpo diff --baseline NAME compares with it.\n\n"
             "  lpo history add main tmp/profile-output/20260101-120000\n"
             "  lpo history trend main --what tokens_per_s -o trend.svg\n"
             "  lpo history add serving bench.json    # of vLLM, SGLang, AIPerf, pytest, …\n"
             "  lpo history site pages                # a page for each name and run\n"
             "  lpo history list --store perf/        # a folder of JSON files, for git\n"
             "  lpo diff --baseline main new --fail-over 3%",
    .options = options,
    .run = run,
};
