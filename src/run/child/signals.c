/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/signals.h"

#include <sys/signalfd.h>

void lpo_run_signals_ending(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int lpo_run_signals_open(int also, sigset_t *before)
{
    sigset_t set;

    lpo_run_signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    if (also)
        sigaddset(&set, also);
    sigprocmask(SIG_BLOCK, &set, before);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
