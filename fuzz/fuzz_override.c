/* SPDX-License-Identifier: Apache-2.0 */
/* Overrides of any bytes: read, written back, read again; and the jobs of all kinds of sweeps. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int options(void *with, struct lpo_arena *a, const char *group, const char ***names,
                   size_t *count, struct lpo_err *err)
{
    static const char *some[] = { "a", "ab", "b.c", "[x]" };

    *names = some;
    *count = 4;
    return 0;
}

static void insist(bool truth, const char *what, const char *text)
{
    if (truth)
        return;
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

/* A text that needs no quotes for its value alone: what is written back means the same. The one
 * exception is Hydra's own: 'true', '1' and the like lose their type when a cast made them. */
static void check_round_trip(struct lpo_arena *a, const struct lpo_override *ov)
{
    const char *text = lpo_arena_printf(a, "%s=%s", lpo_override_key_text(a, ov),
                                        lpo_override_value_text(a, ov->value));
    struct lpo_err err = { 0 };
    struct lpo_override again;

    insist(lpo_override_parse(a, text, &again, &err) == 0, "cannot be read back", text);
    insist(again.type == ov->type && strcmp(again.key, ov->key) == 0, "another key", text);
    insist(strcmp(lpo_override_value_text(a, again.value), strchr(text, '=') + 1) == 0,
           "another text", text);
}

static void check_jobs(struct lpo_arena *a, const struct lpo_override *ov)
{
    struct lpo_sweep_options from = { .list = options };
    struct lpo_override_sweep_jobs jobs = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_override_sweep_jobs(a, ov, 1, NULL, &from, &jobs, &err) < 0)
        insist(lpo_err_cause(&err)[0], "no reason given", ov->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *text = lpo_arena_strndup(a, (const char *)data, size);
    struct lpo_err err = { 0 };
    struct lpo_override ov;
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);

    bool ok = lpo_override_parse(a, text, &ov, &err) == 0;
    insist(ok == (ov.fault == LPO_FAULT_NONE), "fault and result differ", text);
    lpo_override_explain(&ov, lpo_err_cause(&err), &w);
    if (ok && ov.value && !strchr(text, '(') && !strstr(text, "${"))
        check_round_trip(a, &ov);
    if (ok && !strstr(text, "range"))
        check_jobs(a, &ov);
    return 0;
}
