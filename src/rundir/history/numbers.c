/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/history/history.h"

#include "util/csv.h"
#include "util/file.h"
#include "util/json.h"

enum {
    HEAD = 1 << 16,
    LARGEST = 64 << 20,   /* of a file */
    MOST_NUMBERS = 10000, /* by name */
    MOST_VALUES = 100000, /* of one */
    MOST_DEPTH = 4,
};

/* --- which files ---------------------------------------------------------------------------- */

/* A name that one of the formats has near its beginning. */
static const char *const marks[] = {
    "\"request_throughput\"",     "\"output_throughput\"",
    "\"requests_per_second\"",    "\"avg_latency\"",
    "\"median_decode_latency\"",  "\"time_to_first_token\"",
    "\"prefill_throughput\"",     "\"benchmarks\"",
    "\"total_token_throughput\"", "\"machine_info\"",
};

/* The same of a table; metrics of ncu, which has tables of its own, have "__" in their names. */
static const char *const csv_marks[] = { "Metric,",           "name,iterations,real_time",
                                         "output_throughput", "request_throughput",
                                         "_ttft_ms",          "tokens_per_second" };

static bool holds_any(const char *text, const char *const *marks_of, size_t count)
{
    return lpo_any(i, count, strstr(text, marks_of[i]));
}

bool lpo_history_numbers_known(const char *path)
{
    bool csv = lpo_str_ends(path, ".csv"), known = false;
    FILE *f = csv || lpo_str_ends(path, ".json") || lpo_str_ends(path, ".jsonl")
                  ? fopen(path, "rbe")
                  : NULL;
    LPO_FREED char *head = NULL;

    if (!f)
        return false;
    head = lpo_xcalloc(HEAD + 1, 1);
    if (fread(head, 1, HEAD, f) > 0)
        known = csv ? !strstr(head, "__") &&
                          holds_any(head, csv_marks, sizeof csv_marks / sizeof *csv_marks)
                    : !strstr(head, "\"traceEvents\"") &&
                          holds_any(head, marks, sizeof marks / sizeof *marks);
    fclose(f);
    return known;
}

/* --- numbers -------------------------------------------------------------------------------- */

struct reading {
    struct lpo_history_numbers *out;
    struct lpo_map *rows; /* name to row plus one */
};

static void add_number(struct reading *r, const char *prefix, const char *name, double value)
{
    const char *key = *prefix ? lpo_arena_printf(r->out->arena, "%s %s", prefix, name) : name;
    uint64_t *row;

    if (!isfinite(value) || value <= 0 || lpo_map_count(r->rows) >= MOST_NUMBERS)
        return;
    row = lpo_map_put(r->rows, key, strlen(key), NULL);
    if (!*row) {
        lpo_vec_push(&r->out->all,
                     (struct lpo_history_number){ lpo_arena_strdup(r->out->arena, key), { 0 } });
        *row = r->out->all.len;
    }
    if (r->out->all.at[*row - 1].values.len < MOST_VALUES)
        lpo_vec_push(&r->out->all.at[*row - 1].values, value);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* What says which of several results of a file this is. */
static const char *const labels[] = { "run_name",    "batch_size",   "input_len",
                                      "output_len",  "request_rate", "max_concurrency",
                                      "dataset_name" };

static bool is_number(const struct lpo_json *v)
{
    return v && (v->kind == LPO_JSON_INT || v->kind == LPO_JSON_REAL);
}

static bool is_label(const char *key)
{
    return lpo_any(i, sizeof labels / sizeof *labels, strcmp(labels[i], key) == 0);
}

static const char *label_of(struct reading *r, const struct lpo_json *v)
{
    LPO_STR s = { 0 };

    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const struct lpo_json *x = lpo_json_get(v, labels[i]);

        if (x && x->kind == LPO_JSON_STRING && *x->text)
            lpo_str_addf(&s, "%s%.100s", s.len ? " " : "", x->text);
        else if (is_number(x))
            lpo_str_addf(&s, "%s%s=%g", s.len ? " " : "", labels[i], lpo_json_real(x, 0));
    }
    return lpo_arena_strdup(r->out->arena, lpo_str_text(&s));
}

/* AIPerf: what was measured has a unit; what was asked for (input_config) and other facts have
 * none.
 */
static bool has_units(const struct lpo_json *v)
{
    LPO_JSON_EACH(x, v)
    if (x->kind == LPO_JSON_OBJECT && lpo_json_text(lpo_json_get(x, "unit"), NULL))
        return true;
    return false;
}

/* Members that are numbers; of objects with a unit ("avg", "p99", …) too. Lists are what single
 * requests took: the file has their statistics as well. */
