/* SPDX-License-Identifier: Apache-2.0 */
/* nsys exports of any bytes: SQLite files with wrong pages, schemas and values.
 *
 * SQLite opens by name and follows links, so a file in memory cannot be used. */
#include "check_trace.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "trace/reader.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/tmp/lpo-fuzz-nsys-%d", (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    insist(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    if (lpo_nsys_reader.read(path, t, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        check_trace(t);
    unlink(path);
    return 0;
}
