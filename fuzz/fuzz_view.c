/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request to `lpo view`, of any bytes: what it gives lies in them, and a part of it
 * is never taken for all. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool truth)
{
    if (!truth)
        abort();
}

static bool is_in(const char *at, size_t n, const char *bytes, size_t len)
{
    return at >= bytes && n <= len && at + n <= bytes + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = { "lane", "thread", "from", "to", "" };
    char *bytes = malloc(size ? size : 1); /* of exactly that size, for ASan */
    struct lpo_view_request r, part;
    int status;

    memcpy(bytes, data, size);
    status = lpo_cli_view_request_read(bytes, size, &r);
    insist(status != 0 || size <= LPO_VIEW_MOST_HEAD + 4);
    for (size_t n = 0; n + 4 < size && n < 64; n++)
        if (!memmem(bytes, n, "\r\n\r\n", 4))
            insist(lpo_cli_view_request_read(bytes, n, &part) == 0);
    if (status == 200) {
        insist(is_in(r.path, r.path_len, bytes, size) && !memchr(r.path, ' ', r.path_len));
        insist(is_in(r.query, r.query_len, bytes, size));
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            int64_t n = 0;

            (void)lpo_cli_view_request_number(&r, keys[i], &n);
        }
    }
    free(bytes);
    return 0;
}
