/* collect/activity.h - CUPTI's buffers: handing them out, and turning records into blocks.
 *
 * A kernel record is 216 bytes and comes back thousands of times with the same name and launch
 * shape; here it becomes the number of a shape seen before, and differences: about 9 bytes. That
 * work is done where CUPTI delivers, on its own worker, never on a launching thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpoc_gpu;
struct lpoc_records;

struct lpoc_records *lpoc_records_create(struct lpoc_gpu *gpu); /* NULL: no memory */

/* CUPTI's two callbacks, less the things that have no use. */
void lpoc_buffer_request(struct lpoc_records *r, uint8_t **buffer, size_t *size);
void lpoc_buffer_complete(struct lpoc_records *r, void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid);
