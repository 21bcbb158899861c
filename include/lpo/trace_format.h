/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/trace_format.h - the trace file of liblpo-collect.so (.lpot), byte by byte.
 *
 * One file per process, append-only. A writer adds whole blocks, each framed and checksummed, so
 * a process killed at any moment leaves a file that reads up to its last whole block. All numbers
 * are little-endian. docs/trace-format.md says the same in prose, with an example.
 *
 *     file     = preamble block*
 *     preamble = "LPOTRACE" u16 major u16 minor u32 zero                        (16 bytes)
 *     block    = header payload                                                 (40 bytes +
 * payload)
 *
 *     header:   0 u32 magic "LPOB"
 *               4 u16 kind (enum lpot_block)
 *               6 u16 flags, 0
 *               8 u32 payload bytes, at most LPOT_PAYLOAD_MAX
 *              12 u32 CRC-32C of header bytes 0..11, then of bytes 16..end of payload
 *              16 u32 stream: thread number for THREAD and CALLS blocks, else 0
 *              20 u32 sequence: 0, 1, 2 … within (kind, stream)
 *              24 u64 clock ticks when the block was written
 *              32 u64 steady time in ns at the same moment (see Clocks)
 *
 * In payloads `v` is an unsigned LEB128 varint of at most 10 bytes, `z` a zigzag varint, `text` a
 * `v` length and that many bytes. A reader takes a file of its own major version, skips block
 * kinds and definition tags that it does not know, and refuses a higher major version.
 *
 * Clocks. THREAD blocks stamp events with ticks of the counter named by fact "clock" ("tsc",
 * "cntvct", or "monotonic", whose tick is 1 ns; up to minor version 1 "realtime", CLOCK_REALTIME in
 * ns). Every header is a pair (ticks, steady time); the first block is written before the first
 * event and each block after its last one, so every event lies between two pairs: interpolate
 * linearly. Steady time is CLOCK_REALTIME at the start of the recording plus what CLOCK_MONOTONIC
 * has counted since (up to minor version 1 plain CLOCK_REALTIME). GPU times are CLOCK_REALTIME, as
 * CUPTI gives them; note LPOT_NOTE_CLOCK_STEP says when the two came apart. */
#pragma once

#include <stdint.h>

#define LPOT_MAGIC          "LPOTRACE"
#define LPOT_MAJOR          1
#define LPOT_MINOR          3
#define LPOT_PREAMBLE_BYTES 16
#define LPOT_BLOCK_MAGIC    0x424f504cu /* "LPOB" */
#define LPOT_HEADER_BYTES   40
#define LPOT_PAYLOAD_MAX    (16u << 20)
#define LPOT_SUFFIX         ".lpot"

/* The tail of a process, beside its file while it lives: FILE.tail. It is mapped by the process, so
 * what stands there outlives _exit(), a crash and SIGKILL: the events and definitions that are not
 * in a block of the file yet. A process that ends in the ordinary way removes it; of any other,
 * lpo appends what is left as blocks of the file and removes it (`lpo run`), or a reader takes it
 * as the blocks that follow the last of the file.
 *
 *     tail = struct lpot_tail_head, zeros up to LPOT_TAIL_HEAD_BYTES, definitions (`defs_room`
 *            bytes), slots of `slot_bytes`: struct lpot_tail_slot, then the events of one thread
 *
 * A slot's events from `flushed` to `committed` are the next THREAD block of its stream, with the
 * slot's sequence number. Where the file has a block of that number, the process ended between
 * writing it and saying so: the events begin behind that block's payload. */
#define LPOT_TAIL_SUFFIX     ".tail"
#define LPOT_TAIL_MAGIC      "LPOTTAIL"
#define LPOT_TAIL_HEAD_BYTES 4096
#define LPOT_TAIL_SLOTS_MAX  64
#define LPOT_TAIL_DEFS_LOST  0xffffffffu /* more definitions than there was room for */

