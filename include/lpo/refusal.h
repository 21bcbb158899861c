/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/refusal.h - a process that cannot make its trace says so to the lpo that started it.
 *
 * A program that runs as another user (su, setpriv, a set-uid program) may not write into the
 * folder of traces. No file there can tell, so the collector sends one datagram to a socket without
 * a place in the file system, where no permission is asked. Its name follows from the folder's
 * path, so nothing has to be inherited. lpo holds the socket while the program runs; where nobody
 * does, the datagram is lost and costs one failed call. The kernel adds who sent it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LPO_REFUSAL_MAGIC 0x524f504cu /* "LPOR" */

struct lpo_refusal {
    uint32_t magic;
    int32_t why; /* errno of the failed call */
};

/* The address for the folder `dir`, which is absolute; returns its length. */
static inline socklen_t lpo_refusal_address(struct sockaddr_un *out, const char *dir)
{
    static const char prefix[] = "lpo-refusal-", digits[] = "0123456789abcdef";
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    char *p = out->sun_path;

    for (const char *c = dir; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    out->sun_family = AF_UNIX;
    *p++ = '\0'; /* abstract */
    memcpy(p, prefix, sizeof prefix - 1);
    p += sizeof prefix - 1;
    for (int shift = 60; shift >= 0; shift -= 4)
        *p++ = digits[hash >> shift & 15];
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)(p - out->sun_path));
}
