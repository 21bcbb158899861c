/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/capture_words.h - when to record, in the words that all stages share:
 * pipeline.<stage>.capture. What a stage's tool cannot do it refuses, in a line that names who can.
 */
#pragma once

#include "settings/settings.h"

struct lpo_node;

struct lpo_capture_words {
    const char *range, *calls, *signal; /* NULL: not set */
    int64_t every, after_ns, for_ns, ring_ns, slow_ns;
    bool control, wait, count;
};

/* The rows of a settings table: `owner` has a member `capture` of the struct above. */
#define LPO_CAPTURE_WORDS(owner, stage)                                                            \
    LPO_SETTING(owner, capture.range, LPO_S_TEXT, "pipeline." stage ".capture.range"),             \
        LPO_SETTING(owner, capture.calls, LPO_S_TEXT, "pipeline." stage ".capture.calls"),         \
        LPO_SETTING(owner, capture.every, LPO_S_INT, "pipeline." stage ".capture.every"),          \
        LPO_SETTING(owner, capture.after_ns, LPO_S_DURATION, "pipeline." stage ".capture.after"),  \
        LPO_SETTING(owner, capture.for_ns, LPO_S_DURATION, "pipeline." stage ".capture.for"),      \
        LPO_SETTING(owner, capture.ring_ns, LPO_S_DURATION, "pipeline." stage ".capture.ring"),    \
        LPO_SETTING(owner, capture.slow_ns, LPO_S_DURATION, "pipeline." stage ".capture.slow"),    \
        LPO_SETTING(owner, capture.signal, LPO_S_TEXT, "pipeline." stage ".capture.signal"),       \
        LPO_SETTING(owner, capture.control, LPO_S_BOOL, "pipeline." stage ".capture.control"),     \
        LPO_SETTING(owner, capture.wait, LPO_S_BOOL, "pipeline." stage ".capture.wait"),           \
        LPO_SETTING(owner, capture.count, LPO_S_BOOL, "pipeline." stage ".capture.count")

/* The range that lpo.py and lpo.h open as a window, and its domain. */
#define LPO_WINDOW_RANGE  "window"
#define LPO_WINDOW_DOMAIN "lpo"

/* "3", "3-10" or "3-", whose *last is 0; NULL is "1-". */
int lpo_pipeline_capture_calls(const char *stage, const char *text, int64_t *first, int64_t *last,
                               struct lpo_err *err);
/* USR1, USR2 or HUP as a number; 0: none is chosen. */
int lpo_pipeline_capture_signal(const char *name);
/* Refuses what neither of Nsight's tools can do: a ring, counts of what is left out, calls of no
 * range. */
int lpo_pipeline_capture_check(const char *stage, const struct lpo_capture_words *c,
                               struct lpo_err *err);
/* A server that is recorded while it is under load has its own window: refuses those of stages,
 * also of one that does not run, since whoever sets one expects it to count. */
int lpo_pipeline_capture_check_server(const struct lpo_node *config, struct lpo_err *err);
