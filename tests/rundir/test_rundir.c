/* SPDX-License-Identifier: Apache-2.0 */
/* What a run folder is read as: which files are traces, who is trusted first, what is a problem and
 * what an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const char *const lpot[] = { "*.lpot", NULL };
static const char *const reports[] = { "*.ncu-rep.gz", NULL };
static const char *const tables[] = { "*raw.csv.gz", NULL };
static const struct lpo_rundir_kind late = { .stage = "late", .patterns = lpot, .trust = 2 };
static const struct lpo_rundir_kind early = { .stage = "early", .patterns = lpot, .trust = 1 };
static const struct lpo_rundir_kind pair = {
    .stage = "pair", .patterns = reports, .otherwise = tables, .trust = 3
};
static const struct lpo_rundir_kind *const kinds[] = { &late, &pair, &early, NULL };

static const struct folder_case {
    const char *name;
    const char *files[6]; /* "stage/name=source", source below tests/data, "text:…" or "pipe" */
    const char *overrides[3]; /* of lpo report */
    int code;
    const char *error;     /* part of it */
    const char *main;      /* the stage that says where time goes; NULL: none */
    const char *main_file; /* its first file; NULL: any */
    size_t problems;
    size_t formats; /* 0: not looked at */
} cases[] = {
    { "an empty folder is no run",
      { NULL },
      { NULL },
      LPO_E_NOTFOUND,
      "neither run.json nor traces under early/, late/ or pair/",
      NULL,
      NULL,
      0,
      0 },
    { "a config alone is a run",
      { "config.yaml=text:report: {top: 3}\n" },
      { NULL },
      0,
      NULL,
      NULL,
      NULL,
      0,
      0 },
    { "the smaller number is trusted first",
      { "late/a.lpot=native/torch_llama.lpot", "early/b.lpot=native/torch_llama.lpot" },
      { NULL },
      0,
      NULL,
      "early",
      NULL,
      0,
      0 },
    { "other files are no traces",
      { "early/a.json=text:{}", "late/a.lpot=native/toy.lpot" },
      { NULL },
      0,
      NULL,
      "late",
      "late/a.lpot",
      0,
      0 },
    { "a trace that cannot be read is a problem",
      { "early/a.lpot=text:nothing", "late/a.lpot=native/toy.lpot" },
      { NULL },
      0,
      NULL,
      "late",
      NULL,
      1,
      0 },
    { "a pipe in the place of a trace is a problem, and nobody waits for it",
      { "early/a.lpot=pipe", "late/a.lpot=native/toy.lpot" },
      { NULL },
      0,
      NULL,
      "late",
      NULL,
      1,
      0 },
    { "one of two files can be read",
      { "early/a.lpot=text:nothing", "early/b.lpot=native/toy.lpot" },
      { NULL },
      0,
      NULL,
      "early",
      NULL,
      1,
      0 },
    { "the first pattern before the other",
      { "pair/a.ncu-rep.gz=ncu/ranges.ncu-rep.gz", "pair/raw.csv.gz=ncu/ranges_raw.csv.gz" },
      { NULL },
      0,
      NULL,
      "pair",
      "pair/a.ncu-rep.gz",
      0,
      0 },
    { "the other where the first is not there",
      { "pair/raw.csv.gz=ncu/ranges_raw.csv.gz" },
      { NULL },
      0,
      NULL,
      "pair",
      "pair/raw.csv.gz",
      0,
      0 },
    { "a run.json that is none is a problem",
      { "run.json=text:[", "early/b.lpot=native/toy.lpot" },
      { NULL },
      0,
      NULL,
      "early",
      NULL,
      1,
      0 },
    { "each format once",
      { "early/b.lpot=native/toy.lpot" },
      { "report.formats=[md,csv,md]" },
      0,
      NULL,
      "early",
      NULL,
      0,
      2 },
    { "only report.* may be changed",
      { "early/b.lpot=native/toy.lpot" },
      { "run.repeats=2" },
      LPO_E_CONFIG,
      "only report.*",
      NULL,
      NULL,
      0,
      0 },
    { "a value of the wrong type",
      { "early/b.lpot=native/toy.lpot" },
      { "report.top=many" },
      LPO_E_CONFIG,
      "report.top",
      NULL,
      NULL,
      0,
      0 },
    { "a config that cannot be read",
      { "config.yaml=text:a: [", "early/b.lpot=native/toy.lpot" },
      { NULL },
      LPO_E_FORMAT,
      "did not find expected node content",
      NULL,
      NULL,
      0,
      0 },
};

static void put(struct lpo_arena *a, const char *dir, const char *entry)
{
    const char *source = strchr(entry, '=') + 1;
    const char *path =
        lpo_path_join(a, dir, lpo_arena_strndup(a, entry, (size_t)(source - entry) - 1));
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err err = { 0 };
    const char *at = "";
    size_t len = 0;

    if (lpo_str_starts(source, "text:")) {
        at = source + strlen("text:");
        len = strlen(at);
    } else if (!lpo_streq(source, "pipe")) {
        const char *from =
            lpo_arena_printf(a, "%s/tests/data/%s", unit_env("LPO_SOURCE_ROOT", "."), source);

        assert_int_equal(lpo_file_text_read(from, &text, &err), 0);
        at = text->at;
        len = text->len;
    }
    if (strrchr(path, '/') != path + strlen(dir))
        mkdir(lpo_arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), 0700);
    if (lpo_streq(source, "pipe"))
        assert_int_equal(mkfifo(path, 0600), 0);
    else
        assert_int_equal(lpo_file_write(path, at, len, &err), 0);
}

static void check_loaded(const struct folder_case *c, const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_main(d);

    assert_int_equal(d->problems.len, c->problems);
    for (size_t i = 0; i < d->problems.len; i++)
        assert_null(strstr(d->problems.at[i], d->dir)); /* the same wherever the folder lies */
    if (!c->main) {
        assert_null(s);
        return;
    }
    assert_non_null(s);
    assert_string_equal(s->stage, c->main);
    assert_non_null(s->select);
    assert_ptr_equal(lpo_rundir_source(d, c->main), s);
    if (c->main_file)
        assert_string_equal(s->files[0], c->main_file);
    if (c->formats)
        assert_int_equal(d->formats.len, c->formats);
}

static void check_folder(void **state)
{
    const struct folder_case *c = *state;
    struct lpo_rundir_options options = { kinds, c->overrides };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_rundir) d = NULL;
    struct lpo_err err = { 0 };
    char dir[] = "/tmp/lpo-test-XXXXXX";
    int rc;

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; c->files[i]; i++)
        put(a, dir, c->files[i]);
    rc = lpo_rundir_create(dir, &options, &d, &err);
    assert_int_equal(system(lpo_arena_printf(a, "rm -r '%s'", dir)), 0);
    if (c->error ? !strstr(err.text, c->error) : rc < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rc, c->code);
    if (rc == 0)
        check_loaded(c, d);
}

static void no_folder(void **state)
{
    struct lpo_rundir_options options = { kinds, NULL };
    struct lpo_rundir *d = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_rundir_create("/no/such/folder", &options, &d, &err), LPO_E_NOTFOUND);
    assert_null(d);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_folder);
    UNIT_TEST(&u, no_folder);
    return unit_run(&u);
}
