/* SPDX-License-Identifier: Apache-2.0 */
/* trace/trace.h - the one event model that every reader fills and every analysis reads.
 *
 * Readers append; nothing is ever removed. Events refer to each other by index, and to text by a
 * name id, so that a million kernels cost 64 MB and not a tree of objects. Several files may be
 * read into one trace (ranks of one job, stages of one run). After reading, the trace is const.
 *
 * Times are integer nanoseconds on one clock per trace; only differences mean anything unless
 * `epoch_ns` is known. LPO_NONE as an index says "not recorded", which is not the first row. */
#pragma once

#include "util/base.h"

#define LPO_NONE    UINT32_MAX
#define LPO_NO_TIME INT64_MIN
#define LPO_PATH_DEPTH                                                                             \
    256 /* levels of push/pop ranges; those further in count with the last one                     \
         */

/* A time inside a row: aligned like its neighbours, so that five million ranges take 140 MB and not
 * 160. */
typedef int64_t lpo_event_ns __attribute__((aligned(4)));

enum lpo_gpu_op_kind { LPO_KERNEL, LPO_COPY, LPO_MEMSET };

enum lpo_gpu_op_flags {
    LPO_GPU_OP_UNTIMED = 1, /* only end - start means something (ncu); start is not on the clock */
    LPO_GPU_OP_NO_LENGTH = 2,  /* not even the duration is known: start == end, do not print 0 */
    LPO_GPU_OP_GRAPH = 4,      /* came from a CUDA graph launch */
    LPO_GPU_OP_ESTIMATED = 16, /* its metrics are those of a representative, see overlay.h */
    LPO_GPU_OP_SHARE = 32,   /* its time is a share of its CUDA graph's, which alone was measured */
    LPO_GPU_OP_WHOLE = 8,    /* stands for many kernels: a graph launch traced as one, a replayed
                              * range */
    LPO_GPU_OP_SAMPLED = 64, /* its metrics are from samples of the whole GPU, see sampled.h */
};

/* What a caller can do without. A reader may then leave it out and be faster; it need not. */
enum lpo_skip {
    LPO_SKIP_OPS = 1,
    LPO_SKIP_RANGES = 2,
    LPO_SKIP_LAUNCHES = 4,  /* GPU operations keep launch == LPO_NONE */
    LPO_SKIP_METRICS = 8,   /* GPU operations keep metrics == LPO_NONE; durations are read */
    LPO_SKIP_CALLS = 16,    /* `calls`, `python` and `series` stay empty: no cause of idle time and
                             * nothing over time is asked for */
    LPO_SKIP_ADOPTION = 32, /* no reader's matter: regions do not adopt launches of other threads */
    LPO_SKIP_BACKWARD = 128,  /* nor this: the backward pass is not joined to its forward */
    LPO_SKIP_BUT_PYTHON = 64, /* beside LPO_SKIP_CALLS: `python` is read nevertheless */
};

/* In an initializer: what no source has said of an operation yet. */
#define LPO_GPU_OP_UNKNOWN                                                                         \
    .launch = LPO_NONE, .stack = LPO_NONE, .capture = LPO_NONE, .shape = LPO_NONE,                 \
    .metrics = LPO_NONE

/* One kernel, copy or memset on a GPU. */
struct lpo_gpu_op {
    int64_t start_ns, end_ns; /* end >= start */
    uint64_t bytes;           /* copies and memsets; 0 for kernels */
    uint32_t name;    /* kernels: demangled as the source prints it; copies: "Memcpy HtoD" … */
    uint32_t linker;  /* the mangled name, the same in every source; 0 ("") when not given */
    uint32_t launch;  /* into launches; LPO_NONE: no launch record */
    uint32_t stack;   /* into stacks, when the source itself gives the ranges (ncu) */
    uint32_t capture; /* graphs: into captures; LPO_NONE: not known */
    uint32_t shape;   /* into shapes; LPO_NONE when unknown */
    uint32_t metrics; /* row of the metric matrix; LPO_NONE: none were collected */
    uint32_t stream;  /* as the source numbers it */
    uint16_t process; /* into processes */
    uint16_t device;  /* into devices */
    uint8_t kind;     /* enum lpo_gpu_op_kind */
    uint8_t flags;    /* enum lpo_gpu_op_flags */
};

