/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/image_size.h - how large a picture is, from the first bytes of a PNG or JPEG. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False for anything else, and for a file that is cut or not a regular file. */
bool lpo_workload_image_size(const char *path, uint32_t *width, uint32_t *height);