static void add_members(struct reading *r, const char *prefix, const char *name,
                        const struct lpo_json *v, int depth)
{
    const char *unit = lpo_json_text(lpo_json_get(v, "unit"), "");
    bool units = depth == 0 && has_units(v);

    for (const struct lpo_json *x = v->first; x; x = x->next) {
        const char *key = x->key ? x->key : "";

        if ((depth == 0 && is_label(key)) || (*unit && lpo_streq(key, "count")) ||
            (units && x->kind == LPO_JSON_OBJECT && !lpo_json_get(x, "unit")))
            continue;
        if (*name)
            key = lpo_arena_printf(r->out->arena, "%s_%s%s%s", name, key, *unit ? "_" : "", unit);
        if (is_number(x))
            add_number(r, prefix, key, lpo_json_real(x, NAN));
        else if (x->kind == LPO_JSON_OBJECT && depth < MOST_DEPTH)
            add_members(r, prefix, key, x, depth + 1);
    }
}

/* pytest-benchmark: every round where the file has them, else the median. */
static void add_rounds(struct reading *r, const char *name, const struct lpo_json *stats)
{
    const struct lpo_json *data = lpo_json_get(stats, "data");

    if (!data || !data->first)
        add_number(r, name, "median_s", lpo_json_real(lpo_json_get(stats, "median"), NAN));
    LPO_JSON_EACH(x, data)
    add_number(r, name, "s", lpo_json_real(x, NAN));
}

static bool is_aggregate(const struct lpo_json *v)
{
    return lpo_streq(lpo_json_text(lpo_json_get(v, "run_type"), ""), "aggregate");
}

/* Are there repetitions of this benchmark, or only what they are summed up to
 * (--benchmark_report_aggregates_only)? */
static bool has_repetitions(const struct lpo_json *list, const char *run)
{
    LPO_JSON_EACH(x, list)
    if (!is_aggregate(x) && lpo_streq(lpo_json_text(lpo_json_get(x, "run_name"), ""), run))
        return true;
    return false;
}

/* Google Benchmark: of what repetitions are summed up to, the median, where there is nothing else.
 */
static void add_benchmark(struct reading *r, const struct lpo_json *list, const char *name,
                          const struct lpo_json *v)
{
    static const char *const skipped[] = { "family_index", "per_family_instance_index",
                                           "repetitions",  "repetition_index",
                                           "threads",      "iterations" };
    const char *unit = lpo_json_text(lpo_json_get(v, "time_unit"), "ns");

    if (is_aggregate(v)) {
        name = lpo_json_text(lpo_json_get(v, "run_name"), name);
        if (!lpo_streq(lpo_json_text(lpo_json_get(v, "aggregate_name"), ""), "median") ||
            has_repetitions(list, name))
            return;
    }
    for (const struct lpo_json *x = v->first; x; x = x->next) {
        bool skip = !is_number(x) || !x->key;

        for (size_t i = 0; !skip && i < sizeof skipped / sizeof *skipped; i++)
            skip = strcmp(skipped[i], x->key) == 0;
        if (!skip)
            add_number(r, name,
                       lpo_str_ends(x->key, "_time")
                           ? lpo_arena_printf(r->out->arena, "%s_%s", x->key, unit)
                           : x->key,
                       lpo_json_real(x, NAN));
    }
}

static void add_result(struct reading *r, const struct lpo_json *v, bool labelled)
{
    const struct lpo_json *list = lpo_json_get(v, "benchmarks");
    const char *commit = lpo_json_text(lpo_json_at(v, "commit_info.id"), "");

    if (*commit)
        r->out->revision = lpo_arena_strdup(r->out->arena, commit);
    LPO_JSON_EACH(x, list)
    {
        const char *name =
            lpo_json_text(lpo_json_get(x, "fullname"), lpo_json_text(lpo_json_get(x, "name"), "?"));
        const struct lpo_json *stats = lpo_json_get(x, "stats");

        if (stats)
            add_rounds(r, name, stats);
        else
            add_benchmark(r, list, name, x);
    }
    if (!list)
        add_members(r, labelled ? label_of(r, v) : "", "", v, 0);
}

