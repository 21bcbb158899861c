/* SPDX-License-Identifier: Apache-2.0 */
/* collect/knobs.h - the settings of the collector, from the environment. docs/collector.md lists
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LPOC_PATH_MAX = 4096 };

/* When CUPTI is in the process. */
enum lpoc_attach {
    LPOC_ATTACH_START,  /* from the first call of CUDA */
    LPOC_ATTACH_WINDOW, /* from the first window */
    LPOC_ATTACH_INSIDE, /* in windows alone */
};

struct lpoc_knobs {
    char dir[LPOC_PATH_MAX];     /* LPO_COLLECT_DIR, absolute; "" keeps the collector off */
    char cupti[LPOC_PATH_MAX];   /* LPO_COLLECT_CUPTI: this libcupti and no other; "" searches */
    char sampler[LPOC_PATH_MAX]; /* LPO_COLLECT_SAMPLER: liblpo-sample.so, loaded; "" is none */
    char ranks[4096];            /* LPO_COLLECT_RANKS: which ranks record; launchers.h */
    char capture_range[256];     /* LPO_COLLECT_CAPTURE_RANGE: record its calls; "" is any time */
    int64_t nvtx, gpu, tsc;      /* 0 or 1 */
    int64_t buffer_kb;           /* per-thread buffer */
    int64_t flush_ms;            /* a buffer older than this is written at the next event */
    int64_t max_mb;              /* limit of one file; 0: none */
    /* Windows; window.h */
    int64_t capture_first, capture_last, capture_every; /* which calls; last 0: no end */
    int64_t capture_in_a_row;                           /* and so many one after the other */
    int64_t capture_after_ms, capture_for_ms;           /* for 0: to the end */
    int64_t capture_signal;                             /* switches recording; 0: none */
    int64_t capture_control;                            /* 1: listen to lpo ctl */
    int64_t capture_wait;                               /* 1: not before a signal or lpo ctl */
    int64_t ring_ms, ring_mb, slow_ms;                  /* ring.h; 0: none */
    int64_t capture_count;     /* 1: kernels launched outside windows are counted */
    int64_t capture_attach;    /* enum lpoc_attach */
    int64_t capture_leaves;    /* and so often at most */
    int64_t capture_linger_ms; /* so long after a window CUPTI goes, where it goes */
    /* GPU */
    int64_t kernels, copies; /* record them? */
    int64_t launches;        /* 0: no launch callbacks (kernels lose their ranges) */
    int64_t returns;         /* also record when launch calls return */
    int64_t calls;           /* calls that can block: 0 none, 1 those of the driver, 2 outermost */
    int64_t graph_nodes;     /* 1: a record of every kernel of a graph; 0: one per launch */
    int64_t cupti_buffer_kb; /* one activity buffer */
    int64_t cupti_buffers;   /* made beforehand */
    int64_t cupti_buffers_max;
    int64_t cupti_zeroed;     /* give CUPTI zeroed buffers, and tell it so */
    int64_t cupti_per_thread; /* -1: CUPTI's own choice */
    int64_t cupti_flush_ms;   /* CUPTI delivers at least this often; 0: only full buffers */
    int64_t device_buffer_kb; /* 0: CUPTI's own choice, as for the two below */
    int64_t device_buffers;
    int64_t host_pinned;
    int64_t command; /* 0: the command without its arguments, which may hold secrets */
};

void lpoc_knobs_read(struct lpoc_knobs *k);

/* Walks the table: name and value of knob `i`; NULL past the end. */
const char *lpoc_knob_at(const struct lpoc_knobs *k, unsigned i, int64_t *value);