struct lpot_tail_head {
    char magic[8];
    uint16_t major, minor;
    uint32_t pid;
    uint64_t defs_room, slot_bytes;
    uint64_t start_ticks, start_steady_ns; /* a pair of the clocks, of this process or of the one
                                              that it was forked from */
    uint64_t defs;       /* sequence number of the next DEFS block << 32 | its bytes so far */
    uint64_t totals[32]; /* by enum lpot_counter */
};

struct lpot_tail_slot {
    uint32_t committed;   /* bytes of events */
    uint32_t stream;      /* thread number; 0: not in use */
    uint64_t at_in_file;  /* sequence number of the next block << 32 | flushed */
    uint64_t ticks;       /* of the last event */
    uint32_t fresh;       /* 1: that block is a THREAD_FRESH one */
    uint32_t reserved[9]; /* 64 bytes in all */
};

enum lpot_block {
    LPOT_FACTS = 1,  /* (text key, text value)*: "pid", "clock", "device.0.name" … */
    LPOT_DEFS = 2,   /* definition* */
    LPOT_THREAD = 3, /* event*: continues the stream of its thread */
    LPOT_GPU = 4,    /* record*: continues the one stream of GPU operations */
    LPOT_NOTE = 5,   /* v code (enum lpot_note), v count, text: for people */
    LPOT_FOOTER = 6, /* (v counter (enum lpot_counter), v value)*: totals so far; the last counts */
    LPOT_RESERVED = 7, /* zeros: space for a note and a footer that must still fit on a full disk */
    LPOT_WINDOWS = 9,  /* v calls of the chosen range so far, v of them recorded, window*: since
                          minor version 3 */
    LPOT_THREAD_FRESH = 10, /* as THREAD, but it stands for itself: differences are from 0, and the
                               ranges that are open are pushed first, as LPOT_EV_INHERITED. The
                               same stream as THREAD: one sequence. Since minor version 3 */
    LPOT_GPU_FRESH = 11,    /* as GPU: differences are from 0, places and shapes count from 0 */
    LPOT_CALLS = 8, /* call*: CUDA calls of its thread that can block; since minor version 3 */
};

/* definition = u8 tag, v bytes, then that many bytes. Ids are given by order, so a definition is
 * never repeated. String 0 is "no name", domain 0 the default domain. A block only uses ids
 * that blocks before it define. */
enum lpot_def {
    LPOT_DEF_STRING = 1,      /* the bytes themselves; ids 1, 2, 3 … */
    LPOT_DEF_DOMAIN = 2,      /* v string; ids 1, 2, 3 … */
    LPOT_DEF_THREAD = 3,      /* v thread number, v OS thread id, v string (the OS's name) */
    LPOT_DEF_THREAD_NAME = 4, /* v OS thread id, v string: as the program named it */
    LPOT_DEF_CATEGORY = 5,    /* v domain, v category, v string */
    LPOT_DEF_GRAPH = 6,       /* v graph id, u8 enum lpot_graph_state, node*: what a CUDA graph that
                                 is recorded by whole launches runs, in the order of the driver */
};

/* A long list is several definitions of the same graph. One without its last is not complete. */
enum lpot_graph_state { LPOT_GRAPH_LAST = 0, LPOT_GRAPH_MORE = 1 };

/* node = u8 type, z (node id - last of this definition), then by type. Node ids are those of NODE
 * and CLONE events; 0 is none. */
enum lpot_node {
    LPOT_NODE_KERNEL = 1, /* v string, v grid x y z, v block x y z, v dynamic shared */
    LPOT_NODE_COPY = 2,   /* v bytes */
    LPOT_NODE_SET = 3,    /* v bytes */
};

/* call = v ticks of its start since that of the call before it in this block (since 0 for the
 * first), v ticks it took, v string, v count: 1, or how often a query was made in a loop that
 * took from start to end. */

