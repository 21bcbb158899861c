/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/history/private.h - the two kinds of stores behind a history. */
#pragma once

#include "rundir/history/history.h"

enum {
    LPO_HISTORY_TEXT = 64 << 20, /* bytes of one text */
    LPO_HISTORY_ENTRIES = 100000,
};

int lpo_history_folder_add(const char *dir, const struct lpo_history_entry *e, int64_t *id,
                           struct lpo_err *err);
int lpo_history_folder_each(const char *dir, const struct lpo_history_query *q,
                            lpo_history_fn *each, void *ctx, struct lpo_err *err);
