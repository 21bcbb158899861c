/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view/request.h - what a browser asks `lpo view` for: the head of an HTTP/1 request.
 *
 * Only what a browser sends to its own machine is taken: GET of a path, to a host that is called
 * localhost. Nothing is decoded: a path is compared with the few names that are served. */
#pragma once

#include "util/base.h"

enum { LPO_VIEW_MOST_HEAD = 8192 };

struct lpo_view_request {
    const char *path; /* after the first '/', borrowed from the bytes */
    size_t path_len;
    const char *query; /* after the '?' */
    size_t query_len;
};

/* Reads a head. 0: its end has not come yet; 200: `out` is filled; else the status to refuse it
 * with. */
int lpo_cli_view_request_read(const char *bytes, size_t len, struct lpo_view_request *out);
/* A whole number of the query, "from=12&to=900". False: it is not there, or it is none. */
bool lpo_cli_view_request_number(const struct lpo_view_request *r, const char *key, int64_t *out);
