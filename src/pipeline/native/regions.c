#include "pipeline/native/regions.h"

#include <string.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/map.h"
#include "util/str.h"

/* Threads that entered ranges of this name: a bit of key for (domain, name, thread). */
static struct lpo_map *count_threads(const struct lpo_trace *t)
{
    struct lpo_map *seen = lpo_map_create(), *count = lpo_map_create();

    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        uint32_t key[3] = { r->domain, r->name, r->thread };
        bool fresh;

        lpo_map_put(seen, (const char *)key, sizeof key, &fresh);
        if (fresh)
            ++*lpo_map_put(count, (const char *)key, 2 * sizeof *key, NULL);
    }
    lpo_map_destroy(seen);
    return count;
}

static void write_row(struct lpo_json_writer *w, const struct lpo_region_scope *s,
                      const struct lpo_region_row *row, const struct lpo_map *threads)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    bool outside = row->node == LPO_NODE_OUTSIDE;
    LPO_STR path = { 0 };

    lpo_region_row_add_path(s, row, &path);
    lpo_jw_object(w, NULL);
    lpo_jw_textn(w, "path", lpo_str_text(&path), path.len);
    lpo_jw_text(w, "kind", lpo_region_row_kind(s, row));
    if (!outside) {
        uint32_t key[2] = { tree->nodes.at[row->node].domain, tree->nodes.at[row->node].name };
        const uint64_t *n = lpo_map_find(threads, (const char *)key, sizeof key);

        lpo_jw_text(w, "domain", lpo_trace_text(tree->trace, tree->trace->domains.at[key[0]]));
        lpo_jw_uint(w, "threads", n ? *n : 0);
        lpo_jw_uint(w, "visits", row->visits);
        lpo_jw_int(w, "host_ns", row->host_ns);
    }
    lpo_jw_uint(w, "launches", row->all.launches);
    lpo_jw_int(w, "gpu_ns", row->all.ns);
    lpo_jw_end(w);
}

int lpo_pipeline_native_regions_write(const char *const *traces, size_t count, const char *path,
                                      size_t *regions, struct lpo_err *err)
{
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_region_scope) s = NULL;
    LPO_AUTO(lpo_map) threads = NULL;
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    if (lpo_analysis_create(traces, count, NULL, &a, err) < 0)
        return err->code;
    s = lpo_region_scope_create(a->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    threads = count_threads(a->trace);
    *regions = 0;
    lpo_jw_object(&w, NULL);
    lpo_jw_int(&w, "schema", 1);
    lpo_jw_array(&w, "regions");
    for (size_t i = 0; i < s->rows.len; i++) {
        write_row(&w, s, &s->rows.at[i], threads);
        *regions += s->rows.at[i].node != LPO_NODE_OUTSIDE;
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    return lpo_file_write(path, out.at, out.len, err);
}
