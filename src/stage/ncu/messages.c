#include "stage/ncu/messages.h"

#include <string.h>

/* Permission and version problems first: they explain whatever else is in the log. */
static const struct lpo_tool_message rows[] = {
    { "ERR_NVGPUCTRPERM", "this user may not read the GPU's performance counters",
      "ask for NVreg_RestrictProfilingToAdminUsers=0, CAP_SYS_ADMIN or root; the native stage "
      "needs no such permission",
      false, true },
    { "Profiling failed because a driver resource was unavailable",
      "another program holds the performance counters (DCGM, another profiler)",
      "stop it, or: dcgmi profile --pause", false, true },
    { "Cuda driver is not compatible with Nsight Compute", "the driver is too old for this ncu",
      "use the ncu of the driver's CUDA version", false, true },
    { "Unsupported GPU", "this ncu does not know this GPU", "use a newer ncu", false, true },
    { "No metrics to collect found in sections", "this ncu has no metrics for this GPU",
      "use a newer ncu, or other sections (sections.txt lists them)", false, true },
    { "LibraryNotLoaded", "the profiler could not be loaded into the program",
      "sandboxed kernels such as gVisor have no counters; run on the host", false, true },
    { "Failed to open/create lock file", "another user's ncu left its lock in the temporary folder",
      "remove it, or set TMPDIR to a folder of your own", false, true },
    { "Could not deploy stock files", "the home folder is not writable",
      "set NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1 in workload.env", false, false },
    { "No space left on device", "the disk is full",
      "free space, or set artifacts.root to another disk", false, true },
    { "Unsupported API during capture",
      "range replay met a CUDA call that it cannot record (PyTorch makes such calls)",
      "use ncu_cli.replay_mode=kernel, or app-range where kernels must overlap", false, true },
    { "Could not find section", "a section of this name does not exist in this ncu",
      "sections.txt lists those that do", false, true },
    { "Unknown section", "a section of this name does not exist in this ncu",
      "sections.txt lists those that do", false, true },
    { "Failed to find section", "a section of this name does not exist in this ncu",
      "sections.txt lists those that do", false, true },
    { "No kernels were profiled", "no kernel passed the filters",
      "check ncu_cli.nvtx.include and kernel_name; native/regions.json lists the regions that "
      "exist",
      true, false },
    { "Failed to connect. The target process may have exited",
      "the program ended before the profiler could reach it, or its container forbids it",
      "run the direct_inference stage alone first", false, true },
    { "Failed to prepare kernel for profiling", "a kernel could not be prepared for replay",
      "often memory: fewer metrics, a smaller batch, or replay_mode=application", false, false },
    { "An error occurred while trying to profile", "replaying a kernel failed",
      "exclude that kernel, or change ncu_cli.replay_mode", false, false },
    { "Cannot lock GPU clock frequencies", "the clocks could not be fixed",
      "read times with that in mind; ncu_cli.clock_control=none does not try", false, false },
    { "The application returned an error code", "the workload failed under the profiler",
      "see its stderr.log; run the direct_inference stage alone first", false, false },
};

const struct lpo_tool_message *lpo_tool_message_find(const char *log)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(log, rows[i].text))
            return &rows[i];
    return NULL;
}
