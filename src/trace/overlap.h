/* trace/overlap.h - one process told twice: the same file given two times, or two machines whose
 * processes have one number and no rank. Their ranges would nest into regions that never were. */
#pragma once

struct lpo_trace_overlap;
struct lpo_trace;

/* After each file of several. A process that this one and one before it tell of at the same time is
 * noted in the trace, which keeps what was seen. */
void lpo_trace_overlap_look(struct lpo_trace *t, const char *path);
void lpo_trace_overlap_destroy(struct lpo_trace_overlap *o); /* NULL is fine */
