/* SPDX-License-Identifier: Apache-2.0 */
/* lpo reference: how long a shape takes where it is done best, on a known GPU. */

#include "cli/app.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "reference/reference.h"
#include "run/install.h"
#include "util/csv.h"
#include "util/json_write.h"

enum { MAX_STDIN = 256 << 20 };

struct asking {
    struct lpo_app *app;
    struct lpo_reference *reference;
    enum lpo_reference_kind kind;
    struct lpo_err *err;
};

static int find_kind(const char *name, enum lpo_reference_kind *out, struct lpo_err *err)
{
    LPO_STR all = { 0 };

    for (int k = 0; k < LPO_REF_KINDS; k++) {
        *out = (enum lpo_reference_kind)k;
        if (strcmp(lpo_reference_kind_name(*out), name) == 0)
            return 0;
        lpo_str_addf(&all, "%s%s", k ? ", " : "", lpo_reference_kind_name(*out));
    }
    return lpo_fail(err, LPO_E_USAGE, "no kind of kernel '%s'. There are: %s", name,
                    lpo_str_text(&all));
}

static int load(struct lpo_app *app, const char *gpu, struct lpo_reference **out,
                struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(app->arena);
    const char *path = lpo_reference_path(app->arena, dirs, gpu);

    if (!path)
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "there is no reference for '%s': conf/references has a100_sxm, h100_sxm, "
                        "h200_sxm, b200_sxm and l40s; scripts/make-references.py makes others",
                        gpu);
    return lpo_reference_load(path, out, err);
}

/* 0, or the error: not a number, or a word that the reference does not have. */
static int read_value(const struct asking *a, const struct lpo_reference_column *column,
                      const char *text, double *out)
{
    char *end;

    if (column->word) {
        *out = lpo_reference_word(a->reference, a->kind, text);
        return *out >= 0 ? 0
                         : lpo_fail(a->err, LPO_E_NOTFOUND, "the reference has no %s '%s'",
                                    column->name, text);
    }
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out < 1e12))
        return lpo_fail(a->err, LPO_E_USAGE, "%s must be a number, not '%s'", column->name, text);
    return 0;
}

static int read_shape(const struct asking *a, const char *const *words, double *shape)
{
    const struct lpo_reference_column *columns = lpo_reference_columns(a->kind);

    for (int i = 0; i < LPO_REF_COLUMNS && columns[i].name; i++)
        shape[i] = columns[i].usual;
    for (; *words; words++) {
        size_t len = strcspn(*words, "=");
        int i = 0, rc;

        while (columns[i].name &&
               (strlen(columns[i].name) != len || strncmp(columns[i].name, *words, len) != 0))
            i++;
        if (!columns[i].name || !(*words)[len])
            return lpo_fail(a->err, LPO_E_USAGE, "'%s' is not key=value with a column of %s",
                            *words, lpo_reference_kind_name(a->kind));
        rc = read_value(a, &columns[i], *words + len + 1, &shape[i]);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; i < LPO_REF_COLUMNS && columns[i].name; i++)
        if (shape[i] < 0)
            return lpo_fail(a->err, LPO_E_USAGE, "give %s=…", columns[i].name);
    return 0;
}

static void print_json(const struct asking *a, const struct lpo_reference_answer *r)
{
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    lpo_jw_record(&w, NULL, LPO_KV("schema", "lpo.reference/1"),
                  LPO_KV("gpu", lpo_reference_gpu(a->reference)),
                  LPO_KV("kind", lpo_reference_kind_name(a->kind)), LPO_KV("best_us", r->best_us),
                  LPO_KV("error", r->error), LPO_KV("inside", r->inside),
                  LPO_KV("roofline_us", r->roofline_us),
                  LPO_KV("source", lpo_reference_source(a->reference)));
    fprintf(a->app->out, "%s\n", lpo_str_text(&text));
}

static int answer_one(const struct asking *a, const struct lpo_args *args)
{
    double shape[LPO_REF_COLUMNS];
    struct lpo_reference_answer r;
    LPO_STR best = { 0 };
    int rc = read_shape(a, args->words + 2, shape);

    if (rc < 0)
        return rc;
    if (!lpo_reference_ask(a->reference, a->kind, shape, &r))
        return lpo_fail(a->err, LPO_E_NOTFOUND, "the reference for %s has no such kernel",
                        lpo_reference_gpu(a->reference));
    if (lpo_cli_args_has(args, "json")) {
        print_json(a, &r);
        return 0;
    }
    lpo_str_addf(&best, "%.4g us, the best measured on %s", r.best_us,
                 lpo_reference_gpu(a->reference));
    if (r.inside)
        lpo_str_addf(&best, ", within %.0f %% (nine of ten shapes held out)", r.error * 100);
    else
        lpo_str_add(&best, "; outside what was measured, scaled by the roofline");
    lpo_cli_print_wrapped(a->app, best.at, 0);
    fprintf(a->app->out, "roofline: %.4g us (%.0f %% of it reached)\nsource: ", r.roofline_us,
            100 * r.roofline_us / r.best_us);
    lpo_cli_print_wrapped(a->app, lpo_reference_source(a->reference), 8);
    return 0;
}

/* Columns of the file that are ours, by their place; -1: missing. */
struct layout {
    int at[LPO_REF_COLUMNS];
    bool dropped[64]; /* columns that the answer replaces */
};

