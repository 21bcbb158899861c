/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/tool_messages.h"

#include <string.h>

/* Permission and version problems first: they explain whatever else is in the log. */
static const struct lpo_tool_message rows[] = {
    { "ERR_NVGPUCTRPERM", "this user may not read the GPU's performance counters",
      "ask for NVreg_RestrictProfilingToAdminUsers=0, CAP_SYS_ADMIN or root; the native stage "
      "needs no such permission",
      LPO_TOOL_FATAL | LPO_TOOL_MISSING },
    { "Profiling failed because a driver resource was unavailable",
      "another program holds the performance counters (DCGM, another profiler)",
      "stop it, or: dcgmi profile --pause", LPO_TOOL_FATAL },
    { "Cuda driver is not compatible with Nsight Compute", "the driver is too old for this ncu",
      "use the ncu of the driver's CUDA version", LPO_TOOL_FATAL },
    { "Unsupported GPU", "this ncu does not support this GPU", "use a newer ncu", LPO_TOOL_FATAL },
    { "No metrics to collect found in sections", "this ncu has no metrics for this GPU",
      "use a newer ncu, or other sections (sections.txt lists them)", LPO_TOOL_FATAL },
    { "LibraryNotLoaded", "the profiler could not be loaded into the program",
      "sandboxed kernels such as gVisor have no counters; run on the host", LPO_TOOL_FATAL },
    { "Failed to open/create lock file", "another user's ncu left its lock in the temporary folder",
      "remove it, or set TMPDIR to a folder of your own", LPO_TOOL_FATAL },
    { "No space left on device", "the disk is full",
      "free space, or set artifacts.root to another disk", LPO_TOOL_FATAL },
    { "Unsupported API during capture",
      "range replay met a CUDA call that it cannot record (PyTorch makes such calls)",
      "use ncu_cli.replay_mode=kernel, or app-range where kernels must overlap", LPO_TOOL_FATAL },
    { "did not match any section", "a section of this name does not exist in this ncu",
      "ncu --list-sections lists those that do", LPO_TOOL_FATAL },
    { "Invalid configuration for nvtx-include", "ncu does not take this NVTX expression",
      "write the region as a pattern (prefill, decode*, a/b): docs/ncu.md", LPO_TOOL_FATAL },
    { "unrecognised option '--range-filter'", "this ncu cannot choose calls of a range",
      "use ncu 2023.2 or later, or set pipeline.ncu.capture.calls=null", LPO_TOOL_FATAL },
    { "No kernels were profiled", "no kernel passed the filters",
      "check ncu_cli.nvtx.include and kernel_name; native/regions.json lists the regions that "
      "exist",
      LPO_TOOL_FILTERED },
    { "Failed to connect. The target process may have exited",
      "the program ended before the profiler could reach it, or its container forbids it",
      "run the direct_inference stage alone first", LPO_TOOL_FATAL },
    { "Failed to prepare kernel for profiling", "a kernel could not be prepared for replay",
      "often memory: fewer metrics, a smaller batch, or replay_mode=application", 0 },
    { "An error occurred while trying to profile", "replaying a kernel failed",
      "exclude that kernel, or change ncu_cli.replay_mode", 0 },
    { "Failed to profile \"", "one kernel could not be profiled; the others were",
      "the log names it: exclude it, or change ncu_cli.replay_mode", 0 },
    { "The application returned an error code", "the workload failed under the profiler",
      "see its stderr.log; run the direct_inference stage alone first", 0 },
    { "Connection to the Agent lost", "nsys lost its own helper before the program ran",
      "run the stage again: lpo run --resume", LPO_TOOL_FATAL },
    { "Local Endpoint is not available", "nsys could not start its own helper",
      "another nsys may hold it: wait for that one, then lpo run --resume", LPO_TOOL_FATAL },
    /* advice last: what explains a failure comes first */
    { "Could not deploy stock files", "the home folder is not writable",
      "set NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1 in workload.env", LPO_TOOL_ADVICE },
    { "Cannot lock GPU clock frequencies", "the clocks could not be fixed",
      "read times with that in mind; ncu_cli.clock_control=none does not try", LPO_TOOL_ADVICE },
};

const struct lpo_tool_message *lpo_pipeline_tool_message_find(const char *log)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(log, rows[i].text))
            return &rows[i];
    return NULL;
}
