#include "analysis/analysis.h"

#include <stdlib.h>

#include "analysis/wall/timeline.h"
#include "region/cells.h"
#include "region/tree.h"
#include "trace/reader.h"
#include "trace/trace.h"

struct lpo_analysis *lpo_analysis_of(struct lpo_trace *trace, struct lpo_region_selection *select)
{
    struct lpo_analysis *a = lpo_xcalloc(1, sizeof *a);

    a->trace = trace;
    a->tree = lpo_region_tree_create(trace);
    a->cells = lpo_region_cells_create(a->tree, select);
    if (!(trace->skip & LPO_SKIP_LAUNCHES))
        a->timeline = lpo_wall_timeline_create(a->tree);
    return a;
}

int lpo_analysis_create_skip(const char *const *files, size_t count, unsigned skip,
                             struct lpo_region_selection *select, struct lpo_analysis **out,
                             struct lpo_err *err)
{
    LPO_AUTO(lpo_trace) trace = lpo_trace_create();

    trace->skip = skip;
    for (size_t i = 0; i < count; i++) {
        int rc = lpo_trace_read(files[i], trace, err);

        if (rc < 0)
            return rc;
    }
    *out = lpo_analysis_of(trace, select);
    trace = NULL;
    return 0;
}

int lpo_analysis_create(const char *const *files, size_t count, struct lpo_region_selection *select,
                        struct lpo_analysis **out, struct lpo_err *err)
{
    return lpo_analysis_create_skip(files, count, LPO_SKIP_OPS, select, out, err);
}

void lpo_analysis_destroy(struct lpo_analysis *a)
{
    if (!a)
        return;
    lpo_wall_timeline_destroy(a->timeline);
    lpo_region_cells_destroy(a->cells);
    lpo_region_tree_destroy(a->tree);
    lpo_trace_destroy(a->trace);
    free(a);
}
