/* SPDX-License-Identifier: Apache-2.0 */
/* lpo sql: every event and every result of any trace as SQL tables. */

#include "analysis/run.h"
#include "analysis/tables/tables.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "report/catalog.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "a list of objects on stdout" },
    { "csv", 0, LPO_OPT_FLAG, NULL, "comma-separated values with a header" },
    { "format", 'f', LPO_OPT_TEXT, "F", "text, md, csv or json" },
    { "tables", 't', LPO_OPT_FLAG, NULL, "list the tables and their columns; needs no file" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

enum { FLUSHED_AT = 1 << 16 };

struct lpo_tables_of lpo_cli_tables_of(struct lpo_app *app, struct lpo_analysis_run *run)
{
    struct lpo_tables_of of = { .d = run->dir, .arena = app->arena };
    struct lpo_err err = { 0 };

    of.s = lpo_rundir_main(run->dir);
    of.a = lpo_analysis_run_main(run);
    if (lpo_rundir_hardware(of.d, of.s, &of.hw, &err) < 0)
        of.hw = NULL; /* shares of the roof are unknown then */
    return of;
}

/* --- rows as they come ------------------------------------------------------------------------ */

struct output {
    struct lpo_app *app;
    struct lpo_str text;
    struct lpo_json_writer json;
    struct lpo_doc *doc; /* NULL: JSON or CSV, printed as it comes */
    struct lpo_table *table;
    bool csv;
};

static void flush(struct output *o, size_t from)
{
    if (o->text.len < from)
        return;
    fwrite(lpo_str_text(&o->text), 1, o->text.len, o->app->out);
    lpo_str_clear(&o->text);
}

static bool print_json(void *ctx, const struct lpo_table_result *r)
{
    struct output *o = ctx;

    if (!r->cells)
        return true;
    lpo_jw_object(&o->json, NULL);
    for (size_t i = 0; i < r->ncolumns; i++) {
        const struct lpo_cell *c = &r->cells[i];

        lpo_jw_put(&o->json,
                   LPO_KV(r->names[i], c->how == LPO_UNKNOWN           ? lpo_jv_null()
                                       : r->types[i] == LPO_CELL_COUNT ? lpo_jv_int(c->whole)
                                       : r->types[i] == LPO_CELL_MEASURE
                                           ? lpo_jv_real(c->real)
                                           : lpo_jv_textn(c->text, c->len)));
    }
    lpo_jw_end(&o->json);
    flush(o, FLUSHED_AT);
    return !ferror(o->app->out);
}

static bool print_csv(void *ctx, const struct lpo_table_result *r)
{
    struct output *o = ctx;

    for (size_t i = 0; i < r->ncolumns; i++) {
        const struct lpo_cell *c = r->cells ? &r->cells[i] : NULL;

        lpo_str_add(&o->text, i ? "," : "");
        if (!c)
            lpo_writer_add_csv_field(&o->text, r->names[i], strlen(r->names[i]));
        else if (c->how == LPO_UNKNOWN)
            continue;
        else if (r->types[i] == LPO_CELL_COUNT)
            lpo_str_add_int(&o->text, c->whole);
        else if (r->types[i] == LPO_CELL_MEASURE)
            lpo_json_add_real(&o->text, c->real);
        else
            lpo_writer_add_csv_field(&o->text, c->text, c->len);
    }
    lpo_str_add(&o->text, "\r\n");
    flush(o, FLUSHED_AT);
    return !ferror(o->app->out);
}

static void begin_table(struct output *o, const struct lpo_table_result *r)
{
    struct lpo_column *columns = lpo_arena_array(o->app->arena, r->ncolumns, sizeof *columns);

    for (size_t i = 0; i < r->ncolumns; i++)
        columns[i] = (struct lpo_column){
            lpo_arena_strdup(o->app->arena, r->names[i]),
            lpo_arena_strdup(o->app->arena, r->names[i]),
            LPO_CELL_TEXT,
        };
    lpo_doc_section(o->doc, "sql", "", 1);
    o->table = lpo_doc_table(o->doc, "sql", "", columns, r->ncolumns);
}

static bool add_to_table(void *ctx, const struct lpo_table_result *r)
{
    struct output *o = ctx;

    if (!r->cells) {
        begin_table(o, r);
        return true;
    }
    for (size_t i = 0; i < r->ncolumns; i++) {
        const struct lpo_cell *c = &r->cells[i];

        if (c->how == LPO_UNKNOWN)
            lpo_doc_row(o->table, lpo_cell_unknown());
        else if (r->types[i] == LPO_CELL_COUNT)
            lpo_doc_row(o->table, lpo_arena_printf(o->table->arena, "%lld", (long long)c->whole));
        else if (r->types[i] == LPO_CELL_MEASURE)
            lpo_doc_row(o->table, lpo_arena_printf(o->table->arena, "%.6g", c->real));
        else
            lpo_doc_row(o->table, lpo_cell_textn(c->text, c->len));
    }
    return true;
}

static int print_rows(struct lpo_app *app, const struct lpo_writer *writer,
                      struct lpo_table_sql *sql, const char *query, struct lpo_err *err)
{
    bool json = strcmp(writer->name, "json") == 0, csv = strcmp(writer->name, "csv") == 0;
    LPO_AUTO(lpo_doc) doc = json || csv ? NULL : lpo_doc_create("sql", "");
    struct output o = { .app = app, .doc = doc, .csv = csv };
    int rc;

    if (json) {
        o.json = lpo_json_writer(&o.text, 0);
        lpo_jw_array(&o.json, NULL);
    }
    if (doc)
        doc->whole = true;
    rc = lpo_table_sql_query(sql, query,
                             json  ? print_json
                             : csv ? print_csv
                                   : add_to_table,
                             &o, err);
    if (json)
        lpo_jw_end(&o.json);
    if (rc == 0 && doc)
        lpo_cli_print_doc(app, doc, writer);
    else if (rc == 0)
        flush(&o, 0);
    lpo_str_free(&o.text);
    return rc;
}

/* --- the list --------------------------------------------------------------------------------- */

static const struct lpo_column list_columns[] = {
    { "column", "Column", LPO_CELL_TEXT, NULL },
    { "type", "Type", LPO_CELL_TEXT, NULL },
    { "unit", "Unit", LPO_CELL_TEXT, NULL },
    { "meaning", "Meaning", LPO_CELL_TEXT, NULL },
};

static const char *unit_of(const struct lpo_column *c)
{
    return c->type == LPO_CELL_NS        ? "ns"
           : c->type == LPO_CELL_PERCENT ? "0 to 1"
           : c->type == LPO_CELL_LIST    ? "JSON"
           : c->unit                     ? c->unit
                                         : "";
}

static void list_tables(struct lpo_app *app, const struct lpo_writer *writer)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("tables", "Tables");

    doc->whole = true;
    for (const struct lpo_table_source *s = lpo_report_catalog; s->kind; s++) {
        struct lpo_table *t;

        lpo_doc_section(doc, s->kind->name, s->kind->name, 1);
        lpo_doc_paragraph(doc, "%s.", s->kind->meaning);
        t = lpo_doc_table(doc, s->kind->name, "", list_columns, 4);
        for (size_t i = 0; i < s->kind->ncolumns; i++) {
            const struct lpo_column *c = &s->kind->columns[i];

            lpo_doc_row(t, c->key, lpo_table_sql_type(c->type), unit_of(c), c->meaning);
        }
    }
    lpo_cli_print_doc(app, doc, writer);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_args files = *args;
    LPO_AUTO(lpo_analysis_run) traces = NULL;
    LPO_AUTO(lpo_table_sql) sql = NULL;
    const struct lpo_writer *writer = NULL;
    struct lpo_tables_of of;
    int rc = lpo_cli_writer_from_args(args, &writer, err);

    if (lpo_cli_args_has(args, "csv"))
        writer = &lpo_writer_csv;
    if (rc == 0 && lpo_cli_args_has(args, "tables")) {
        list_tables(app, writer);
        return 0;
    }
    if (rc == 0 && args->nwords < 2)
        return lpo_fail(err, LPO_E_USAGE,
                        "usage: lpo sql DIR|FILE… 'select …'; --tables lists the tables");
    files.nwords--;
    if (rc == 0)
        rc = lpo_cli_traces_open(app, &files, 0, NULL, &traces, err);
    if (rc < 0)
        return rc;
    of = lpo_cli_tables_of(app, traces);
    rc = lpo_table_sql_open(lpo_report_catalog, &of, &sql, err);
    return rc < 0 ? rc : print_rows(app, writer, sql, args->words[files.nwords], err);
}

const struct lpo_command lpo_cli_cmd_sql = {
    .name = "sql",
    .summary = "every event and every result of a trace as SQL tables",
    .usage = "DIR|FILE… [--json | --csv] 'select …' | --tables",
    .about = "Reads what lpo report reads, and answers one query over it (SQLite's SQL, reading "
             "only).\nlpo export FILE… -o out.sqlite writes the same tables as a database.\n\n"
             "  lpo sql t.json.gz \"select name, launches, gpu_ns from kernels limit 5\"\n"
             "  lpo sql t.json.gz \"select cause, sum(idle_ns) from gaps group by cause\"",
    .options = options,
    .run = run,
};