/* A file with WINDOWS blocks holds what happened in windows, and not what happened between them.
 * window = v ticks of its start since the end of the one before it in this block (since 0 for the
 * first), v ticks it took, v why (enum lpot_window). */
enum lpot_window {
    LPOT_WINDOW_START = 1,   /* recording began with the program */
    LPOT_WINDOW_RANGE = 2,   /* a call of the chosen range */
    LPOT_WINDOW_TIME = 3,    /* so long after the start */
    LPOT_WINDOW_SIGNAL = 4,  /* a signal */
    LPOT_WINDOW_CONTROL = 5, /* lpo ctl */
    LPOT_WINDOW_SLOW = 6,    /* the seconds before a call of the chosen range took too long */
    LPOT_WINDOW_CRASH = 7,   /* the seconds before the program crashed */
};

/* event = u8 tag (kind in the low four bits, flags above), v ticks since the last event of this
 * thread (since 0 for the first), then by kind. What stands in [] is there when its flag is.
 *
 *     name = v string                 without LPOT_EV_INLINE
 *          | text                     with it
 *     attributes = v mask, then in this order those whose bit is set:
 *                  1 v category | 2 u32 colour ARGB | 4 u8 payload type and u64 payload bits
 *
 * Correlation ids and node ids are differences from the last one in this thread (from 0 at first).
 * The ranges around a LAUNCH or NODE are those open at its place in the stream. */
enum lpot_event {
    LPOT_EV_PUSH = 1,   /* [v domain] name [attributes] */
    LPOT_EV_POP = 2,    /* [v domain] */
    LPOT_EV_START = 3,  /* [v domain] v range id, name [attributes] */
    LPOT_EV_END = 4,    /* v range id */
    LPOT_EV_MARK = 5,   /* [v domain] name [attributes] */
    LPOT_EV_LAUNCH = 6, /* z correlation: a call that launches a GPU operation begins */
    LPOT_EV_RETURN = 7, /* the last LAUNCH of this thread has returned */
    LPOT_EV_NODE = 8,   /* z node: a CUDA graph node was created (captured) */
    LPOT_EV_CLONE = 9,  /* z node, z original: a node of a clone or executable graph */
};
#define LPOT_EV_KIND 0x0f
enum lpot_event_flags {
    LPOT_EV_DOMAIN = 0x10,     /* range events: not the default domain. LAUNCH: of a graph */
    LPOT_EV_ATTRIBUTES = 0x20, /* category, colour or payload follow */
    LPOT_EV_INLINE = 0x40,     /* the name stands here: the table of strings was full */
    LPOT_EV_INHERITED = 0x80,  /* PUSH: was open when fork made this process, or when its window
                                  began */
};

/* record = u8 tag (kind in the low four bits, flags above), then by kind.
 *
 *     span = z (start - last start), v duration    ns; nothing with LPOT_GPU_UNTIMED
 *     corr = z (correlation - last correlation)
 *     graph = v graph id, z (node - last node)     only with LPOT_GPU_GRAPH
 *
 * "last" is the previous record of this stream that has the field, from 0 at first. */
enum lpot_gpu {
    LPOT_GPU_PLACE = 1,  /* v device, v context, v stream; ids 0, 1, 2 … */
    LPOT_GPU_SHAPE = 2,  /* v string, v grid x y z, v block x y z, v registers, v static shared,
                            v dynamic shared, v local bytes per thread, v place; ids 0, 1, 2 … */
    LPOT_GPU_KERNEL = 3, /* v shape, span, corr, [graph] */
    LPOT_GPU_COPY = 4,   /* v place, u8 copy kind, u8 source memory, u8 target memory, v bytes,
                            span, corr, [graph] */
    LPOT_GPU_PEER = 5,   /* as COPY, with v source device, v target device before span */
    LPOT_GPU_SET = 6,    /* v place, u8 memory, v value, v bytes, span, corr, [graph] */
    LPOT_GPU_WHOLE = 7,  /* v place, v graph id, span, corr: one launch of a whole graph */
};
#define LPOT_GPU_KIND 0x0f
enum lpot_gpu_flags {
    LPOT_GPU_GRAPH = 0x10,   /* launched by a CUDA graph */
    LPOT_GPU_UNTIMED = 0x20, /* CUPTI gave no time */
};

