/* SPDX-License-Identifier: Apache-2.0 */
/* report/folder.h - a folder of traces that do not belong together: a list with a verdict each. */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_rundir;

#define LPO_FOLDER_SCHEMA "lpo.folder/1"

/* What the list says of one of them. Texts live in the arena that was given. */
struct lpo_report_folder_row {
    const char *name;
    const char *const *files; /* relative to the folder */
    size_t nfiles;
    const char *report;       /* its page, relative to that of the list; NULL: none is written */
    const char *problem;      /* why it could not be read; NULL: it was */
    const char *what, *gpus;  /* "the trace of the PyTorch profiler", "1 x NVIDIA A100" */
    const char *id, *verdict; /* of what to do first; id is NULL where nothing is to be done */
    const char *saving;       /* "12.3 ms (4.5 %)"; NULL */
    int64_t saving_ns, window_ns; /* 0: not known */
};

/* What is said first of traces that were read and analysed. */
void lpo_report_folder_judge(struct lpo_arena *arena, const struct lpo_rundir *d,
                             struct lpo_report_folder_row *row);
struct lpo_doc *lpo_report_folder_doc(const struct lpo_report_folder_row *rows, size_t count,
                                      const char *const *left, size_t nleft);
/* Files that are no traces, in a sentence; nothing where there are none. */
void lpo_report_add_left(struct lpo_doc *doc, const char *const *left, size_t count);