/* One object, a list of them, or one on each line. */
static int read_json(struct reading *r, const struct lpo_file_text *text, bool lines,
                     struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *root = NULL;
    size_t count = 0;

    struct lpo_err ignored = { 0 };

    /* vLLM appends results to a file as lines, whatever the file is called */
    if (!lines && lpo_json_parse_python(a, text->at, text->len, &root, &ignored) < 0) {
        const char *end = memchr(text->at, '\n', text->len);

        if (!end ||
            lpo_json_parse_python(a, text->at, (size_t)(end - text->at), &root, &ignored) < 0)
            return lpo_json_parse_python(a, text->at, text->len, &root, err);
        lines = true;
    }
    if (root && root->kind == LPO_JSON_OBJECT)
        add_result(r, root, false);
    else if (root)
        LPO_JSON_EACH(v, root)
        {
            add_result(r, v, true);
        }
    if (!lines)
        return 0;
    for (const char *p = text->at, *end; *p; p = *end ? end + 1 : end) {
        end = strchrnul(p, '\n');
        count += end > p + 1;
    }
    for (const char *p = text->at, *end; *p; p = *end ? end + 1 : end) {
        end = strchrnul(p, '\n');
        if (end <= p + 1)
            continue;
        if (lpo_json_parse_python(a, p, (size_t)(end - p), &root, err) < 0)
            return err->code;
        add_result(r, root, count > 1);
    }
    return 0;
}

/* --- CSV ------------------------------------------------------------------------------------ */

static const char *cell_text(struct reading *r, const struct lpo_csv *c, size_t i)
{
    return lpo_arena_strndup(r->out->arena, c->cells[i].at, c->cells[i].len);
}

static bool as_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end;
}

/* The cells of a row under the names of the header; text before the numbers is what it is about. */
static void add_row(struct reading *r, const struct lpo_csv *c, const char *const *header,
                    size_t columns)
{
    LPO_STR label = { 0 };
    const char *unit = "";
    double value;

    for (size_t i = 0; i < c->count && i < columns; i++) {
        const char *text = cell_text(r, c, i);

        if (strcmp(header[i], "time_unit") == 0)
            unit = text;
        else if (*text && (!as_number(text, &value) || is_label(header[i])))
            lpo_str_addf(&label, "%s%s%s%.100s", label.len ? " " : "",
                         is_label(header[i]) ? header[i] : "", is_label(header[i]) ? "=" : "",
                         text);
    }
    for (size_t i = 0; i < c->count && i < columns; i++)
        if (as_number(cell_text(r, c, i), &value) && *header[i] && !is_label(header[i]) &&
            strcmp(header[i], "iterations") != 0)
            add_number(r, lpo_str_text(&label),
                       *unit && lpo_str_ends(header[i], "_time")
                           ? lpo_arena_printf(r->out->arena, "%s_%s", header[i], unit)
                           : header[i],
                       value);
}

/* A row whose neighbours are names too begins a table; a file may have several (AIPerf). */
static bool is_header(struct reading *r, const struct lpo_csv *c)
{
    double value;

    if (c->count < 2)
        return false;
    return !lpo_any(i, c->count, !c->cells[i].len || as_number(cell_text(r, c, i), &value));
}

static int read_csv(struct reading *r, const struct lpo_file_text *text, struct lpo_err *err)
{
    LPO_AUTO(lpo_csv) c = lpo_csv_text(text->at, text->len);
    const char **header = NULL;
    size_t columns = 0;
    int rc;

    while ((rc = lpo_csv_next(c, err)) > 0) {
        if (is_header(r, c)) {
            columns = c->count;
            header = lpo_arena_array(r->out->arena, columns, sizeof *header);
            for (size_t i = 0; i < columns; i++)
                header[i] = cell_text(r, c, i);
        } else if (header && c->count > 1) {
            add_row(r, c, header, columns);
        }
    }
    return rc;
}

/* --- all ------------------------------------------------------------------------------------ */

int lpo_history_numbers_read(const char *path, struct lpo_history_numbers **out,
                             struct lpo_err *err)
{
    LPO_AUTO(lpo_history_numbers) n = lpo_xcalloc(1, sizeof *n);
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_map) rows = lpo_map_create();
    struct reading r = { n, rows };
    int rc;

    n->arena = lpo_arena_create();
    n->revision = "";
    if (lpo_file_text_read_limit(path, LARGEST, &text, err) < 0)
        return err->code;
    rc = lpo_str_ends(path, ".csv") ? read_csv(&r, text, err)
                                    : read_json(&r, text, lpo_str_ends(path, ".jsonl"), err);
    if (rc < 0)
        return lpo_ctx(err, "cannot read the numbers of '%s'", path);
    if (!n->all.len)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' has no number of a benchmark", path);
    *out = n;
    n = NULL;
    return 0;
}

void lpo_history_numbers_destroy(struct lpo_history_numbers *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->all.len; i++)
        lpo_vec_free(&n->all.at[i].values);
    lpo_vec_free(&n->all);
    lpo_arena_destroy(n->arena);
    free(n);
}
