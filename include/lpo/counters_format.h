/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/counters_format.h - the file of sampled hardware counters (.lpoc), byte by byte.
 *
 * One file per GPU, append-only, written by lpo's sampler while a program runs. The frame is that
 * of a trace (lpo/trace_format.h): a preamble of 16 bytes, here with the magic "LPOCOUNT", then
 * blocks with a header of 40 bytes and a CRC-32C. Stream and ticks of the header are 0; its time is
 * CLOCK_REALTIME. `v`, `z` and `text` are those of a trace. A sampler killed at any moment leaves a
 * file that reads up to its last whole block. docs/counters-format.md says the same in prose.
 *
 *     FACTS    (text key, text value)*                          the first block
 *     METRICS  v count, metric*                                 once, before the first sample
 *     SAMPLES  v count, sample*                                 each block stands for itself
 *     LOSS     v from, v (to - from), v samples, v why, text    no samples of this time
 *     NOTE     v code, text                                     for people
 *     END      (v total, v value)*                              the last counts
 *     INTERVAL v from, v interval, v round                      samples from then on; in ns
 *
 *     metric = text name, v meaning, v kind, v scale, text unit
 *     sample = z (start - end of the sample before it in this block, 0 for the first),
 *              v (end - start), then one v for each metric, in their order
 *
 * The v of a metric is 0 where the value is unknown, else 1 + round(value * scale). So sums of
 * bytes (scale 1) are exact, and a percentage (scale 10,000) is exact to 0.0001 of a point.
 *
 * Times are Unix nanoseconds (CLOCK_REALTIME), the clock of the GPU operations of a trace that was
 * recorded at the same time. Samples come in the order of their start; one may begin a little
 * before the one before it ends. The record that CUPTI makes for the time before sampling began
 * is left out by the writer. */
#pragma once

#define LPO_COUNTERS_MAGIC       "LPOCOUNT"
#define LPO_COUNTERS_MAJOR       1
#define LPO_COUNTERS_MINOR       1
#define LPO_COUNTERS_SUFFIX      ".lpoc"
#define LPO_COUNTERS_METRICS_MAX 64
#define LPO_COUNTERS_SCALE_MAX   1000000000u

enum lpo_counters_block {
    LPO_COUNTERS_FACTS = 1,
    LPO_COUNTERS_METRICS = 2,
    LPO_COUNTERS_SAMPLES = 3,
    LPO_COUNTERS_LOSS = 4,
    LPO_COUNTERS_NOTE = 5,
    LPO_COUNTERS_END = 6,
    LPO_COUNTERS_INTERVAL = 7, /* since minor version 1 */
};

/* What a metric stands for, whatever its name is on this chip. */
enum lpo_counters_meaning {
    LPO_COUNTER_OTHER = 0,
    LPO_COUNTER_DRAM_READ = 1,     /* bytes */
    LPO_COUNTER_DRAM_WRITE = 2,    /* bytes */
    LPO_COUNTER_DRAM_BYTES = 3,    /* bytes, both ways; where a chip does not tell them apart */
    LPO_COUNTER_L2_BYTES = 4,      /* bytes that L2 served or took */
    LPO_COUNTER_PCIE_READ = 5,     /* bytes into the GPU */
    LPO_COUNTER_PCIE_WRITE = 6,    /* bytes out of the GPU */
    LPO_COUNTER_NVLINK_RX = 7,     /* bytes into the GPU */
    LPO_COUNTER_NVLINK_TX = 8,     /* bytes out of the GPU */
    LPO_COUNTER_TENSOR_ACTIVE = 9, /* share of the time that tensor pipes worked, mean of all SMs */
    LPO_COUNTER_SM_ACTIVE = 10,    /* share of the time that an SM had a warp, mean of all SMs */
    LPO_COUNTER_GPU_ACTIVE = 11, /* share of the time that the compute or graphics engine worked */
    LPO_COUNTER_SM_CYCLES = 12,  /* cycles that an SM had a warp, mean of all SMs */
    LPO_COUNTER_WARPS_ACTIVE = 13, /* share of the warp slots in use (achieved occupancy) */
    LPO_COUNTER_INSTRUCTIONS = 14, /* warp instructions executed, sum of all SMs */
    LPO_COUNTER_SM_CLOCK = 15,     /* cycles of the SM clock that passed */
    LPO_COUNTER_MEANINGS,          /* their number; a reader takes a larger one as OTHER */
};

/* How samples add up. */
enum lpo_counters_kind {
    LPO_COUNTER_AMOUNT = 1, /* of the sample's time: sums of samples are sums */
    LPO_COUNTER_SHARE = 2,  /* percent of the sample's time or peak: a mean weighted by time */
};

/* Why there are no samples of a stretch of time. */
enum lpo_counters_why {
    LPO_COUNTERS_LOST_OTHER = 0,
    LPO_COUNTERS_LOST_OVERFLOW = 1, /* the hardware's buffer was full */
    LPO_COUNTERS_LOST_DECODE = 2,   /* CUPTI could not decode them */
    LPO_COUNTERS_LOST_GAP = 3,      /* the next sample begins later than the last one ended */
    LPO_COUNTERS_LOST_LIMIT = 4,    /* the file reached its size limit: nothing follows */
    LPO_COUNTERS_LOST_WRITE = 5,    /* a block could not be written: nothing follows */
    LPO_COUNTERS_LOST_CHANGE = 6,   /* sampling started again with a longer interval */
};

enum lpo_counters_total {
    LPO_COUNTERS_TOTAL_SAMPLES = 1,
    LPO_COUNTERS_TOTAL_LOST = 2,     /* samples that LOSS blocks count */
    LPO_COUNTERS_TOTAL_LOST_NS = 3,  /* the time of all LOSS blocks */
    LPO_COUNTERS_TOTAL_CPU_NS = 4,   /* what sampling cost: user and system time */
    LPO_COUNTERS_TOTAL_ROUNDS = 5,   /* times it decoded */
    LPO_COUNTERS_TOTAL_ENDED_BY = 6, /* enum lpo_counters_ended */
    LPO_COUNTERS_TOTAL_WALL_NS = 7,  /* from the start of sampling to its end */
    LPO_COUNTERS_TOTALS,
};

enum lpo_counters_ended {
    LPO_COUNTERS_ENDED_STOPPED = 1, /* it was told to stop */
    LPO_COUNTERS_ENDED_LIMIT = 2,   /* the file reached its size limit */
    LPO_COUNTERS_ENDED_ORPHAN = 3,  /* the process that started it is gone */
    LPO_COUNTERS_ENDED_ERROR = 4,   /* CUPTI or the disk failed; a NOTE says how */
};

/* Keys of FACTS. Numbers are decimal text. More may be added.
 *   sampler            version of lpo
 *   pid, host          of the sampler
 *   clock              "realtime"
 *   interval_ns        what was asked for, until the first INTERVAL; a sample's own times say what
 *                      it was
 *   trigger            "time", or "sysclk" where the chip counts clocks (interval_clocks)
 *   chip               "GH100"
 *   beside             the stage whose program ran at the same time: "native"
 *   device.index       of the GPU, as CUDA numbers those that the program may see
 *   device.name
 *   device.uuid        32 hex digits, as in a trace
 *   cupti.version, cuda.driver */