/* A host call that started GPU operations. A runtime call and the driver call inside it are one
 * launch: the outer one. One launch may have many GPU operations (graphs). */
struct lpo_launch {
    lpo_event_ns start_ns, end_ns;
    uint32_t thread; /* into threads */
    uint32_t path;   /* row of paths, plus one: where the reader summed the ranges; else 0 */
    uint32_t name; /* of the call that it was, which is no row of `calls` then; 0: not known here */
};

/* A call of the CUDA or HIP runtime or driver on the host. A runtime call and the driver call
 * inside it are two. One that launched something may be a launch with a name instead: see
 * lpo_trace_call(). */
struct lpo_api_call {
    lpo_event_ns start_ns, end_ns;
    uint32_t name;
    uint32_t thread; /* into threads */
};

/* A stretch of the run that was recorded, where not all of it was. */
struct lpo_window {
    int64_t start_ns, end_ns;
    uint16_t process;
    uint8_t why; /* enum lpot_window of lpo/trace_format.h */
};

/* The calls of a range that a window was opened for, of one process. */
struct lpo_window_range {
    uint32_t name; /* or pattern, as the user gave it; LPO_NONE: windows of another kind */
    uint16_t process;
    size_t first, count; /* rows of windows, in order of time */
    uint64_t seen, recorded;
    uint64_t unrecorded_launches, chosen_launches; /* of kernels outside windows, and of them in
                                                      calls of the range; 0 where not counted */
    uint64_t chosen_graphs; /* CUDA graphs launched outside windows in such calls: what they ran is
                               not counted */
    bool counted;
    bool ring; /* what was kept in memory until it was asked for; a window begins later than it */
    bool open_end; /* the process was cut short: its last windows may be missing */
};

/* One visit of a Python function, where the profiler recorded stacks. */
struct lpo_python_call {
    lpo_event_ns start_ns, end_ns;
    uint32_t name; /* "file.py(12): function" or "nn.Module: Linear_3", as the source prints it */
    uint32_t thread;
};

/* A moment that the program marked. */
struct lpo_mark {
    lpo_event_ns ns;
    uint32_t name;
    uint32_t thread; /* into threads */
};

/* Numbers that the program gave with its ranges (tokens, batch size), of one name. */
struct lpo_range_number {
    uint32_t name;
    uint16_t domain;
    uint64_t count;
    double sum, least, most;
};

/* Category and colour that the program gave its ranges of one name, when it first gave any. */
struct lpo_range_look {
    uint32_t name;
    uint16_t domain;
    uint32_t category; /* name; LPO_NONE: none */
    uint32_t color;    /* 0xRRGGBB */
    bool has_color;
};

/* A number that the program gave: the payload of a range, or one with a name of its own (lpo.h,
 * lpo.py). Of a trace whose ranges were summed a row holds all of one path. */
struct lpo_number {
    uint32_t name;    /* LPO_NONE: the payload of the range itself */
    uint32_t capture; /* where it was given: into captures; LPO_NONE: with a start/end range */
    uint32_t range;   /* of that: its name and domain */
    uint16_t domain;
    uint64_t count;
    double sum, least, most;
};

/* The moment in which a node of a CUDA graph was captured: long before the graph is launched, and
 * often in another range. */
struct lpo_capture {
    lpo_event_ns ns;
    uint32_t thread; /* into threads; LPO_NONE: the source does not say */
    uint32_t path;   /* as that of a launch */
    uint32_t stack;  /* one more than a row of stacks, where the source itself gives the ranges */
};

/* A launch of a kernel that became a node of a CUDA graph instead of running, as the source itself
 * recorded it: nothing says which node it became but the order of them. */
