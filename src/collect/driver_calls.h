/* SPDX-License-Identifier: Apache-2.0 */
/* collect/driver_calls.h - the driver calls that launch GPU operations, by CUPTI's callback ids.
 *
 * Calls of the driver, not of the runtime: the runtime calls the driver, and Triton, cuBLASLt and
 * others call only the driver. Ids never change their meaning; new ones are added at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Ids `first` … `last`. */
struct lpoc_cbids {
    uint16_t first, last;
};

static const struct lpoc_cbids lpoc_kernel_cbids[] = {
    { 115, 117 },               /* cuLaunch, Grid, GridAsync */
    { 307, 307 }, { 442, 442 }, /* cuLaunchKernel, _ptsz */
    { 477, 478 }, { 480, 480 }, /* cooperative, on several devices */
    { 652, 653 },               /* cuLaunchKernelEx */
};

static const struct lpoc_cbids lpoc_graph_cbids[] = {
    { 514, 515 }, /* cuGraphLaunch */
};

/* Where graphs are timed as a whole: calls that instantiate one, and calls that change it later. An
 * array by id, because every launch is looked up here. */
enum lpoc_about { LPOC_LAUNCHES, LPOC_INSTANTIATES_GRAPH, LPOC_CHANGES_GRAPH };
static const uint8_t lpoc_about[] = {
    [513] = LPOC_INSTANTIATES_GRAPH, /* cuGraphInstantiate */
    [578] = LPOC_INSTANTIATES_GRAPH, /* …_v2 */
    [643] = LPOC_INSTANTIATES_GRAPH, /* …WithFlags */
    [656] = LPOC_INSTANTIATES_GRAPH, /* …WithParams */
    [657] = LPOC_INSTANTIATES_GRAPH, /* …WithParams_ptsz */
    [538] = LPOC_CHANGES_GRAPH,      /* cuGraphExecKernelNodeSetParams */
    [692] = LPOC_CHANGES_GRAPH,      /* …_v2 */
    [714] = LPOC_CHANGES_GRAPH,      /* cuGraphExecNodeSetParams */
    [562] = LPOC_CHANGES_GRAPH,      /* cuGraphExecMemcpyNodeSetParams */
    [563] = LPOC_CHANGES_GRAPH,      /* cuGraphExecMemsetNodeSetParams */
    [586] = LPOC_CHANGES_GRAPH,      /* cuGraphExecChildGraphNodeSetParams */
    [650] = LPOC_CHANGES_GRAPH,      /* cuGraphNodeSetEnabled */
    [561] = LPOC_CHANGES_GRAPH,      /* cuGraphExecUpdate */
    [696] = LPOC_CHANGES_GRAPH,      /* …_v2 */
};

static const struct lpoc_cbids lpoc_copy_cbids[] = {
    { 248, 254 }, /* cuMemcpy_v2, cuMemset*_v2 */
    { 216, 216 }, { 218, 218 }, { 220, 220 },
    { 222, 222 }, { 224, 224 }, { 226, 226 }, /* memsets */
    { 276, 293 },                             /* cuMemcpy*_v2, Async */
    { 305, 306 },                             /* cuMemcpy, cuMemcpyAsync */
    { 318, 321 },                             /* peers */
    { 397, 416 }, { 418, 433 },               /* the per-thread default stream */
    { 776, 779 }, { 796, 799 },               /* batches */
};

#define LPOC_CBIDS(table) (table), sizeof(table) / sizeof *(table)

static inline enum lpoc_about lpoc_call_is(uint32_t id)
{
    return id < sizeof lpoc_about ? lpoc_about[id] : LPOC_LAUNCHES;
}

static inline bool lpoc_is_graph_launch(uint32_t id)
{
    return id == 514 || id == 515;
}
