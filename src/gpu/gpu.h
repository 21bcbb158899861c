/* gpu/gpu.h - which NVIDIA GPUs are here, asked of the driver's own library at run time.
 *
 * libnvidia-ml is opened, never linked; nothing breaks where it is absent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_json_writer;

struct lpo_gpu {
    const char *name;
    uint64_t memory_bytes;
    uint32_t sm_clock_mhz, memory_clock_mhz; /* the highest; 0 unknown */
    uint32_t power_limit_mw;
    int cc_major, cc_minor;
};

struct lpo_gpus {
    const char *driver; /* NULL: no driver */
    const char *why;    /* when there are none: what was missing */
    struct lpo_gpu *at;
    size_t len;
};

void lpo_gpu_list(struct lpo_arena *a, struct lpo_gpus *out);
/* {"driver": …, "devices": […]} under `key`. */
void lpo_gpu_write(struct lpo_arena *a, struct lpo_json_writer *w, const char *key);
