/* SPDX-License-Identifier: Apache-2.0 */
/* tests/gpu/fake_pm.h - what a test in the same process may ask of fake_pm.c, by dlsym(). */
#pragma once

#include <stdint.h>

struct fake_pm_clocks {
    int64_t wall_ns; /* the test makes it pass; a restart takes 200 ms of it */
    int64_t cpu_ns;  /* what decoding took so far */
    unsigned full;   /* times that an image had no room for all samples */
};

__attribute__((visibility("default"))) struct fake_pm_clocks *fake_pm_clocks(void);
__attribute__((visibility("default"))) void fake_pm_reset(void); /* as just loaded */
