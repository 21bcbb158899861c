/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/knobs.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOB(name, field, otherwise, least, most)                                                  \
    {                                                                                              \
        "LPO_COLLECT_" name, offsetof(struct lpoc_knobs, field), otherwise, least, most            \
    }

/* A value out of bounds is brought to the nearest bound, a value that is not a
 * number is ignored: a guest does not refuse to start because of a typing error. The facts in the
 * file say what was used. */
static const struct {
    const char *env;
    size_t at;
    int64_t otherwise, least, most;
} rows[] = {
    KNOB("NVTX", nvtx, 1, 0, 1),
    KNOB("GPU", gpu, 1, 0, 1),
    KNOB("TSC", tsc, 1, 0, 1),
    KNOB("BUFFER_KB", buffer_kb, 64, 16, 8192),
    KNOB("FLUSH_MS", flush_ms, 100, 1, 3600000),
    KNOB("MAX_MB", max_mb, 4096, 0, 1 << 20),
    KNOB("CAPTURE_FIRST", capture_first, 1, 1, INT64_MAX),
    KNOB("CAPTURE_LAST", capture_last, 0, 0, INT64_MAX),
    KNOB("CAPTURE_EVERY", capture_every, 1, 1, INT64_MAX),
    KNOB("CAPTURE_IN_A_ROW", capture_in_a_row, 1, 1, INT64_MAX),
    KNOB("CAPTURE_AFTER_MS", capture_after_ms, 0, 0, INT64_MAX / 1000000),
    KNOB("CAPTURE_FOR_MS", capture_for_ms, 0, 0, INT64_MAX / 1000000),
    KNOB("CAPTURE_SIGNAL", capture_signal, 0, 0, 64),
    KNOB("CAPTURE_CONTROL", capture_control, 0, 0, 1),
    KNOB("CAPTURE_WAIT", capture_wait, 0, 0, 1),
    KNOB("CAPTURE_COUNT", capture_count, 0, 0, 1),
    KNOB("CAPTURE_ATTACH", capture_attach, LPOC_ATTACH_START, LPOC_ATTACH_START,
         LPOC_ATTACH_INSIDE),
    KNOB("CAPTURE_LEAVES", capture_leaves, 256, 0, INT64_MAX),
    KNOB("CAPTURE_LINGER_MS", capture_linger_ms, 20, 0, 60000),
    KNOB("RING_MS", ring_ms, 0, 0, 3600000),
    KNOB("RING_MB", ring_mb, 256, 1, 65536),
    KNOB("SLOW_MS", slow_ms, 0, 0, 86400000),
    KNOB("KERNELS", kernels, 1, 0, 1),
    KNOB("COPIES", copies, 1, 0, 1),
    KNOB("LAUNCHES", launches, 1, 0, 1),
    KNOB("RETURNS", returns, 0, 0, 1),
    KNOB("CALLS", calls, 2, 0, 2),
    KNOB("GRAPH_NODES", graph_nodes, 0, 0, 1),
    KNOB("CUPTI_BUFFER_KB", cupti_buffer_kb, 16384, 64, 65536),
    KNOB("CUPTI_BUFFERS", cupti_buffers, 2, 0, 64),
    KNOB("CUPTI_BUFFERS_MAX", cupti_buffers_max, 64, 1, 1024),
    KNOB("CUPTI_ZEROED", cupti_zeroed, 1, 0, 1),
    KNOB("CUPTI_PER_THREAD", cupti_per_thread, -1, -1, 1),
    KNOB("CUPTI_FLUSH_MS", cupti_flush_ms, 1000, 0, 3600000),
    KNOB("DEVICE_BUFFER_KB", device_buffer_kb, 16384, 0, 1 << 20),
    KNOB("DEVICE_BUFFERS", device_buffers, 8, 0, 4096),
    KNOB("HOST_PINNED", host_pinned, 0, 0, 1),
    KNOB("COMMAND", command, 1, 0, 1),
};

static int64_t number_of(const char *text, int64_t otherwise, int64_t least, int64_t most)
{
    char *end = NULL;
    long long value;

    if (!text || !*text)
        return otherwise;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end)
        return otherwise;
    return value < least ? least : value > most ? most : value;
}

/* The program may change its folder later; a forked child opens its file then. */
static void absolute(char *out, const char *path)
{
    size_t len = 0;

    out[0] = 0;
    if (!path || !*path)
        return;
    if (path[0] != '/') {
        if (!getcwd(out, LPOC_PATH_MAX - 1))
            return;
        len = strlen(out);
        out[len++] = '/';
    }
    if (len + strlen(path) + 1 > LPOC_PATH_MAX) {
        out[0] = 0;
        return;
    }
    strcpy(out + len, path);
}

static void text_of(char *out, size_t room, const char *value)
{
    out[0] = 0;
    if (value && strlen(value) < room)
        strcpy(out, value);
}

static int64_t *field(struct lpoc_knobs *k, size_t at)
{
    return (int64_t *)(void *)((char *)k + at);
}

void lpoc_knobs_read(struct lpoc_knobs *k)
{
    absolute(k->dir, getenv("LPO_COLLECT_DIR"));
    text_of(k->cupti, sizeof k->cupti, getenv("LPO_COLLECT_CUPTI"));
    text_of(k->sampler, sizeof k->sampler, getenv("LPO_COLLECT_SAMPLER"));
    text_of(k->ranks, sizeof k->ranks, getenv("LPO_COLLECT_RANKS"));
    text_of(k->capture_range, sizeof k->capture_range, getenv("LPO_COLLECT_CAPTURE_RANGE"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *field(k, rows[i].at) =
            number_of(getenv(rows[i].env), rows[i].otherwise, rows[i].least, rows[i].most);
}

const char *lpoc_knob_at(const struct lpoc_knobs *k, unsigned i, int64_t *value)
{
    if (i >= sizeof rows / sizeof *rows)
        return NULL;
    *value = *field((struct lpoc_knobs *)(uintptr_t)k, rows[i].at);
    return rows[i].env;
}