struct lpo_captured_launch {
    lpo_event_ns start_ns, end_ns;
    uint32_t thread; /* into threads */
    uint32_t graph;  /* a number for each capture of the trace, in order of thread and time */
    uint32_t kernel; /* name; LPO_NONE: the source does not say */
};

enum lpo_range_kind {
    LPO_PUSH_POP,
    LPO_START_END,
    LPO_MODULE, /* of regions alone (region/modules.h): calls of a PyTorch module */
    LPO_PYTHON, /* the same of a Python function */
};

#define LPO_MODULE_PREFIX "nn.Module: " /* the names of those calls begin with it */

enum lpo_range_flags {
    LPO_RANGE_OPEN = 1,   /* never closed: ends with its process */
    LPO_RANGE_SUMMED = 2, /* counted in paths already: kept to be shown on a timeline */
};

/* One visit of an NVTX range or user annotation. */
struct lpo_range {
    lpo_event_ns start_ns, end_ns;
    uint32_t name;
    uint32_t thread; /* that opened it */
    uint16_t domain; /* into domains; 0 is the default domain */
    uint8_t kind;    /* enum lpo_range_kind */
    uint8_t flags;
};

/* Push/pop ranges that the reader summed while it read them, because a trace has more of them than
 * memory: all visits of one place in the nesting of one thread. In the order in which the thread
 * first came there; a parent stands before its children. */
struct lpo_path {
    uint64_t count;   /* visits that were closed */
    int64_t host_ns;  /* time of those inside, children included */
    int64_t child_ns; /* part of it inside children */
    uint32_t parent;  /* row of paths; LPO_NONE at the top */
    uint32_t name;
    uint32_t thread;
    uint32_t path_bytes; /* length of its path as text */
    uint16_t domain;
    uint16_t depth; /* 0 at the top */
};

/* A visit of such a path that was never closed: it ends with its process. */
struct lpo_open_path {
    int64_t start_ns;
    uint32_t path;
    uint32_t around; /* the path it was entered in; LPO_NONE */
};

/* What became of ranges that were summed and are in no path. */
struct lpo_path_losses {
    uint64_t too_deep; /* beyond LPO_PATH_DEPTH */
    uint64_t too_long; /* beyond the budget of path text */
    uint64_t crooked;  /* outlived the range they began in; they are in their path */
    uint64_t too_many; /* start/end ranges open at one time, or calls in them that were not looked
                        * up */
    uint64_t damaged;  /* lasted longer than any program: counted with no time */
};

/* One entry of a stack: what a region path is made of. */
struct lpo_frame {
    uint32_t name;
    uint16_t domain;
    uint8_t kind;
    uint64_t visit; /* a number for each visit of one range, where the source has one; else 0 */
};

/* The ranges open around a GPU operation, as the source itself gives them (ncu), outermost first:
 * frames [first, first + count). Push/pop frames come first, then start/end ones. */
struct lpo_stack {
    uint32_t first, count;
};

/* An operator on the host (aten::mm, a user's function): CPU time that may launch GPU operations.
 */
struct lpo_op {
    lpo_event_ns start_ns, end_ns;
    uint32_t name;
    uint32_t thread;
    uint32_t args;           /* into op_args; LPO_NONE: the source does not say */
    uint32_t sequence;       /* autograd sequence number; LPO_NONE */
    uint32_t forward_thread; /* of a backward operator: autograd's number for the thread that ran
                              * its forward, from 1; 0: it is none */
};

/* A backward operator and its forward, where the source itself joins them (Kineto's arrows). */
struct lpo_op_link {
    uint32_t forward, backward; /* rows of ops */
};

/* What an operator was called with: JSON as the source has it, without its spaces, so that all
 * writers give one text. Name ids; LPO_NONE where a part is not recorded. Equal calls share a row.
 */
struct lpo_op_args {
    uint32_t dims;   /* [[8,128],[]] */
    uint32_t types;  /* ["float","Scalar"] */
    uint32_t values; /* ["","True"]; kept only where they decide how much is computed */
};

