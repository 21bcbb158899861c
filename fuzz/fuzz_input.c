/* SPDX-License-Identifier: Apache-2.0 */
/* Plain, gzip and zstd streams of any bytes: the text comes in windows without a gap, as much of it
 * as the format allows, and damage has a name. */
#include "memory_file.h"

#include "util/err.h"
#include "util/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 64 << 20 }; /* a small input may claim any size; readers have their own budget */
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w = { 0 };
    struct lpo_err err = { 0 };
    unsigned char head[64];
    size_t head_len = 0, kept = 0;
    uint64_t seen = 0;
    char path[64];
    int fd = memory_file(data, size, path, sizeof path), rc = 0;

    if (lpo_input_head(path, head, sizeof head, &head_len, &err) == 0)
        insist(head_len <= sizeof head);
    if (lpo_input_open(path, &in, &err) == 0) {
        while (seen < MOST && (rc = lpo_input_next(in, kept, &w, &err)) > 0) {
            insist(w.offset + kept == seen && w.len >= kept && w.at[w.len] == '\0');
            seen = w.offset + w.len;
            kept = w.len % 7;
        }
        insist(rc >= 0 || lpo_err_cause(&err)[0] != '\0');
        insist(rc || !lpo_input_damage(in) || lpo_input_damage(in)[0] != '\0');
    }
    close(fd);
    return 0;
}
