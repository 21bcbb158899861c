/* SPDX-License-Identifier: Apache-2.0 */
/* The details page prints labels; the sections of ncu say which metrics they are. */
#include "trace/ncu/private.h"

#include <string.h>

#define SOL       "GPU Speed Of Light Throughput"
#define MEMORY    "Memory Workload Analysis"
#define OCCUPANCY "Occupancy"
#define SCHEDULER "Scheduler Statistics"
#define LAUNCH    "Launch Statistics"
#define LOAD      "GPU and Memory Workload Distribution"

/* From the section definitions inside reports of ncu 2025.3 and the section files of its guide. */
static const struct label_row {
    const char *section, *label, *metric;
} labels[] = {
    { SOL, "Duration", "gpu__time_duration.sum" },
    { SOL, "Elapsed Cycles", "gpc__cycles_elapsed.max" },
    { SOL, "SM Active Cycles", "sm__cycles_active.avg" },
    { SOL, "SM Frequency", "gpc__cycles_elapsed.avg.per_second" },
    { SOL, "DRAM Frequency", "dram__cycles_elapsed.avg.per_second" },
    { SOL, "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed" },
    { SOL, "Memory Throughput",
      "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed" },
    { SOL, "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed" },
    { SOL, "L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active" },
    { SOL, "L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed" },
    { MEMORY, "Memory Throughput", "dram__bytes.sum.per_second" },
    { MEMORY, "Mem Busy",
      "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed" },
    { MEMORY, "Max Bandwidth",
      "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed" },
    { MEMORY, "L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct" },
    { MEMORY, "L2 Hit Rate", "lts__t_sector_hit_rate.pct" },
    { MEMORY, "Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed" },
    { OCCUPANCY, "Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct" },
    { OCCUPANCY, "Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle" },
    { OCCUPANCY, "Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active" },
    { OCCUPANCY, "Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active" },
    { OCCUPANCY, "Block Limit SM", "launch__occupancy_limit_blocks" },
    { OCCUPANCY, "Block Limit Registers", "launch__occupancy_limit_registers" },
    { OCCUPANCY, "Block Limit Shared Mem", "launch__occupancy_limit_shared_mem" },
    { OCCUPANCY, "Block Limit Warps", "launch__occupancy_limit_warps" },
    { OCCUPANCY, "Block Limit Barriers", "launch__occupancy_limit_barriers" },
    { OCCUPANCY, "Max Active Clusters", "launch__cluster_max_active" },
    { OCCUPANCY, "Max Cluster Size", "launch__cluster_max_potential_size" },
    { OCCUPANCY, "Cluster Occupancy", "launch__occupancy_cluster_pct" },
    { OCCUPANCY, "Overall GPU Occupancy", "launch__occupancy_cluster_gpu_pct" },
    { SCHEDULER, "Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active" },
    { SCHEDULER, "Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active" },
    { SCHEDULER, "Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active" },
    { SCHEDULER, "One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active" },
    { SCHEDULER, "No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active" },
    { LAUNCH, "Registers Per Thread", "launch__registers_per_thread" },
    { LAUNCH, "Static Shared Memory Per Block", "launch__shared_mem_per_block_static" },
    { LAUNCH, "Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic" },
    { LAUNCH, "Threads", "launch__thread_count" },
    { LAUNCH, "Waves Per SM", "launch__waves_per_multiprocessor" },
    { LAUNCH, "Block Size", "launch__block_size" },
    { LAUNCH, "Grid Size", "launch__grid_size" },
    { LOAD, "Average SM Active Cycles", "sm__cycles_active.avg" },
    { LOAD, "Average SMSP Active Cycles", "smsp__cycles_active.avg" },
    { LOAD, "Average L1 Active Cycles", "l1tex__cycles_active.avg" },
    { LOAD, "Average L2 Active Cycles", "lts__cycles_active.avg" },
    { LOAD, "Average DRAM Active Cycles", "dram__cycles_active.avg" },
    { LOAD, "Total SM Elapsed Cycles", "sm__cycles_elapsed.sum" },
    { LOAD, "Total SMSP Elapsed Cycles", "smsp__cycles_elapsed.sum" },
    { LOAD, "Total L1 Elapsed Cycles", "l1tex__cycles_elapsed.sum" },
    { LOAD, "Total L2 Elapsed Cycles", "lts__cycles_elapsed.sum" },
    { LOAD, "Total DRAM Elapsed Cycles", "dram__cycles_elapsed.sum" },
};

const char *lpo_ncu_label_metric(const char *section, const char *label)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (strcmp(labels[i].section, section) == 0 && strcmp(labels[i].label, label) == 0)
            return labels[i].metric;
    }
    return NULL;
}