/* How a kernel was launched; equal shapes share one row. 0 in a field but grid and block means
 * "none"; LPO_NONE means unknown. */
struct lpo_shape {
    uint32_t grid[3], block[3];
    uint32_t registers, static_smem, dynamic_smem;
};

struct lpo_process {
    int64_t pid;    /* -1 when the source has none */
    int32_t rank;   /* -1 when not a rank of a job */
    uint32_t name;  /* LPO_NONE */
    int64_t end_ns; /* last thing seen; LPO_NO_TIME */
    bool has_calls; /* its calls that can block were recorded: `calls` has them */
    bool cut_short; /* it ended before its trace was closed; not of workers that it forked */
};

struct lpo_thread {
    int64_t tid;
    uint32_t name; /* LPO_NONE */
    uint16_t process;
};

/* What the source says of a GPU; 0 means not given. */
struct lpo_device {
    int32_t id;    /* as the source numbers it */
    int32_t rank;  /* of the process that saw it, or -1: device 0 of two hosts is not one GPU */
    uint32_t name; /* LPO_NONE */
    uint32_t sms, cc_major, cc_minor;
    uint64_t memory_bytes, l2_bytes;
    uint32_t sm_clock_khz, mem_clock_khz, bus_bits;
    char uuid[33]; /* 32 hex digits; "" */
};

/* How values of one metric combine over kernels. */
enum lpo_combine { LPO_SUM, LPO_TIME_WEIGHTED, LPO_MAX, LPO_MIN, LPO_FIRST };

struct lpo_metric {
    uint32_t name;
    uint32_t unit; /* name id; LPO_NONE when the source has none */
    uint8_t combine;
    bool sampled; /* laid over the trace from samples of the whole GPU, not read of its kernels */
    uint8_t meaning; /* of a sampled one: enum lpo_counters_meaning */
};

/* A source that holds only sums (`nsys stats`): all GPU operations of one name. Never both this and
 * rows of gpu_ops for the same thing. */
struct lpo_summary {
    uint32_t name;
    uint64_t count;
    int64_t total_ns, min_ns, max_ns; /* LPO_NO_TIME where the source has none */
    uint8_t kind;                     /* enum lpo_gpu_op_kind */
    bool placed; /* the rest is known: the reader summed operations that were too many to keep */
    uint16_t process, device;
    uint32_t linker;                /* LPO_NONE: several */
    uint32_t stack, capture;        /* as in struct lpo_gpu_op; no stack: no launch record */
    uint64_t bytes, unknown, whole; /* unknown: of them without a duration; whole: flag _WHOLE */
};

/* One quantity of one GPU over time: what an allocator holds, a sampled counter. series.h adds. */
enum lpo_series_kind { LPO_SERIES_MEMORY, LPO_SERIES_COUNTER };

struct lpo_series_point {
    int64_t ns;
    double value; /* from this moment on */
};

struct lpo_series {
    uint8_t kind;    /* enum lpo_series_kind: the chapter it belongs to */
    uint16_t device; /* into devices */
    uint32_t name;   /* "Allocated": for people, and the same for every device */
    uint32_t unit;   /* name id: "B", "%", "B/s"; LPO_NONE: a plain number */
    uint64_t seen;   /* points that the source had */
    LPO_VEC(struct lpo_series_point) points; /* in order of time once read; thinned where many */
};

/* What the allocator of a framework did on one GPU, as one source recorded it. */
enum lpo_allocator_source { LPO_ALLOCATOR_KINETO, LPO_ALLOCATOR_SNAPSHOT };

struct lpo_allocator {
    uint16_t device; /* into devices */
    uint8_t source;  /* enum lpo_allocator_source */
    uint64_t seen;   /* events that the source had; more than are kept: no owners */
    uint64_t older;  /* of them: what was there before the first one, as events of its moment */
    uint64_t out_of_memory; /* times it had nothing left */
    int64_t refused_bytes;  /* largest request of those */
    int64_t gpu_free_bytes; /* that the GPU had left at that request; LPO_NO_TIME: not said */
    int64_t refused_ns;
    uint32_t refused_owner; /* into memory_owners; LPO_NONE */
};

