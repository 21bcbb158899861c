/* SPDX-License-Identifier: Apache-2.0 */
/* util/stale.h - a name on a network disk, looked up once more.
 *
 * NFS answers ESTALE where another machine replaced or moved the file behind a name or a
 * descriptor. The same name then leads to the new one, so a call by name is made again: a few
 * times, with a pause that grows, at most a third of a second in all. */
#pragma once

#include <errno.h>
#include <time.h>

#include "util/base.h"

/* After a call that failed with `error`: true, after a pause, when it is to be made again. */
static inline bool lpo_stale_retry(int error, unsigned *tries)
{
    enum { TRIES = 6, FIRST_NS = 5000000 };
    struct timespec t = { 0, (long)FIRST_NS << *tries };

    if (error != ESTALE || *tries >= TRIES)
        return false;
    nanosleep(&t, NULL);
    ++*tries;
    return true;
}
