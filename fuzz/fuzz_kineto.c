/* Kineto traces of any bytes: what comes out must be a trace whose rows point at rows. */
#include "memory_file.h"

#include <string.h>

#include "trace/readers.h"
#include "trace/trace.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static void check(const struct lpo_trace *t)
{
    size_t names = lpo_trace_name_count(t);

    for (size_t i = 0; i < t->works.len; i++) {
        const struct lpo_work *w = &t->works.at[i];

        insist(w->name < names && w->end_ns >= w->start_ns && w->device < t->devices.len);
        insist(w->process < t->processes.len);
        insist(w->launch == LPO_NONE || w->launch < t->launches.len);
        insist(w->shape == LPO_NONE || w->shape < t->shapes.len);
    }
    for (size_t i = 0; i < t->launches.len; i++)
        insist(t->launches.at[i].thread < t->threads.len &&
               t->launches.at[i].end_ns >= t->launches.at[i].start_ns);
    for (size_t i = 0; i < t->ranges.len; i++)
        insist(t->ranges.at[i].thread < t->threads.len && t->ranges.at[i].name < names &&
               t->ranges.at[i].end_ns >= t->ranges.at[i].start_ns);
    for (size_t i = 0; i < t->ops.len; i++)
        insist(t->ops.at[i].thread < t->threads.len && t->ops.at[i].name < names &&
               t->ops.at[i].end_ns >= t->ops.at[i].start_ns);
    for (size_t i = 0; i < t->threads.len; i++)
        insist(t->threads.at[i].process < t->processes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[64];
    int fd = memory_file(data, size, path, sizeof path);

    t->sources = 1;
    if (lpo_reader_kineto.read(path, t, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        check(t);
    close(fd);
    return 0;
}
