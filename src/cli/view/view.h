/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view/view.h - the page of a report, served to browsers of this machine. */
#pragma once

#include "util/base.h"

struct lpo_analysis_run;
struct lpo_app;
struct lpo_args;
struct lpo_page_detail;
struct lpo_view_request;

/* What is served. While a run goes on in the folder it is made again whenever files have changed.
 */
struct lpo_view_page {
    struct lpo_app *app;
    const struct lpo_args *args;
    const char *dir; /* of the run that goes on; NULL: there is none (any more) */
    bool followed;   /* there was one */
    bool delivered;  /* a browser has got it as it is now */
    int64_t version;
    struct lpo_str html;
    struct lpo_analysis_run *run;
    struct lpo_page_detail *detail; /* NULL: there is no trace */
    uint64_t files;                 /* of the folder: changes when one of them does */
    int64_t next_ns;                /* when to look again */
};

/* Reads what the words name. */
int lpo_cli_view_page_open(struct lpo_view_page *p, struct lpo_app *app,
                           const struct lpo_args *args, struct lpo_err *err);
/* Has the run gone on, or ended? */
void lpo_cli_view_page_follow(struct lpo_view_page *p);
/* The status, and what is sent: `name` is what stands behind the secret in the path. */
int lpo_cli_view_page_answer(struct lpo_view_page *p, const struct lpo_view_request *r,
                             const char *name, size_t len, const char **type, struct lpo_str *body);
void lpo_cli_view_page_close(struct lpo_view_page *p);

/* Serves until the run that was followed has ended, else until the process is ended. `port` 0: any;
 * -1: the usual one where it is free. */
int lpo_cli_view_serve(struct lpo_view_page *p, int port, bool open, struct lpo_err *err);
