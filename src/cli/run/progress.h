/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/progress.h - progress of a long run: one line that is redrawn on a terminal, plain lines
 * elsewhere. It moves the cursor itself, so it prints on the bare stream: everything that is not
 * our own text goes through util/visible.h first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lpo_pipeline_events;

struct lpo_progress {
    FILE *to;
    bool moving; /* a terminal */
    bool quiet;
    int64_t last_drawn_ns;
    int drawn;           /* columns of the line that is redrawn */
    const char *unnamed; /* the stage that runs, while no line says so */
    bool mid_line; /* the program's output ended inside a line: nothing may be drawn over it */
};

void lpo_cli_progress_init(struct lpo_progress *p, FILE *to, bool quiet);
struct lpo_pipeline_events lpo_cli_progress_events(struct lpo_progress *p);
/* The line that is redrawn; nothing when quiet or not on a terminal. */
void lpo_cli_progress_show(struct lpo_progress *p, const char *line);
/* A line that stays; nothing when quiet. */
void lpo_cli_progress_say(struct lpo_progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
