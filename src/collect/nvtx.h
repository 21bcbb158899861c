/* SPDX-License-Identifier: Apache-2.0 */
/* collect/nvtx.h - the NVTX calls of the program: ranges, marks and names. */
#pragma once

#include "collect/name.h"
#include "collect/nvtx_abi.h"

/* Puts our functions into the tables of one NVTX instance. There is one instance per program or
 * shared library that uses NVTX. -1 when it offers no table. */
int lpoc_nvtx_attach(struct lpoc *c, nvtx_get_table get);
/* The same for an extension; 0 when it is not the payload extension. */
int lpoc_nvtx_attach_payload(struct nvtx_ext_module *module);

/* The events behind both, of a thread that lpoc_enter() gave. `a` may be NULL. */
int lpoc_range_push(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
                    const struct nvtx_attributes *a);
int lpoc_range_pop(struct lpoc_thread *t, uint32_t domain, uint64_t now);
/* The same in the default domain, without attributes: the path that most programs take. */
int lpoc_range_push_plain(struct lpoc_thread *t, struct lpoc_name name);
int lpoc_range_pop_plain(struct lpoc_thread *t, uint64_t now);
uint64_t lpoc_range_start(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
                          const struct nvtx_attributes *a);
void lpoc_range_end(struct lpoc_thread *t, uint64_t id);
void lpoc_mark(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
               const struct nvtx_attributes *a);
