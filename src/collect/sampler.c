/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include <dlfcn.h>

#include "collect/collect.h"

void lpoc_sampler_start(struct lpoc *c)
{
    void *library;
    int (*start)(void);

    if (!c->knobs.sampler[0] || c->sampler_stop)
        return;
    library = dlopen(c->knobs.sampler, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return; /* lpo finds no samples, and says so */
    start = (int (*)(void))dlsym(library, "lpo_inside_start");
    c->sampler_stop = (void (*)(void))dlsym(library, "lpo_inside_stop");
    if (!start || !c->sampler_stop || start() < 0)
        c->sampler_stop = NULL;
}

void lpoc_sampler_stop(struct lpoc *c)
{
    void (*stop)(void) = c->sampler_stop;

    c->sampler_stop = NULL;
    if (stop)
        stop();
}