static int read_header(const struct asking *a, const struct lpo_csv *csv, struct layout *l)
{
    static const char *const ours[] = { "best_us", "error", "inside" };
    const struct lpo_reference_column *columns = lpo_reference_columns(a->kind);
    LPO_STR text = { 0 };

    for (int i = 0; i < LPO_REF_COLUMNS && columns[i].name; i++) {
        l->at[i] = -1;
        for (size_t c = 0; c < csv->count; c++)
            if (lpo_csv_cell_is(csv->cells[c], columns[i].name))
                l->at[i] = (int)c;
        if (l->at[i] < 0 && columns[i].usual < 0)
            return lpo_fail(a->err, LPO_E_FORMAT, "the table has no column '%s'", columns[i].name);
    }
    for (size_t c = 0; c < csv->count; c++) {
        for (int i = 0; i < 3; i++)
            if (c < 64 && lpo_csv_cell_is(csv->cells[c], ours[i]))
                l->dropped[c] = true;
        if (c >= 64 || !l->dropped[c])
            fprintf(a->app->out, "%s,", lpo_csv_cell_text(csv->cells[c], &text));
        text.len = 0;
    }
    fprintf(a->app->out, "best_us,error,inside\n");
    return 0;
}

static void answer_row(const struct asking *a, const struct lpo_csv *csv, const struct layout *l)
{
    const struct lpo_reference_column *columns = lpo_reference_columns(a->kind);
    struct lpo_reference_answer r;
    double shape[LPO_REF_COLUMNS];
    LPO_STR text = { 0 };
    bool good = true;

    for (int i = 0; i < LPO_REF_COLUMNS && columns[i].name; i++) {
        struct lpo_csv_cell none = { 0 };
        struct lpo_csv_cell cell =
            l->at[i] >= 0 && (size_t)l->at[i] < csv->count ? csv->cells[l->at[i]] : none;

        shape[i] = columns[i].usual;
        text.len = 0;
        if (columns[i].word && cell.len)
            shape[i] = lpo_reference_word(a->reference, a->kind, lpo_csv_cell_text(cell, &text));
        else if (cell.len)
            good &= lpo_csv_cell_number(cell, &shape[i]);
    }
    for (size_t c = 0; c < csv->count; c++)
        if (c >= 64 || !l->dropped[c])
            fprintf(a->app->out, "%.*s,", (int)csv->cells[c].len, csv->cells[c].at);
    if (!good || !lpo_reference_ask(a->reference, a->kind, shape, &r))
        fprintf(a->app->out, ",,false\n");
    else if (isnan(r.error))
        fprintf(a->app->out, "%.4f,,%s\n", r.best_us, r.inside ? "true" : "false");
    else
        fprintf(a->app->out, "%.4f,%.3f,%s\n", r.best_us, r.error, r.inside ? "true" : "false");
}

/* A pipe can be read once and not mapped: it is taken whole. */
static int open_stdin(struct lpo_csv **out, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    char block[1 << 16];
    size_t n;

    while ((n = fread(block, 1, sizeof block, stdin)) > 0) {
        lpo_str_addn(&text, block, n);
        if (text.len > MAX_STDIN)
            return lpo_fail(err, LPO_E_LIMIT, "more than 256 MB on stdin: give a file");
    }
    *out = lpo_csv_text(lpo_str_text(&text), text.len);
    return 0;
}

static int answer_table(const struct asking *a, const char *path)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    struct layout l = { 0 };
    int rc = strcmp(path, "-") == 0 ? open_stdin(&csv, a->err) : lpo_csv_open(path, &csv, a->err);

    if (rc == 0)
        rc = lpo_csv_next(csv, a->err);
    if (rc == 0)
        return lpo_fail(a->err, LPO_E_FORMAT, "'%s' is empty", path);
    if (rc > 0)
        rc = read_header(a, csv, &l);
    while (rc == 0 && (rc = lpo_csv_next(csv, a->err)) > 0) {
        if (csv->count > 1 || csv->cells[0].len)
            answer_row(a, csv, &l);
        rc = 0;
    }
    return rc;
}

static int reference_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *table = lpo_cli_args_text(args, "csv", NULL);
    LPO_AUTO(lpo_reference) r = NULL;
    struct asking a = { .app = app, .err = err };
    int rc;

    if (args->nwords < 2)
        return lpo_fail(err, LPO_E_USAGE,
                        "reference takes a GPU, a kind of kernel and its shape: lpo reference "
                        "h200_sxm gemm gemm_dtype=bfloat16 m=512 n=4096 k=4096");
    rc = find_kind(args->words[1], &a.kind, err);
    if (rc == 0)
        rc = load(app, args->words[0], &r, err);
    a.reference = r;
    if (rc < 0)
        return rc;
    return table ? answer_table(&a, table) : answer_one(&a, args);
}

static const struct lpo_option options[] = {
    { "csv", 0, LPO_OPT_TEXT, "FILE",
      "answer every row of a table with these columns (- is stdin); adds best_us, error, inside" },
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_reference = {
    .name = "reference",
    .summary = "how long a kernel of this shape takes where it is done best, as measured",
    .usage = "GPU KIND key=value… [--json] | GPU KIND --csv FILE",
    .about = "KIND is gemm, context_attention, generation_attention, context_mla, generation_mla, "
             "moe or nccl.\n\n  lpo reference h200_sxm gemm gemm_dtype=bfloat16 m=512 n=4096 "
             "k=4096",
    .options = options,
    .run = reference_run,
};
