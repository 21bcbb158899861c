/* SPDX-License-Identifier: Apache-2.0 */
/* util/file_queue.h - files written beside the one who makes them.
 *
 * A report has dozens of files, and each is flushed to the disk before it gets its name: that is
 * waiting, not work. A second thread writes them in the order in which they were added, and flushes
 * and names them by the dozen, since a disk takes many at once nearly as fast as one. All are in
 * place, and on the disk, when lpo_file_queue_finish() has given 0. A file that holds these bytes
 * already stays as it is, flushed like the others.
 *
 * The filter (lpo_file_set_filter) is asked by the caller's thread. */
#pragma once

#include "util/base.h"

struct lpo_file_queue;

struct lpo_file_queue *lpo_file_queue_create(void);
/* Waits for what was added, without a word about errors. NULL is fine. */
void lpo_file_queue_destroy(struct lpo_file_queue *q);
LPO_AUTO_DEFINE(lpo_file_queue);

/* Takes the bytes: *bytes is empty afterwards. The folder must exist. After a file that could not
 * be written the rest is dropped. Waits while some hundred kB are not written yet. */
void lpo_file_queue_add(struct lpo_file_queue *q, const char *path, struct lpo_str *bytes);
/* Waits until all is written; the first error, or 0. */
int lpo_file_queue_finish(struct lpo_file_queue *q, struct lpo_err *err);
