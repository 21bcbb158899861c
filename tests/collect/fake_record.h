/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/fake_record.h - what the fake driver hands to the fake CUPTI.
 *
 * The driver does the work and makes the records of it; CUPTI knows what its client asked for,
 * keeps that, and delivers it. */
#pragma once

#include <stdbool.h>

#include "collect/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { FAKE_RECORD_ROOM = 216 }; /* bytes of the largest */

union fake_record {
    struct cupti_record head;
    struct cupti_kernel kernel;
    struct cupti_memcpy copy;
    struct cupti_memcpy2 peer;
    struct cupti_memset set;
    struct cupti_graph_trace graph;
    uint8_t bytes[FAKE_RECORD_ROOM];
};

/* The two callbacks of one driver call (id 0: none); the correlation is what its records carry. */
uint32_t fake_call(uint32_t id, const void *params);
/* From 1 on again, as where CUPTI comes again. */
void fake_calls_restart(void);
struct fake_kernel;
union fake_record fake_kernel_record(const struct fake_kernel *k, uint32_t correlation);
uint64_t fake_now(void);

/* Calls the client back with what its callback takes, where it enabled this one. */
bool fake_tell(int domain, uint32_t id, const void *data); /* true: it did */

/* The code that FAKE_FAIL wants of this call; `argument` -1: none to tell by. */
int fake_verdict(const char *name, int argument);

/* Whether the client enabled records of this kind. */
bool fake_wants(int kind);
/* Kernel records were switched off once: those of a graph's nodes have wrong times from then on. */
extern int fake_kernels_switched;
extern int fake_graphs_used; /* atomic: launched while CUPTI was there */

/* Keeps a copy for fake_complete(); a kind that nobody wants is forgotten. */
void fake_keep(const union fake_record *r);
