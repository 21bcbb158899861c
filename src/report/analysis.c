#include "report/analysis.h"

#include <stdlib.h>

#include "region/cells.h"
#include "region/timeline.h"
#include "region/tree.h"
#include "trace/reader.h"
#include "trace/trace.h"

int lpo_analysis_create(const char *const *files, size_t count, struct lpo_selection *select,
                        struct lpo_analysis **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_analysis) a = lpo_xcalloc(1, sizeof *a);

    a->trace = lpo_trace_create();
    for (size_t i = 0; i < count; i++) {
        int rc = lpo_trace_read(files[i], a->trace, err);

        if (rc < 0)
            return rc;
    }
    a->tree = lpo_region_tree_create(a->trace);
    a->cells = lpo_work_cells_create(a->tree, select);
    a->timeline = lpo_timeline_create(a->tree);
    *out = a;
    a = NULL;
    return 0;
}

void lpo_analysis_destroy(struct lpo_analysis *a)
{
    if (!a)
        return;
    lpo_timeline_destroy(a->timeline);
    lpo_work_cells_destroy(a->cells);
    lpo_region_tree_destroy(a->tree);
    lpo_trace_destroy(a->trace);
    free(a);
}
