/* SPDX-License-Identifier: Apache-2.0 */
/* What the row of a region says: its path, kind and source line; first calls beside later ones. */
#include "region/modules.h"
#include "region/scope.h"
#include "util/str.h"

void lpo_region_row_add_path(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                             struct lpo_str *out)
{
    if (row->node == LPO_NODE_OUTSIDE)
        lpo_str_add(out, "(outside)");
    else
        lpo_region_add_path(s->cells->tree, row->node, out);
}

const char *lpo_region_row_kind(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    static const char *const kinds[] = { [LPO_PUSH_POP] = "push_pop",
                                         [LPO_START_END] = "start_end",
                                         [LPO_MODULE] = "module",
                                         [LPO_PYTHON] = "python" };

    if (row->node == LPO_NODE_OUTSIDE)
        return "outside";
    return kinds[s->cells->tree->nodes.at[row->node].kind];
}

const char *lpo_region_row_source(const struct lpo_region_scope *s,
                                  const struct lpo_region_row *row)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    uint32_t name = row->node == LPO_NODE_OUTSIDE ? LPO_NONE : tree->nodes.at[row->node].name;

    if (!tree->modules || name >= tree->modules->ncode ||
        tree->nodes.at[row->node].kind < LPO_MODULE || tree->modules->code[name] == LPO_NONE)
        return NULL;
    return lpo_trace_text(tree->trace, tree->modules->code[name]);
}

unsigned lpo_region_row_depth(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    return row->node == LPO_NODE_OUTSIDE ? 0 : s->cells->tree->nodes.at[row->node].depth;
}

enum { LEAST_LATER = 1 };

/* Twice as long, and enough to change the mean. */
static bool is_unlike(int64_t first_ns, int64_t later_ns, uint64_t firsts, int64_t all_ns)
{
    return first_ns / 2 >= later_ns && first_ns > later_ns &&
           (double)(first_ns - later_ns) * (double)firsts * 20 >= (double)all_ns;
}

bool lpo_region_row_calls(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                          struct lpo_region_calls *out)
{
    uint64_t later = row->visits - row->firsts;

    if (!row->visits_known || !row->firsts || row->visits < row->firsts + LEAST_LATER)
        return false;
    *out = (struct lpo_region_calls){
        .first_host_ns = row->first_host_ns / (int64_t)row->firsts,
        .later_host_ns = (row->host_ns - row->first_host_ns) / (int64_t)later,
        .first_gpu_ns = LPO_NO_TIME,
        .later_gpu_ns = LPO_NO_TIME,
    };
    out->differ = is_unlike(out->first_host_ns, out->later_host_ns, row->firsts, row->host_ns);
    /* the first visits were summed over all devices and all kernels of their processes */
    if ((s->id.kind == LPO_SCOPE_DEVICE && s->cells->tree->trace->devices.len > 1) ||
        s->cells->left_out || row->all.unknown || !row->all.launches)
        return true;
    out->first_gpu_ns = row->first_gpu_ns / (int64_t)row->firsts;
    out->later_gpu_ns = (row->all.ns - row->first_gpu_ns) / (int64_t)later;
    out->differ |= is_unlike(out->first_gpu_ns, out->later_gpu_ns, row->firsts, row->all.ns);
    return true;
}
