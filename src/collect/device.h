/* collect/device.h - what the driver says of the GPUs, as facts in the file. */
#pragma once

struct lpoc;

/* From inside a CUDA call of the program: the driver is up and its functions may be called. */
void lpoc_devices_tell(struct lpoc *c);
