/* SPDX-License-Identifier: Apache-2.0 */
/* One run reads each trace file once and attributes each trace once, whoever asks, and in which
 * order: stages while the run goes on, then reports, then the closing table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "analysis/analysis.h"
#include "analysis/run.h"
#include "region/select.h"
#include "region/tree.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static bool always(const struct lpo_node *config)
{
    (void)config;
    return true;
}

static const char *const lpot[] = { "*.lpot", NULL };
static const char *const csv[] = { "*.csv.gz", NULL };
static const char *const native[] = { "native", NULL };
static const struct lpo_rundir_kind first = {
    .stage = "first", .what = "a", .patterns = lpot, .formats = native
};
static const struct lpo_rundir_kind counts = {
    .stage = "counts", .what = "b", .patterns = csv, .trust = 9, .representatives = always
};
static const struct lpo_rundir_kind *const kinds[] = { &counts, &first, NULL };

/* A run folder with copies of real traces: links are not listed as files of a run. */
struct folder {
    char dir[64];
};

static void put(const struct folder *f, const char *stage, const char *file)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *dir = lpo_path_join(a, f->dir, stage);
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err err = { 0 };
    const char *source =
        lpo_arena_printf(a, "%s/tests/data/native/%s", unit_env("LPO_SOURCE_ROOT", "."), file);

    mkdir(dir, 0700);
    if (lpo_file_text_read(source, &text, &err) < 0 ||
        lpo_file_write(lpo_path_join(a, dir, file), text->at, text->len, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
}

static void put_config(const struct folder *f, const char *text)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };

    assert_int_equal(
        lpo_file_write(lpo_path_join(a, f->dir, "config.yaml"), text, strlen(text), &err), 0);
}

