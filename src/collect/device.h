/* SPDX-License-Identifier: Apache-2.0 */
/* collect/device.h - name, clocks and memory of each GPU, as facts in the file. */
#pragma once

struct lpoc;

/* From inside a CUDA call of the program: the driver is up and its functions may be called. */
void lpoc_devices_write(struct lpoc *c);