/* Memory that was given out, or given back. In the order in which it happened. */
struct lpo_memory_event {
    lpo_event_ns ns;
    lpo_event_ns bytes; /* below 0: given back. Kineto: blocks; a snapshot: as asked for */
    lpo_event_ns allocated, reserved; /* of the GPU, after it; LPO_NO_TIME: not said */
    uint64_t address __attribute__((aligned(4)));
    uint32_t allocator; /* into allocators */
    uint32_t thread;    /* that asked for it; LPO_NONE: the source has stacks instead */
    uint32_t owner;     /* into memory_owners: who asked, or gave it back; LPO_NONE: not recorded */
};

/* Which part of a program a stack belongs to. */
enum lpo_memory_phase {
    LPO_MEMORY_ELSEWHERE, /* none of the others, or no stack that says */
    LPO_MEMORY_SETUP,     /* a model is made, loaded or moved */
    LPO_MEMORY_FORWARD,
    LPO_MEMORY_BACKWARD,
    LPO_MEMORY_OPTIMIZER,
};

/* Who asked for memory or gave it back, where the source has stacks. Name ids; LPO_NONE where it
 * has none. */
struct lpo_memory_owner {
    uint32_t place;    /* "model.py(32): forward": the innermost frame of the program's own code */
    uint32_t library;  /* the same of an installed package, where that is further in */
    uint32_t op;       /* "aten::linear", "AddmmBackward0" */
    uint32_t function; /* the place without its line */
    uint8_t phase;     /* enum lpo_memory_phase */
};

/* Segments of one kind, as they were when a snapshot was taken. */
struct lpo_memory_pool {
    uint32_t allocator;
    bool large;       /* segments of 20 MiB and more, or of 2 MiB */
    int64_t stream;   /* the handle; 0 is the default stream */
    int64_t graph[2]; /* id of a private pool (CUDA graphs); 0, 0: the common one */
    uint64_t segments;
    int64_t reserved, allocated, requested, active;
    int64_t free_bytes, split_bytes; /* free; of it in segments that are in use */
    int64_t largest_free;            /* one block */
};

/* What a rule of ncu says about one profiled kernel: one row for each of its messages. */
enum lpo_rule_kind {
    LPO_RULE_NOTE,
    LPO_RULE_INFO,
    LPO_RULE_WARNING,
    LPO_RULE_ERROR,
    LPO_RULE_ADVICE
};
enum lpo_rule_speedup { LPO_SPEEDUP_UNKNOWN, LPO_SPEEDUP_LOCAL, LPO_SPEEDUP_GLOBAL };

struct lpo_rule {
    uint32_t op;      /* row of gpu_ops */
    uint32_t section; /* name ids: "SpeedOfLight" */
    uint32_t rule;    /* "SOLBottleneck" */
    uint32_t title;   /* "High Memory Throughput"; LPO_NONE: the source has none */
    uint32_t text;    /* for people, without marks */
    uint8_t kind;     /* enum lpo_rule_kind */
    uint8_t speedup;  /* enum lpo_rule_speedup: of a unit of the hardware, or of the kernel */
    double percent;   /* of its time that ncu expects to be saved; NaN: it does not say */
};

/* What a framework said about one collective kernel (Kineto's args of NCCL and RCCL). */
struct lpo_collective {
    uint32_t op;                 /* row of gpu_ops */
    uint32_t kind;               /* name id, as the source writes it: "allreduce" */
    uint32_t dtype;              /* name id; LPO_NONE */
    uint32_t ranks;              /* of its group; 0: not said */
    int64_t in_count, out_count; /* elements; LPO_NO_TIME: not said */
    uint32_t group;              /* name id of its group of ranks; LPO_NONE: not said */
    uint32_t members;            /* name id of the list of those ranks; LPO_NONE: not said */
    int64_t peer;                /* the rank it sends to or receives from; LPO_NO_TIME: not said */
    int64_t number; /* counted in its group, equal on all ranks; LPO_NO_TIME: not said */
};