static int make_folder(void **state)
{
    struct folder *f = test_calloc(1, sizeof *f);

    strcpy(f->dir, "/tmp/lpo-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *f = *state;
    char command[128];

    snprintf(command, sizeof command, "rm -r '%s'", f->dir);
    assert_int_equal(system(command), 0);
    test_free(f);
    return 0;
}

static struct lpo_analysis_run *load(const struct folder *f, struct lpo_analysis_run *run)
{
    struct lpo_err err = { 0 };

    (void)f;
    if (lpo_analysis_run_load(run, NULL, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return run;
}

static void a_run_reads_once(void **state)
{
    const struct folder *f = *state;
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(f->dir, kinds);
    const struct lpo_analysis *a;
    const struct lpo_region_scope *all;

    assert_null(lpo_analysis_run_stage(run, "first")); /* it did not run yet: asked again below */
    put(f, "first", "toy.lpot");
    a = lpo_analysis_run_stage(run, "first");
    assert_non_null(a);
    all = lpo_analysis_all(a);
    assert_true(all->rows.len > 0);
    load(f, run);
    assert_ptr_equal(lpo_analysis_run_stage(run, "first"), a);
    assert_ptr_equal(lpo_analysis_run_main(run), a);
    assert_ptr_equal(lpo_rundir_main(run->dir)->analysis, a);
    assert_ptr_equal(lpo_analysis_all(a), all);
    assert_ptr_equal(lpo_analysis_unselected(a), a);
    assert_int_equal(run->dir->files_read, 1);
    assert_int_equal(run->attributed, 1);
}

static void a_stage_that_starts_again_is_read_again(void **state)
{
    const struct folder *f = *state;
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(f->dir, kinds);

    put(f, "first", "toy.lpot");
    assert_non_null(lpo_analysis_run_stage(run, "first"));
    lpo_analysis_run_forget(run, "first");
    assert_null(lpo_rundir_source(run->dir, "first"));
    assert_non_null(lpo_analysis_run_stage(run, "first"));
    assert_int_equal(run->dir->files_read, 2);
    assert_int_equal(run->attributed, 2);
}

/* The selection of the report changes sums, never the regions; the closing table shows all. */
static void a_selection_shares_the_regions(void **state)
{
    const struct folder *f = *state;
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(f->dir, kinds);
    const struct lpo_analysis *a, *whole;
    size_t rows;

    put(f, "first", "toy.lpot");
    put_config(f, "report: {regions: {include: [decode]}}\n");
    a = lpo_analysis_run_stage(run, "first");
    rows = lpo_analysis_all(a)->rows.len;
    load(f, run);
    whole = lpo_analysis_unselected(a);
    assert_ptr_not_equal(whole, a);
    assert_ptr_equal(whole->tree, a->tree);
    assert_true(lpo_analysis_all(a)->rows.len < rows);
    assert_int_equal(lpo_analysis_all(whole)->rows.len, rows);
    assert_int_equal(run->dir->files_read, 1);
    assert_int_equal(run->attributed, 1);
}

/* Counters are laid over a trace that was summed before: it is summed again, not attributed. */
static void counters_renew_the_sums(void **state)
{
    const struct folder *f = *state;
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(f->dir, kinds);
    const struct lpo_analysis *a;

    put(f, "first", "torch_llama.lpot");
    put(f, "counts", "torch_llama_ncu.csv.gz");
    a = lpo_analysis_run_stage(run, "first");
    assert_int_equal(lpo_analysis_all(a)->coverage.measured, 0);
    load(f, run);
    assert_string_equal(run->dir->overlay.stage, "first");
    assert_true(lpo_analysis_all(a)->coverage.measured > 0);
    assert_int_equal(run->dir->files_read, 2);
    assert_int_equal(run->attributed, 2); /* two traces, once each */
}

static void answers_are_kept(void **state)
{
    const struct folder *f = *state;
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(f->dir, kinds);
    const struct lpo_analysis *a;
    lpo_scope_ids ids = { 0 };

    put(f, "first", "torch_llama.lpot");
    a = lpo_analysis_run_stage(run, "first");
    assert_ptr_equal(lpo_analysis_top(a, LPO_KERNEL), lpo_analysis_top(a, LPO_KERNEL));
    assert_ptr_not_equal(lpo_analysis_top(a, LPO_KERNEL), lpo_analysis_top(a, LPO_COPY));
    assert_ptr_equal(lpo_analysis_operators(a, true), lpo_analysis_operators(a, true));
    /* this trace has no shapes: both tables are one */
    assert_ptr_equal(lpo_analysis_operators(a, true), lpo_analysis_operators(a, false));
    assert_ptr_equal(lpo_analysis_steady(a), lpo_analysis_steady(a));
    lpo_region_scopes_list(a->cells, &ids);
    assert_true(ids.len > 1);
    for (size_t i = 0; i < ids.len; i++) {
        const struct lpo_region_scope *s = lpo_analysis_scope(a, ids.at[i]);

        assert_ptr_equal(lpo_analysis_scope(a, ids.at[i]), s);
        assert_int_equal(s->id.kind, ids.at[i].kind);
    }
    lpo_vec_free(&ids);
}

static void a_list_of_files_is_a_run(void **state)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    const char *root = unit_env("LPO_SOURCE_ROOT", ".");
    const char *files[] = { lpo_arena_printf(arena, "%s/tests/data/native/toy.lpot", root),
                            lpo_arena_printf(arena, "%s/tests/data/native/none.lpot", root) };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_analysis_run *none = NULL;
    struct lpo_rundir_options o = { .kinds = kinds,
                                    .skip = LPO_SKIP_OPS,
                                    .select = lpo_region_selection_create() };
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_analysis_run_of_paths(files, 1, &o, &run, &err), 0);
    assert_non_null(lpo_analysis_run_main(run));
    assert_ptr_equal(lpo_analysis_run_main(run)->select, o.select);
    assert_int_equal(run->attributed, 1);
    o.select = lpo_region_selection_create(); /* freed by the callee, also where it fails */
    assert_true(lpo_analysis_run_of_paths(files, 2, &o, &none, &err) < 0);
    assert_null(none);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_reads_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_stage_that_starts_again_is_read_again, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_selection_shares_the_regions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(counters_renew_the_sums, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(answers_are_kept, make_folder, remove_folder),
        cmocka_unit_test(a_list_of_files_is_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
