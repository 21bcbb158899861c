/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tool_messages.h - what Nsight's tools print when something is wrong, in plain words.
 *
 * Both tools print long logs in which one line matters. Each known line is a row: a piece of its
 * text, what it means, what to do, and what follows from it. */
#pragma once

enum lpo_tool_what {
    LPO_TOOL_FILTERED = 1, /* a filter may be at fault: trying again without it can help */
    LPO_TOOL_FATAL = 2,    /* no usable result can be expected, of this or of the next try */
    LPO_TOOL_MISSING = 4,  /* a permission is missing: exit code 3 */
    LPO_TOOL_ADVICE = 8,   /* worth a note; not a failure where the tool ended well */
};

struct lpo_tool_message {
    const char *text;    /* stands in the tool's output */
    const char *meaning; /* one line for people */
    const char *remedy;
    unsigned what; /* enum lpo_tool_what */
};

/* The first row whose text stands in `log`, by the order of the table; NULL: none. */
const struct lpo_tool_message *lpo_pipeline_tool_message_find(const char *log);
