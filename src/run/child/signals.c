/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/signals.h"

#include <sys/signalfd.h>

void lpo_run_signals_start(void)
{
    struct sigaction act;
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGHUP && sig != SIGINT && sig != SIGQUIT && sig != SIGTERM &&
            sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN)
            signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

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
