/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/native/regions.h"

#include <string.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "region/tree.h"
#include "report/doc/doc.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/map.h"
#include "util/str.h"
#include "writer/writer.h"

#define NATIVE_REGIONS_SCHEMA "lpo.native_regions/1"

/* Threads that entered ranges of this name: a bit of key for (domain, name, thread). */
static struct lpo_map *count_threads(const struct lpo_trace *t)
{
    struct lpo_map *seen = lpo_map_create(), *count = lpo_map_create();

    for (size_t i = 0; i < t->ranges.len + t->paths.len; i++) {
        const struct lpo_range *r = i < t->ranges.len ? &t->ranges.at[i] : NULL;
        const struct lpo_path *p = r ? NULL : &t->paths.at[i - t->ranges.len];
        uint32_t key[3] = { r ? r->domain : p->domain, r ? r->name : p->name,
                            r ? r->thread : p->thread };
        bool fresh;

        lpo_map_put(seen, (const char *)key, sizeof key, &fresh);
        if (fresh)
            ++*lpo_map_put(count, (const char *)key, 2 * sizeof *key, NULL);
    }
    lpo_map_destroy(seen);
    return count;
}

static void put_row(struct lpo_record *r, const struct lpo_region_scope *s,
                    const struct lpo_region_row *row, const struct lpo_map *threads)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    LPO_STR path = { 0 };

    lpo_region_row_add_path(s, row, &path);
    lpo_doc_put_textn(r, "path", lpo_str_text(&path), path.len);
    lpo_doc_put_text(r, "kind", lpo_region_row_kind(s, row));
    if (row->node != LPO_NODE_OUTSIDE) {
        uint32_t key[2] = { tree->nodes.at[row->node].domain, tree->nodes.at[row->node].name };
        const uint64_t *n = lpo_map_find(threads, (const char *)key, sizeof key);

        lpo_doc_put_text(r, "domain", lpo_trace_text(tree->trace, tree->trace->domains.at[key[0]]));
        lpo_doc_put_uint(r, "threads", n ? *n : 0);
        lpo_doc_put_uint(r, "visits", row->visits);
        lpo_doc_put_int(r, "host_ns", row->host_ns);
    }
    lpo_doc_put_uint(r, "launches", row->all.launches);
    lpo_doc_put_int(r, "gpu_ns", row->all.ns);
}

int lpo_pipeline_native_regions_write(const struct lpo_analysis *a, const char *path,
                                      size_t *regions, struct lpo_err *err)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    LPO_AUTO(lpo_map) threads = count_threads(a->trace);
    LPO_AUTO(lpo_doc)
    doc = lpo_doc_create_data(NATIVE_REGIONS_SCHEMA, "native_regions", "Regions of the workload");
    struct lpo_record *rows = lpo_doc_put_list(doc->data, "regions");

    *regions = 0;
    for (size_t i = 0; i < s->rows.len; i++) {
        put_row(lpo_doc_put_record(rows, NULL), s, &s->rows.at[i], threads);
        *regions += s->rows.at[i].node != LPO_NODE_OUTSIDE;
    }
    return lpo_writer_write(doc, &lpo_writer_json, path, err);
}