/* A wait that the source recorded (Kineto's cuda_sync). */
enum lpo_wait_kind {
    LPO_WAIT_STREAM_FOR_EVENT, /* a stream, for an event that another stream recorded */
    LPO_WAIT_HOST_FOR_EVENT,
    LPO_WAIT_HOST_FOR_STREAM,
};

struct lpo_wait {
    lpo_event_ns ns;        /* when the host asked for it */
    lpo_event_ns record_ns; /* when the host recorded the event; LPO_NO_TIME: not known */
    uint32_t stream;        /* that waits, or that the host waits for */
    uint32_t on_stream;     /* that recorded the event */
    uint16_t process;       /* into processes */
    uint16_t device;        /* into devices */
    uint8_t kind;           /* enum lpo_wait_kind */
};

/* How far a collective was when NCCL's flight recorder was written out. */
enum lpo_flight_state { LPO_FLIGHT_SCHEDULED, LPO_FLIGHT_STARTED, LPO_FLIGHT_COMPLETED };

/* A group of ranks, as the flight recorder of one rank knows it. Numbers of collectives are -1
 * where there is none. */
struct lpo_flight_group {
    uint32_t name, desc, members; /* name ids: "0", "default_pg", "[0, 1]"; LPO_NONE: not said */
    int32_t rank;                 /* that wrote it; -1: not known */
    uint16_t process;             /* into processes */
    int64_t enqueued, started, completed; /* the last collective of that state */
};

/* A collective or message of one rank. In the order in which the rank called them. */
struct lpo_flight_call {
    int64_t number;                           /* counted in its group, equal on all ranks */
    int64_t created_ns, started_ns, ended_ns; /* LPO_NO_TIME: not said */
    uint32_t group;                           /* into flight_groups */
    uint32_t name;                            /* "all_reduce" */
    uint32_t sizes, types;                    /* of its inputs: "[[3,4]]"; LPO_NONE */
    uint32_t place;                           /* "train.py(88): step"; LPO_NONE */
    uint8_t state;                            /* enum lpo_flight_state */
    bool p2p;                                 /* a message: counted apart */
};

/* Where a node of a CUDA graph was captured, as PyTorch wrote it beside the trace. */
struct lpo_graph_node {
    uint64_t id;
    int32_t rank;   /* that the name of the file says; -1: none */
    uint32_t stack; /* into stacks */
};

/* Something the reader wants the user to know: lost records, a cut file, an unclosed range. */
struct lpo_trace_note {
    uint32_t text;
    uint64_t count; /* how many records it is about; 0: the whole file */
};

/* What lpo cannot read of a file, but the tool that wrote it can. */
enum lpo_trace_need {
    LPO_NEEDS_NOTHING,
    LPO_NEEDS_NCU_FORMAT, /* a report of a format version that lpo does not know */
    LPO_NEEDS_NCU_RANGES, /* a report of range results alone */
    LPO_NEEDS_NSYS,       /* a report of a version that lpo does not know, or a damaged one */
};

