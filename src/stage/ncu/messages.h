/* stage/ncu/messages.h - what Nsight's tools say when something is wrong, in plain words.
 *
 * Both tools print long logs in which one line matters. Each known line is a row: a piece of its
 * text, what it means, what to do, and whether trying again without the NVTX filter can help. */
#pragma once

#include <stdbool.h>

struct lpo_tool_message {
    const char *text;    /* stands in the tool's output */
    const char *meaning; /* one line for people */
    const char *remedy;
    bool rerun_ungated; /* the filter may be at fault */
    bool fatal;         /* no usable result can be expected */
};

/* The first row whose text stands in `log`, by the order of the table; NULL: none. */
const struct lpo_tool_message *lpo_tool_message_find(const char *log);
