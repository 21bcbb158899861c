/* trace/overlap.h - one process told twice: the same file given two times, or two machines whose
 * processes have one number and no rank. Their ranges would nest into regions that never were. */
#pragma once

#include "util/auto.h"

struct lpo_trace;

struct lpo_overlap;

/* Before the first file, after each, and at the end. A process that two files tell of at the same
 * time is noted in the trace. */
struct lpo_overlap *lpo_overlap_create(void);
void lpo_overlap_look(struct lpo_overlap *o, struct lpo_trace *t, const char *path);
void lpo_overlap_destroy(struct lpo_overlap *o); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_overlap);
