/* SPDX-License-Identifier: Apache-2.0 */
/* toy/main.h - the program around an engine: reads options, writes files and a summary. */
#pragma once

#include "toy/run.h"

struct toy_backend {
    const char *program; /* its name in messages */
    /* Prepares the model on its device. Borrows its arguments. */
    int (*open)(const struct toy_options *o, const struct toy_weights *w,
                const struct toy_ranges *ranges, struct toy_engine *out, struct lpo_err *err);
    void (*close)(struct toy_engine *e);
};

/* Returns the exit code: 0; 1 when it failed; 2 for wrong options; 3 without the device. */
int toy_main(const struct toy_backend *backend, int argc, char **argv);