/* Why the trace is less than it could be. The text says it for people; the code for programs. */
enum lpot_note {
    LPOT_NOTE_OTHER = 0,
    LPOT_NOTE_NO_CUPTI = 1,          /* no libcupti could be loaded */
    LPOT_NOTE_CUPTI_VERSION = 2,     /* a CUPTI of a major version not known here */
    LPOT_NOTE_SUBSCRIBED = 3,        /* another tool holds CUPTI: ranges only */
    LPOT_NOTE_CUPTI_REFUSED = 4,     /* subscribing failed for another reason */
    LPOT_NOTE_CUPTI_PARTIAL = 5,     /* one kind of record or callback could not be enabled */
    LPOT_NOTE_CUPTI_FATAL = 6,       /* CUPTI stopped while the program ran */
    LPOT_NOTE_SIZE_LIMIT = 7,        /* the file reached its limit; events after this are lost */
    LPOT_NOTE_GPU_OFF = 8,           /* GPU tracing was switched off by the user */
    LPOT_NOTE_NVTX_PARTIAL = 9,      /* an NVTX instance offered no callback table */
    LPOT_NOTE_CLOCK_STEP = 10,       /* the wall clock was set while the program ran */
    LPOT_NOTE_WRITE_FAILED = 11,     /* a block could not be written; events after this are lost */
    LPOT_NOTE_CHILD_UNRECORDED = 12, /* a forked child could not make a file of its own */
    LPOT_NOTE_UNCOUNTED = 13,        /* launches outside windows were to be counted and were not */
};

enum lpot_counter {
    LPOT_COUNT_EVENTS_LOST = 1,     /* thread events that could not be written */
    LPOT_COUNT_NAMES_CUT = 2,       /* names longer than 4096 bytes, cut */
    LPOT_COUNT_NAMES_INLINE = 3,    /* names written in place, the table being full */
    LPOT_COUNT_REENTERED = 4,       /* events of a signal handler that interrupted the collector */
    LPOT_COUNT_CUPTI_DROPPED = 5,   /* records CUPTI says it dropped */
    LPOT_COUNT_BUFFERS_REFUSED = 6, /* buffers that could not be given to CUPTI */
    LPOT_COUNT_RECORDS_UNKNOWN = 7, /* records of a kind not asked for */
    LPOT_COUNT_KERNELS = 8,
    LPOT_COUNT_COPIES = 9,
    LPOT_COUNT_SETS = 10,
    LPOT_COUNT_UNTIMED = 11,         /* kernels, copies and memsets that CUPTI gave no time for */
    LPOT_COUNT_GPU_LOST = 12,        /* GPU records that could not be written */
    LPOT_COUNT_EXIT = 13,            /* 1: the program ended in the ordinary way */
    LPOT_COUNT_GRAPHS_UNLISTED = 14, /* CUDA graphs whose nodes could not be listed */
    LPOT_COUNT_GRAPHS_CHANGED = 15,  /* changes of CUDA graphs after they were listed */
    LPOT_COUNT_JUMPED = 16,  /* calls that a signal handler interrupted and left by siglongjmp() */
    LPOT_COUNT_QUERIES = 17, /* cudaEventQuery, cudaStreamQuery */
    LPOT_COUNT_UNRECORDED_LAUNCHES = 18, /* kernels launched outside windows, where counted */
    LPOT_COUNT_CHOSEN_LAUNCHES = 19,     /* of those, in calls of the chosen range */
    LPOT_COUNT_CHOSEN_GRAPHS = 20,       /* CUDA graphs launched outside windows in such calls */
    LPOT_COUNT_FINISHED = 21, /* 1: what the process had not written was taken from its tail */
};