struct lpo_trace {
    struct lpo_map *names;
    LPO_VEC(struct lpo_gpu_op) gpu_ops;
    LPO_VEC(struct lpo_launch) launches;
    LPO_VEC(struct lpo_api_call) calls;
    LPO_VEC(struct lpo_python_call) python;
    uint64_t python_unread;   /* such calls that the source has and nobody asked for */
    uint64_t counted_kernels; /* of which the profiler itself counted something, one by one
                               * (Kineto's cuda_profiler_range): the program waits for that */
    LPO_VEC(struct lpo_capture) captures;
    LPO_VEC(struct lpo_captured_launch) captured_launches; /* of each file: by graph and time */
    uint32_t captured_graphs;
    LPO_VEC(struct lpo_mark) marks;
    LPO_VEC(struct lpo_range_number) range_numbers;
    LPO_VEC(struct lpo_number) numbers;
    LPO_VEC(struct lpo_range_look) looks; /* by lpo_trace_look() */
    LPO_VEC(struct lpo_window) windows;
    LPO_VEC(struct lpo_window_range) window_ranges; /* one of each process that has windows */
    LPO_VEC(struct lpo_range) ranges;
    LPO_VEC(struct lpo_path) paths;
    LPO_VEC(struct lpo_open_path) open_paths;
    struct lpo_path_losses path_losses;
    uint64_t path_bytes; /* text of all paths */
    LPO_VEC(struct lpo_op) ops;
    LPO_VEC(struct lpo_op_link) op_links; /* of each file: by `backward` */
    LPO_VEC(struct lpo_op_args) op_args;
    LPO_VEC(struct lpo_stack) stacks;
    LPO_VEC(struct lpo_frame) frames;
    LPO_VEC(struct lpo_shape) shapes;
    LPO_VEC(struct lpo_process) processes;
    LPO_VEC(struct lpo_thread) threads;
    LPO_VEC(struct lpo_device) devices;
    LPO_VEC(uint32_t) domains; /* name ids; row 0 is the default domain, named "" */
    LPO_VEC(struct lpo_metric) metrics;
    double *metric_rows; /* row-major, metric_cap wide; NaN is unknown */
    size_t nmetric_rows, metric_rows_cap, metric_cap;
    LPO_VEC(struct lpo_summary) summaries;
    LPO_VEC(struct lpo_series) series;
    LPO_VEC(struct lpo_allocator) allocators;
    LPO_VEC(struct lpo_memory_event) memory_events;
    LPO_VEC(struct lpo_memory_owner) memory_owners;
    LPO_VEC(struct lpo_memory_pool) memory_pools;
    LPO_VEC(struct lpo_rule) rules;             /* in order of `op` within a file */
    LPO_VEC(struct lpo_collective) collectives; /* in order of `op` */
    LPO_VEC(struct lpo_wait) waits;
    LPO_VEC(struct lpo_flight_group) flight_groups;
    LPO_VEC(struct lpo_flight_call) flight_calls;
    LPO_VEC(struct lpo_graph_node) graph_nodes; /* of each file: by id */
    LPO_VEC(struct lpo_trace_note) notes;
    size_t damage_note;   /* one more than the first note about damage; 0: every file is whole */
    int64_t epoch_ns;     /* unix time of clock 0, or LPO_NO_TIME */
    uint64_t dropped;     /* records the source says it lost */
    int64_t total_ns;     /* times.c: of all events so far, to be summed safely */
    uint64_t gpu_bytes;   /* the same: GPU records */
    uint64_t range_bytes; /* of the files so far: events that may be ranges (native) */
    uint32_t sources;     /* files read so far */
    uint8_t need;         /* enum lpo_trace_need, of the file that was read last */
    uint32_t ranks;       /* of the whole job, also those whose traces are not here; 0: not said */
    uint32_t least_ranks; /* the least that a file says: less than `ranks` means several jobs */
    uint32_t file_rank;   /* set by the caller before a file is read: one more than its rank where
                           * the file itself says none; 0: none */
    struct lpo_trace_duplicates *duplicates; /* merge.h, once there are two files */
    uint32_t skip;                           /* enum lpo_skip, set by the caller before reading */
    bool has_ranges;                         /* the source could have recorded ranges */
    struct lpo_host *host;                   /* host.h: the timeline of each thread */
    void *indexes;                           /* private to trace.c: deduplication */
};

struct lpo_trace *lpo_trace_create(void);
void lpo_trace_destroy(struct lpo_trace *t); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_trace);

