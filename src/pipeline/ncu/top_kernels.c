/* Which kernels took most GPU time in the stages before: those that a capture is limited to. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/ncu/ncu.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/top_yaml.h"

struct hot {
    const char *name;
    int64_t ns;
};

static int by_time(const void *x, const void *y)
{
    const struct hot *p = x, *q = y;

    return p->ns < q->ns ? 1 : p->ns > q->ns ? -1 : strcmp(p->name, q->name);
}

/* "void ns::gemm<float>(int)" is the function gemm to ncu's --kernel-name; as a regular expression,
 * without its anchors. */
static const char *function_regex(struct lpo_arena *a, const char *full)
{
    LPO_STR regex = { 0 };

    lpo_writer_kernel_regex(&regex, full);
    return regex.len > 2 ? lpo_arena_strndup(a, regex.at + 1, regex.len - 2) : "";
}

static int read_traces(struct lpo_arena *a, const char *run_dir, const char *pattern,
                       struct lpo_trace *t)
{
    glob_t g = { 0 };
    int read = 0;

    if (glob(lpo_path_join(a, run_dir, pattern), 0, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc; i++) {
            struct lpo_err err = { 0 };

            read += lpo_trace_read(g.gl_pathv[i], t, &err) == 0;
        }
    }
    globfree(&g);
    return read;
}

static const char *regex_of(struct lpo_arena *a, const struct lpo_trace *t, size_t n)
{
    size_t names = lpo_trace_name_count(t), found = 0, used = 0;
    struct hot *hot = lpo_arena_array(a, names + 1, sizeof *hot);
    LPO_STR text = { 0 };

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].kind == LPO_KERNEL)
            hot[t->gpu_ops.at[i].name].ns += lpo_trace_gpu_op_ns(&t->gpu_ops.at[i]);
    for (size_t i = 0; i < names; i++) {
        if (hot[i].ns > 0)
            hot[found++] = (struct hot){ lpo_trace_text(t, (uint32_t)i), hot[i].ns };
    }
    qsort(hot, found, sizeof *hot, by_time);
    for (size_t i = 0; i < found && used < n; i++) {
        const char *name = function_regex(a, hot[i].name);
        char *bounded = lpo_arena_printf(a, "|%s|", name);

        if (!*name || strstr(lpo_str_text(&text), bounded))
            continue;
        lpo_str_add(&text, used++ ? bounded + 1 : bounded);
    }
    if (!used)
        return NULL;
    text.at[text.len - 1] = '\0'; /* |a|b|c| */
    return lpo_arena_printf(a, "regex:^(%s)$", text.at + 1);
}

const char *lpo_pipeline_ncu_top_kernels(struct lpo_arena *a, const char *run_dir, size_t n)
{
    static const char *const sources[] = { "native/*.lpot", "nsys/*.sqlite" };

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        LPO_AUTO(lpo_trace) t = lpo_trace_create();
        const char *regex = read_traces(a, run_dir, sources[i], t) ? regex_of(a, t, n) : NULL;

        if (regex)
            return regex;
    }
    return NULL;
}
