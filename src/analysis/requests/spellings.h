/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/requests/spellings.h - under which names clients write their figures. */
#pragma once

#include <stddef.h>

#include "analysis/requests/requests.h"

/* A dotted path to a number. */
struct lpo_requests_spelling {
    int what; /* enum lpo_requests_figure, _time or _stat */
    const char *text;
};

/* One kind of document. */
struct lpo_requests_client {
    const char *name;
    const char *mark;  /* a path that only such a document has */
    const char *times; /* the path of a statistic: %T is the time, %S "mean", "p99" … */
    double to_ns;      /* of a time without a unit of its own */
    const struct lpo_requests_spelling *figures, *time_names, *stat_names; /* end with text NULL */
};

extern const struct lpo_requests_client lpo_requests_clients[];
extern const size_t lpo_requests_client_count;
