/* workloads/toy_main.h - the program around an engine: options in, files and a summary out. */
#pragma once

#include "toy_run.h"

struct toy_backend {
    const char *program; /* as messages name it */
    /* Makes the model ready on its device. Borrows all it is given. */
    int (*open)(const struct toy_options *o, const struct toy_weights *w,
                const struct toy_ranges *ranges, struct toy_engine *out, struct lpo_err *err);
    void (*close)(struct toy_engine *e);
};

/* Returns the exit code: 0; 1 when it failed; 2 for wrong options; 3 without the device. */
int toy_main(const struct toy_backend *backend, int argc, char **argv);
