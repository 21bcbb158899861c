/* SPDX-License-Identifier: Apache-2.0 */
/* lpo diff: what changed between two runs or two sets of runs, and may it pass? */

#include "analysis/diff/diff.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "hydra/compose.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"
#include "run/child/supervise.h"
#include "util/file.h"
#include "writer/writer.h"

/* The exit codes of docs/diff.md; those of git are for `git bisect run`. */
enum {
    EXIT_REGRESSION = 4,
    EXIT_NOT_COMPARABLE = 2,
    GIT_BAD = 1,
    GIT_SKIP = 125,
    GIT_ABORT = 128,
};

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv, junit, github (a comment on a pull request) or json"),
    { "output", 'o', LPO_OPT_LIST, "FILE",
      "also write FILE, by its ending: .md, comment.md (GitHub), .html, .json, .csv, .txt, .xml "
      "(JUnit); repeatable" },
    { "fail-over", 0, LPO_OPT_TEXT, "P%",
      "exit 4 when the wall time of a step, or the GPU time of its kernels, grew by more than P %, "
      "beyond chance; 2 when A and B cannot be compared" },
    { "budget", 0, LPO_OPT_LIST, "NAME=LIMIT",
      "exit 4 when this is not kept: region:decode*=5%, memory=40GiB; repeatable" },
    { "budgets", 0, LPO_OPT_TEXT, "FILE",
      "a YAML file with diff.budgets (default: the config of the first run of B)" },
    { "baseline", 0, LPO_OPT_TEXT, "NAME",
      "A is the newest runs of this name in a history (lpo history); all words are runs of B" },
    { "store", 's', LPO_OPT_TEXT, "PATH", "the history (default: " LPO_CLI_HISTORY ")" },
    { "last", 0, LPO_OPT_TEXT, "N", "how many runs of the baseline; 0: all (default: 10)" },
    { "git-bisect", 0, LPO_OPT_FLAG, NULL,
      "exit codes for `git bisect run`: 0 good, 1 bad, 125 cannot be tested" },
    { "bisect", 0, LPO_OPT_FLAG, NULL,
      "as --git-bisect, any proven regression is bad, and only the verdict is printed" },
    { "make", 0, LPO_OPT_TEXT, "COMMAND",
      "a shell command that makes B first; where it fails, B cannot be tested" },
    { "rows", 'n', LPO_OPT_TEXT, "N", "only the first N rows of a table; 0: all (default: 20)" },
    { "all", 0, LPO_OPT_FLAG, NULL, "rows that did not change, too" },
    { "full-names", 0, LPO_OPT_FLAG, NULL, "whole names of kernels, not short ones" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* What the two sides are, and how the result is shown. */
struct request {
    const struct lpo_args *args;
    const char *const *a, *const *b;
    size_t na, nb;
    const char *baseline; /* instead of a; NULL: none */
    size_t last;
    const struct lpo_writer *writer;
    const struct lpo_writer **files; /* of the words of --output */
    struct lpo_report_diff_options show;
    lpo_diff_budgets budgets;
    bool git, brief;
    struct lpo_record *page; /* NULL: no page is asked for */
};

/* --- words ---------------------------------------------------------------------------------- */

static const char **join(struct lpo_arena *a, const char **x, const char **y)
{
    size_t nx = 0, ny = 0;
    const char **out;

    while (x && x[nx])
        nx++;
    while (y && y[ny])
        ny++;
    out = lpo_arena_array(a, nx + ny + 1, sizeof *out);
    for (size_t i = 0; i < nx + ny; i++)
        out[i] = i < nx ? x[i] : y[i - nx];
    return out;
}

/* Options may stand behind the runs of B, too. */
static int merge_rest(struct lpo_app *app, struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_args rest;

    if (!args->rest)
        return 0;
    if (lpo_cli_args_parse(app, args->table, (int)args->nrest, args->rest, &rest, err) < 0)
        return err->code;
    for (size_t i = 0; args->table[i].name; i++) {
        if (rest.values[i])
            args->values[i] = rest.values[i];
        if (rest.lists[i])
            args->lists[i] = join(app->arena, args->lists[i], rest.lists[i]);
    }
    args->rest = rest.words;
    args->nrest = rest.nwords;
    if (rest.rest)
        return lpo_fail(err, LPO_E_USAGE, "'--' stands there twice");
    return 0;
}

static int find_sides(struct request *r, struct lpo_err *err)
{
    static const char usage[] = "usage: lpo diff A B, or lpo diff A… -- B…";
    const struct lpo_args *args = r->args;

    r->baseline = lpo_cli_args_text(args, "baseline", NULL);
    if (r->baseline) {
        r->b = args->words;
        r->nb = args->nwords;
        if (args->rest || !args->nwords)
            return lpo_fail(err, LPO_E_USAGE, "usage: lpo diff --baseline NAME B…");
        return 0;
    }
    r->a = args->words;
    r->na = args->rest ? args->nwords : 1;
    r->b = args->rest ? args->rest : args->words + 1;
    r->nb = args->rest ? args->nrest : args->nwords - (args->nwords > 0);
    if (!args->rest && args->nwords != 2)
        return lpo_fail(err, LPO_E_USAGE, "%zu run%s given, not two; %s", args->nwords,
                        args->nwords == 1 ? " is" : "s are", usage);
    if (!r->na || !r->nb)
        return lpo_fail(err, LPO_E_USAGE, "no run stands %s '--'; %s", r->na ? "after" : "before",
                        usage);
    return 0;
}

/* The writer of a file, by its ending. */
static int find_writers(struct lpo_app *app, struct request *r, struct lpo_err *err)
{
    static const struct {
        const char *ending, *writer;
    } endings[] = { { ".md", "md" },           { ".html", "html" }, { ".json", "json" },
                    { ".csv", "csv" },         { ".txt", "text" },  { ".xml", "junit" },
                    { "comment.md", "github" } }; /* the last that fits */
    const char *const *names = lpo_cli_args_list(r->args, "output");
    size_t n = 0;

    while (names[n])
        n++;
    r->files = lpo_arena_array(app->arena, n + 1, sizeof *r->files);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
            if (lpo_str_ends(names[i], endings[k].ending))
                r->files[i] = lpo_writer_find(endings[k].writer);
        if (r->files[i] == &lpo_writer_html && !r->page)
            r->page = lpo_doc_record_create(app->arena);
        if (!r->files[i])
            return lpo_fail(
                err, LPO_E_USAGE,
                "the ending of '%s' is not known: .md, .html, .json, .csv, .txt or .xml", names[i]);
    }
    return 0;
}

