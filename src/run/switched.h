/* SPDX-License-Identifier: Apache-2.0 */
/* run/switched.h - a program under a profiler that is switched from outside (`lpo __switched`).
 *
 *     nsys launch … lpo __switched --dir DIR [--wait] [--signal N] -- program args…
 *
 * Some profilers (nsys) have commands of their own that begin and end a collection. This program
 * stands between such a profiler and the one under study and calls those commands when it is asked:
 * by `lpo ctl` on a socket PID.ctl in DIR, as the collector is (lpo/control.h), or by a signal to
 * this process. Without --wait the first window opens before the program starts.
 *
 * The commands are in the environment, one word in a line (run/server/server.h); `@window@` in a
 * word stands for the number of the window.
 *
 * Returns what the program returned; 128 and the signal that ended it; 2 for wrong words. */
#pragma once

#define LPO_SWITCHED_WINDOW "@window@"

int lpo_run_switched_main(int argc, const char *const *argv);