/* Names: text to id and back. Ids are dense from 0; equal text gives an equal id. */
uint32_t lpo_trace_name(struct lpo_trace *t, const char *text);
uint32_t lpo_trace_namen(struct lpo_trace *t, const char *text, size_t len);
/* LPO_NONE when there is no such name. */
uint32_t lpo_trace_name_find(const struct lpo_trace *t, const char *text, size_t len);
const char *lpo_trace_text(const struct lpo_trace *t, uint32_t name); /* LPO_NONE gives "" */
size_t lpo_trace_text_len(const struct lpo_trace *t, uint32_t name);

/* How ranges of this name look; the row is made when it is new, and what it has stays. */
void lpo_trace_look_set(struct lpo_trace *t, uint32_t name, uint16_t domain,
                        struct lpo_range_look look);
/* NULL: the program gave neither category nor colour. */
const struct lpo_range_look *lpo_trace_look(const struct lpo_trace *t, uint32_t name,
                                            uint16_t domain);
size_t lpo_trace_name_count(const struct lpo_trace *t);

/* Does it have GPU operations, kept as rows or summed with their places? */
bool lpo_trace_has_gpu_ops(const struct lpo_trace *t);
/* Visits of ranges of both kinds, kept as rows or summed. */
uint64_t lpo_trace_range_count(const struct lpo_trace *t);

/* Find or add; the index stays good. */
uint16_t lpo_trace_process(struct lpo_trace *t, int64_t pid, int32_t rank);
/* A file says how many ranks its job has. */
void lpo_trace_say_ranks(struct lpo_trace *t, uint32_t ranks);
uint32_t lpo_trace_thread(struct lpo_trace *t, uint16_t process, int64_t tid);
uint16_t lpo_trace_device(struct lpo_trace *t, int32_t id, int32_t rank);
uint16_t lpo_trace_domain(struct lpo_trace *t, const char *name, size_t len);
uint32_t lpo_trace_shape(struct lpo_trace *t, const struct lpo_shape *shape);
uint32_t lpo_trace_op_args(struct lpo_trace *t, const struct lpo_op_args *args);
uint32_t lpo_trace_op_dims(const struct lpo_trace *t, const struct lpo_op *op); /* LPO_NONE */
uint32_t lpo_trace_stack(struct lpo_trace *t, const struct lpo_frame *frames, size_t count);
/* A metric column by name; the combine rule follows from the name (metric_rules.c). */
uint32_t lpo_trace_metric(struct lpo_trace *t, const char *name, size_t len, const char *unit);
/* About that many columns will come: a hint before the first row, so that the matrix is not half
 * as wide again as it must be. */
void lpo_trace_metric_expect(struct lpo_trace *t, size_t columns);
/* A fresh row of the metric matrix, all unknown. */
uint32_t lpo_trace_metric_row(struct lpo_trace *t);
void lpo_trace_metric_set(struct lpo_trace *t, uint32_t row, uint32_t metric, double value);
double lpo_trace_metric_get(const struct lpo_trace *t, uint32_t row, uint32_t metric); /* NaN */
uint32_t lpo_trace_metric_find(const struct lpo_trace *t, const char *name); /* or LPO_NONE */

void lpo_trace_note(struct lpo_trace *t, uint64_t count, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A note about a file that is cut or damaged: the first of them is said on stderr, too. */
void lpo_trace_note_damage(struct lpo_trace *t, uint64_t count, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls are numbered: first the launches, of which those without a name (0) are none, then the rows
 * of `calls`. */
static inline size_t lpo_trace_call_count(const struct lpo_trace *t)
{
    return t->launches.len + t->calls.len;
}

static inline struct lpo_api_call lpo_trace_call(const struct lpo_trace *t, size_t call)
{
    const struct lpo_launch *l;

    if (call >= t->launches.len)
        return t->calls.at[call - t->launches.len];
    l = &t->launches.at[call];
    return (struct lpo_api_call){ l->start_ns, l->end_ns, l->name, l->thread };
}

static inline int64_t lpo_trace_gpu_op_ns(const struct lpo_gpu_op *w)
{
    return w->end_ns - w->start_ns;
}