/* "3%", "3 %" or "3": the budget of the wall time. */
static int add_fail_over(struct lpo_app *app, struct request *r, struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(r->args, "fail-over", r->brief ? "0%" : NULL);
    const char *limit;

    r->show.fail_over = -1;
    if (!text)
        return 0;
    limit = strchr(text, '%') ? text : lpo_arena_printf(app->arena, "%s%%", text);
    if (lpo_diff_budgets_add(app->arena, "wall", limit, &r->budgets, err) < 0)
        return lpo_fail(err, LPO_E_USAGE, "--fail-over must be a percentage like 3%%, not '%s'",
                        text);
    r->show.fail_over = r->budgets.at[r->budgets.len - 1].share;
    return 0;
}

static int read_budgets_file(struct lpo_app *app, const char *path, lpo_diff_budgets *out,
                             struct lpo_err *err)
{
    enum { LARGEST = 1 << 20 };
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_node *root = NULL;
    const struct lpo_node *map;

    if (lpo_file_text_read_limit(path, LARGEST, &text, err) < 0 ||
        lpo_yaml_parse(app->arena, text->at, text->len, path, &root, err) < 0)
        return lpo_ctx(err, "cannot read the budgets");
    map = lpo_node_at(root, "diff.budgets");
    if (!map)
        return lpo_fail(err, LPO_E_CONFIG, "'%s' has no diff.budgets", path);
    return lpo_diff_budgets_read(app->arena, map, out, err);
}

static int add_budgets(struct lpo_app *app, struct request *r, struct lpo_err *err)
{
    const char *file = lpo_cli_args_text(r->args, "budgets", NULL);

    if (file && read_budgets_file(app, file, &r->budgets, err) < 0)
        return err->code;
    for (const char *const *p = lpo_cli_args_list(r->args, "budget"); *p; p++) {
        const char *sign = strrchr(*p, '=');

        if (!sign)
            return lpo_fail(err, LPO_E_USAGE, "--budget needs NAME=LIMIT, not '%s'", *p);
        if (lpo_diff_budgets_add(app->arena, lpo_arena_strndup(app->arena, *p, (size_t)(sign - *p)),
                                 sign + 1, &r->budgets, err) < 0)
            return err->code;
    }
    return add_fail_over(app, r, err);
}

static int read_request(struct lpo_app *app, struct request *r, struct lpo_err *err)
{
    r->brief = lpo_cli_args_has(r->args, "bisect");
    r->git = r->brief || lpo_cli_args_has(r->args, "git-bisect");
    if (find_sides(r, err) < 0 || find_writers(app, r, err) < 0 ||
        lpo_cli_writer_from_args(r->args, &r->writer, err) < 0 ||
        lpo_cli_count_from_args(r->args, "rows", 20, &r->show.rows, err) < 0 ||
        lpo_cli_count_from_args(r->args, "last", 10, &r->last, err) < 0 ||
        add_budgets(app, r, err) < 0)
        return err->code;
    r->show.all = lpo_cli_args_has(r->args, "all");
    r->show.full_names = lpo_cli_args_has(r->args, "full-names");
    return 0;
}

/* --- comparing ------------------------------------------------------------------------------ */

static int exit_code(const struct lpo_diff *d, const struct request *r)
{
    if (!r->show.gated)
        return 0;
    if (!d->comparable || (r->git && d->differences.len && d->differences.at[0].work))
        return r->git ? GIT_SKIP : EXIT_NOT_COMPARABLE;
    if (!lpo_report_diff_failed(&r->show))
        return 0;
    return r->git ? GIT_BAD : EXIT_REGRESSION;
}

