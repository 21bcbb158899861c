/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped references: shapes that were measured, between and beyond them, and damaged files. */
#include <math.h>

#include "../unit.h"
#include "reference/reference.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static struct lpo_reference *h200;

static const char *path_of(struct lpo_arena *a, const char *gpu)
{
    const char *dirs[] = { lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf"), NULL };

    return lpo_reference_path(a, dirs, gpu);
}

/* Times from the tables; where the shape stands in them the answer is within its steps. */
static const struct known {
    const char *name;
    struct lpo_reference_work work;
    double us, within;
    bool inside;
} known[] = {
    { "a GEMM of the table",
      { .kind = LPO_REF_GEMM, .dtype = LPO_BF16, .m = 1, .n = 32, .k = 32 },
      2.29,
      0.05,
      true },
    { "a GEMM between four points",
      { .kind = LPO_REF_GEMM, .dtype = LPO_BF16, .m = 3000, .n = 4600, .k = 4600 },
      180,
      0.2,
      true },
    { "a GEMM beyond the table",
      { .kind = LPO_REF_GEMM, .dtype = LPO_BF16, .m = 1 << 20, .n = 4096, .k = 4096 },
      48e3,
      0.3,
      false },
    { "decode's attention",
      { .kind = LPO_REF_GENERATION_ATTENTION,
        .dtype = LPO_BF16,
        .batch = 1,
        .cached = 1,
        .heads = 1,
        .kv_heads = 1,
        .head_dim = 64 },
      7.26,
      0.05,
      true },
    { "an all-gather",
      { .kind = LPO_REF_NCCL, .collective = "all_gather", .ranks = 2, .bytes = 512 },
      5.17,
      0.05,
      true },
    { "experts",
      { .kind = LPO_REF_MOE,
        .dtype = LPO_BF16,
        .tokens = 1,
        .hidden = 2048,
        .inter = 512,
        .top_k = 8,
        .experts = 256,
        .tp = 1,
        .ep = 1 },
      26.54,
      0.05,
      true },
};

static void check_known(void **state)
{
    const struct known *k = *state;
    struct lpo_reference_answer r;

    assert_true(lpo_reference_best(h200, &k->work, &r));
    if (fabs(r.best_us / k->us - 1) > k->within)
        fail_msg("%g us, not %g", r.best_us, k->us);
    assert_int_equal(r.inside, k->inside);
    assert_int_equal(isnan(r.error), !k->inside);
}

static void check_silence(void **state)
{
    static const struct lpo_reference_work none[] = {
        { .kind = LPO_REF_GEMM, .dtype = LPO_FP64, .m = 1, .n = 1, .k = 1 },
        { .kind = LPO_REF_GEMM, .dtype = LPO_BF16, .m = NAN, .n = 1, .k = 1 },
        { .kind = LPO_REF_NCCL, .collective = "send_recv", .ranks = 2, .bytes = 8 },
        { .kind = LPO_REF_KINDS },
    };
    struct lpo_reference_answer r;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(lpo_reference_best(h200, &none[i], &r));
}

/* More work never takes less time by more than the steps of the measurements. */
static void check_grows(void **state)
{
    double before = 0;

    (void)state;
    for (double m = 1; m < 1 << 16; m *= 1.37) {
        struct lpo_reference_work w = {
            .kind = LPO_REF_GEMM, .dtype = LPO_BF16, .m = floor(m), .n = 4096, .k = 4096
        };
        struct lpo_reference_answer r;

        assert_true(lpo_reference_best(h200, &w, &r));
        assert_true(r.best_us > before * 0.8 && r.best_us > r.roofline_us * 0.9);
        before = r.best_us;
    }
}

static void check_names(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    (void)state;
    assert_non_null(path_of(a, "a100_80_sxm"));
    assert_non_null(path_of(a, "b200"));
    assert_null(path_of(a, "t4"));
    assert_non_null(strstr(lpo_reference_source(h200), "Apache-2.0"));
}

static const struct damage {
    const char *name;
    size_t keep;
    int flip; /* every so many bytes */
} damages[] = {
    { "empty", 0, 0 },
    { "the first line alone", 16, 0 },
    { "no body", 2000, 0 },
    { "half a body", 100000, 0 },
    { "bytes turned around", SIZE_MAX, 977 },
};

static void check_damage(void **state)
{
    const struct damage *d = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *path =
        lpo_arena_printf(a, "%s/reference-damage-%d", unit_env("TMPDIR", "/tmp"), (int)getpid());
    struct lpo_reference *r = NULL;
    struct lpo_err err = { 0 };
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(lpo_file_text_read(path_of(a, "h200_sxm"), &text, &err), 0);
    for (size_t i = 0; i < text->len && i < d->keep; i++)
        fputc(d->flip && i > 4000 && i % (size_t)d->flip == 0 ? ~text->at[i] : text->at[i], f);
    fclose(f);
    assert_int_equal(lpo_reference_load(path, &r, &err), LPO_E_FORMAT);
    unlink(path);
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct unit u = { 0 };
    int failed;

    if (lpo_reference_load(path_of(a, "h200_sxm"), &h200, &err) < 0) {
        fprintf(stderr, "%s\n", lpo_err_cause(&err));
        return 1;
    }
    UNIT_ROWS(&u, known, check_known);
    UNIT_TEST(&u, check_silence);
    UNIT_TEST(&u, check_grows);
    UNIT_TEST(&u, check_names);
    UNIT_ROWS(&u, damages, check_damage);
    failed = unit_run(&u);
    lpo_reference_destroy(h200);
    return failed;
}
