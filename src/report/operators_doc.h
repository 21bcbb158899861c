/* report/operators_doc.h - tables of operators. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_doc;
struct lpo_operators;
struct lpo_rundir;
struct lpo_source;
struct lpo_trace;

/* The `most` dearest. GPU columns are n/a where the trace has no GPU work at all: a profiler that
 * did not look at the GPU did not see that it was idle. */
void lpo_report_add_operators(struct lpo_doc *doc, const struct lpo_trace *trace, const char *id,
                              bool by_shapes, size_t most);
/* What each of the `most` operators with the dearest own GPU work launched itself. */
void lpo_report_add_operator_kernels(struct lpo_doc *doc, const struct lpo_trace *trace,
                                     const struct lpo_operators *ops, size_t most, size_t kernels);

/* torch_profiler/{report.md,metrics.json}; NULL where that stage left no trace. */
struct lpo_doc *lpo_report_torch_doc(const struct lpo_rundir *d);
