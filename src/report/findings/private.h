/* SPDX-License-Identifier: Apache-2.0 */
/* report/findings/private.h - the ladder of the GPU (chapter.c) and that of the host (host.c). */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_ladder_words;
struct lpo_table;

const char *lpo_report_duration(struct lpo_arena *a, int64_t ns);
/* The picture of a ladder; a row of it, its bar as long as `ns` is of `whole_ns`. */
struct lpo_table *lpo_report_ladder_table(struct lpo_doc *doc, const char *id);
void lpo_report_ladder_bar(struct lpo_table *t, const char *label, int64_t saving_ns, int64_t ns,
                           int64_t whole_ns);

/* Where no GPU operation was recorded: what the host takes and needs, and the ladder of that, which
 * is empty where nobody says what is needed. */
const char *lpo_report_host_verdict(const struct lpo_ladder_words *w);
void lpo_report_add_host_ladder(struct lpo_doc *doc, const struct lpo_ladder_words *w);
void lpo_report_put_host_ladder(struct lpo_record *to, const struct lpo_ladder_words *w);
void lpo_report_host_lines(const struct lpo_ladder_words *w, size_t most, struct lpo_str *out);