/* Where both sides have stacks. */
static struct lpo_record *page_of(const struct request *r)
{
    const struct lpo_doc_value *side = r->page ? r->page->first : NULL;

    for (; side; side = side->next)
        if (!((const struct lpo_record *)side->v.inner)->first)
            return NULL;
    return r->page;
}

static int show(struct lpo_app *app, const struct lpo_diff *d, const struct request *r,
                struct lpo_err *err)
{
    const char *const *names = lpo_cli_args_list(r->args, "output");
    LPO_AUTO(lpo_doc) doc = lpo_report_diff_doc(d, &r->show);

    doc->page = page_of(r);
    for (size_t i = 0; names[i]; i++)
        if (lpo_writer_write(doc, r->files[i], names[i], err) < 0)
            return err->code;
    if (r->brief)
        fprintf(app->out, "%s\n", lpo_report_diff_sentence(app->arena, d));
    else
        lpo_cli_print_doc(app, doc, r->writer);
    return 0;
}

/* Where B cannot be made or read, git must try another commit. */
static int make_b(const struct request *r, struct lpo_err *err)
{
    static const int64_t limit_ns = 24 * 3600 * 1000000000LL;
    const char *command = lpo_cli_args_text(r->args, "make", NULL);
    const char *const argv[] = { "sh", "-c", command, NULL };
    LPO_STR out = { 0 };

    if (!command)
        return 0;
    if (lpo_run_capture(argv, limit_ns, &out, err) < 0)
        return lpo_ctx(err, "--make '%s' failed, so B cannot be tested", command);
    return 0;
}

/* Where the stacks of a side go: a page shows them; NULL: no page is asked for. */
static struct lpo_record *flame_of(const struct request *r, const char *side)
{
    return r->page ? lpo_doc_put_record(r->page, side) : NULL;
}

static int compare(struct lpo_app *app, struct request *r, struct lpo_err *err)
{
    LPO_FREED lpo_diff_budgets of_config = { 0 };
    struct lpo_diff_reading a = { .flame = flame_of(r, "a") };
    struct lpo_diff_reading b = { .flame = flame_of(r, "b"),
                                  .budgets = r->budgets.len ? NULL : &of_config };
    int rc = r->baseline
                 ? lpo_cli_runs_baseline(app, lpo_cli_args_text(r->args, "store", LPO_CLI_HISTORY),
                                         r->baseline, r->last, &a, err)
                 : lpo_cli_runs_read(app, r->a, r->na, &a, err);
    bool made = rc == 0;

    if (rc == 0)
        rc = make_b(r, err);
    if (rc == 0)
        rc = lpo_cli_runs_read(app, r->b, r->nb, &b, err);
    if (rc == 0) {
        LPO_AUTO(lpo_diff)
        d = lpo_diff_create((struct lpo_diff_runs){ a.at, a.len },
                            (struct lpo_diff_runs){ b.at, b.len });
        const lpo_diff_budgets *budgets = r->budgets.len ? &r->budgets : &of_config;

        r->show.gated = budgets->len > 0;
        lpo_diff_check_all(d, budgets, &r->show.checks);
        rc = show(app, d, r, err);
        if (rc == 0)
            rc = exit_code(d, r);
    } else if (made && r->git) {
        lpo_cli_print_error(app, "lpo diff", err);
        rc = GIT_SKIP;
    }
    lpo_cli_runs_free(&a);
    lpo_cli_runs_free(&b);
    lpo_vec_free(&r->show.checks);
    return rc;
}

static int run(struct lpo_app *app, const struct lpo_args *given, struct lpo_err *err)
{
    struct lpo_args args = *given;
    struct request r = { .args = &args };
    int rc = merge_rest(app, &args, err);

    if (rc == 0)
        rc = read_request(app, &r, err);
    if (rc == 0)
        rc = compare(app, &r, err);
    lpo_vec_free(&r.budgets);
    if (rc < 0 && r.git) { /* a wrong command must not make every commit a bad one */
        lpo_cli_print_error(app, "lpo diff", err);
        return GIT_ABORT;
    }
    return rc;
}

const struct lpo_command lpo_cli_cmd_diff = {
    .name = "diff",
    .summary = "what changed between two runs or sets of runs, and is it real",
    .usage = "A B | A… -- B… [--fail-over P%] [--budget NAME=LIMIT] [-o FILE] [--json]",
    .about = "A and B are run folders, traces of any source, or folders of traces (the ranks of\n"
             "one job). Several runs a side are repeats.\n\n"
             "  lpo diff before after\n"
             "  lpo diff before.json.gz after.json.gz --fail-over 3% -o diff.md -o diff.xml\n"
             "  lpo diff main-1 main-2 main-3 -- branch-1 branch-2 branch-3 --fail-over 3%\n"
             "  git bisect run lpo diff --bisect --make './profile.sh new' good new",
    .options = options,
    .run = run,
};
