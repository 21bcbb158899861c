/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/nsys/nsys.h"
#include "run/child/capture.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

enum { MAX_LINKS = 16 };

static const int64_t ask_limit_ns = 30000000000;

static const struct {
    const char *now, *before;
} names[] = {
    { "cuda_gpu_kern_sum", "gpukernsum" },
    { "cuda_api_sum", "cudaapisum" },
    { "nvtx_sum", "nvtxsum" },
    { "nvtx_kern_sum", "nvtxkernsum" },
    { "nvtx_gpu_proj_trace", "nvtxgpuproj" },
    { "cuda_gpu_trace", "gputrace" },
    { "nvtx_pushpop_sum", "nvtxppsum" },
    { "nvtx_pushpop_trace", "nvtxpptrace" },
    { "cuda_gpu_mem_time_sum", "gpumemtimesum" },
    { "osrt_sum", "osrtsum" },
};

const char *lpo_pipeline_nsys_old_name(const char *report)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].now, report) == 0)
            return names[i].before;
    return report;
}

bool lpo_pipeline_nsys_has_old_names(struct lpo_arena *a, const char *nsys)
{
    const char *const argv[] = { nsys, "--version", NULL };
    LPO_STR out = { 0 };
    const char *at;

    (void)a;
    if (lpo_run_capture(argv, ask_limit_ns, &out, NULL) < 0)
        return false;
    at = strstr(lpo_str_text(&out), "version ");
    return at && atoi(at + 8) > 0 && atoi(at + 8) < 2023;
}

/* <root>/target-linux-x64/nsys and <root>/host-…/QdstrmImporter */
static const char *importer_beside(struct lpo_arena *a, const char *nsys)
{
    const char *root = lpo_path_dir(a, lpo_path_dir(a, nsys)), *found = NULL;
    glob_t g = { 0 };

    if (glob(lpo_path_join(a, root, "*/QdstrmImporter"), 0, NULL, &g) == 0)
        found = lpo_arena_strdup(a, g.gl_pathv[0]);
    globfree(&g);
    return found;
}

/* Debian keeps the two parts in two trees: /usr/bin/nsys is a link into the host's, which holds a
 * link into the target's. So every stop on the way is looked at. */
const char *lpo_pipeline_nsys_importer(struct lpo_arena *a, const char *nsys)
{
    const char *at = lpo_path_absolute(a, nsys);

    for (int i = 0; i < MAX_LINKS; i++) {
        const char *found = importer_beside(a, at);
        char to[4096];
        ssize_t n = found ? -1 : readlink(at, to, sizeof to - 1);

        if (n < 0)
            return found;
        to[n] = 0;
        at = lpo_path_join(a, lpo_path_dir(a, at), to);
    }
    return NULL;
}

int lpo_pipeline_nsys_explain_importer(struct lpo_arena *a, const char *nsys, struct lpo_err *err)
{
    const char *importer = lpo_pipeline_nsys_importer(a, nsys);
    const char *const argv[] = { "ldd", importer ? importer : "", NULL };
    const char *missing;
    LPO_STR out = { 0 };

    if (!importer)
        return lpo_fail(
            err, LPO_E_MISSING,
            "nsys left only a .qdstrm and its QdstrmImporter was not found beside '%s'; "
            "install the host part of Nsight Systems and import the file there",
            nsys);
    if (lpo_run_capture(argv, ask_limit_ns, &out, NULL) == 0 &&
        (missing = strstr(lpo_str_text(&out), "=> not found"))) {
        const char *line = missing;

        while (line > out.at && line[-1] != '\n')
            line--;
        line += strspn(line, " \t");
        return lpo_fail(
            err, LPO_E_MISSING,
            "nsys left only a .qdstrm: its importer needs the library %.*s, which is not "
            "here; install it or put it on LD_LIBRARY_PATH, then lpo run --resume",
            (int)strcspn(line, " "), line);
    }
    return lpo_fail(err, LPO_E_CHILD,
                    "nsys left only a .qdstrm and '%s' could not import it; see import.err.log",
                    importer);
}
