/* SPDX-License-Identifier: Apache-2.0 */
/* Histories that somebody else made: any bytes as an SQLite file, and as one file of a folder. What
 * must hold: every entry has its texts, their length is right, and a history that can be read takes
 * one more run or says why not. */
#include "scratch.h"

#include "rundir/history/history.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *ctx, const struct lpo_history_entry *e, struct lpo_err *err)
{
    size_t *seen = ctx;

    (void)err;
    insist(e->name && e->label && e->text && e->text[e->len] == '\0');
    return ++*seen < 1000 ? 0 : -1;
}

static void read_all(const char *path)
{
    struct lpo_history_entry one = {
        .name = "main", .label = "here", .unix_s = 1, .text = "{}", .len = 2
    };
    const char *const names[] = { NULL, "main" };
    LPO_AUTO(lpo_history) h = NULL;
    struct lpo_err err = { 0 };
    int64_t id = 0;

    if (lpo_history_open(path, true, &h, &err) < 0) {
        insist(lpo_err_cause(&err)[0] != '\0');
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct lpo_history_query q = { .name = names[i], .last = 3, .brief = i % 2 };
        size_t seen = 0;

        err = (struct lpo_err){ 0 };
        if (lpo_history_each(h, &q, look, &seen, &err) < 0 && err.code)
            insist(lpo_err_cause(&err)[0] != '\0');
        insist(seen <= 3);
    }
    err = (struct lpo_err){ 0 };
    if (lpo_history_add(h, &one, &id, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        insist(id > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[128];

    if (size > 100000)
        return 0;
    read_all(scratch_file("history.sqlite", data, size));
    scratch_file("runs/000007-main.json", data, size);
    snprintf(folder, sizeof folder, "%s/runs", scratch());
    read_all(folder);
    scratch_remove();
    scratch_dir[0] = '\0';
    return 0;
}
