/* SPDX-License-Identifier: Apache-2.0 */
/* collect/activity.h - CUPTI's buffers: given to it empty, and turned into blocks when full.
 *
 * A kernel record is 216 bytes and comes back thousands of times with the same name and launch
 * shape; here it becomes the number of a known shape, and differences: about 9 bytes. This is done
 * on CUPTI's own thread, never on a launching one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpoc_gpu;
struct lpoc_records;

struct lpoc_records *lpoc_records_create(struct lpoc_gpu *gpu); /* NULL: no memory */

/* CUPTI's two callbacks, without the parameters that are not used. */
void lpoc_buffer_request(struct lpoc_records *r, uint8_t **buffer, size_t *size);
void lpoc_buffer_complete(struct lpoc_records *r, void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid);
/* At the end of the process: what waits for the disk is written now, or lost. */
void lpoc_records_finish(struct lpoc_records *r);
/* CUPTI is gone, and with it what it had not delivered. */
void lpoc_records_detached(struct lpoc_records *r);
