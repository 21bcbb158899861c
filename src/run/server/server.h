/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/server.h - a server and its load as one program (`lpo __server`).
 *
 *     start ── ready? ── warm-up ── load, recorded ── end
 *
 * Every stage runs this one program in place of the workload, with its profiler before it or inside
 * the server, so that all of them see the same. What happened is in server.json of the output
 * folder (docs/servers.md); the server's output is passed on.
 *
 * Returns 0 when the load was done, whatever the server said when it was ended; 1 when it was not;
 * 2 for wrong words; 130 when a signal asked for the end. */
#pragma once

/* A profiler that is switched from outside: the environment has a command for each end of the
 * window under load, one word in a line. */
#define LPO_SERVER_WINDOW_BEGIN "LPO_SERVER_WINDOW_BEGIN"
#define LPO_SERVER_WINDOW_END   "LPO_SERVER_WINDOW_END"

int lpo_run_server_main(int argc, const char *const *argv);
