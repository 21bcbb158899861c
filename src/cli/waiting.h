/* SPDX-License-Identifier: Apache-2.0 */
/* cli/waiting.h - a line on stderr about work that takes longer than people like to look at
 * nothing: what is read, how far it is, for how long already. Only on a terminal. */
#pragma once

#include "util/base.h"

struct lpo_work_state;

/* From now on, for the commands of this process; nothing where stderr is no terminal. */
void lpo_cli_waiting_offer(void);
/* "reading rank3.json (4 of 64), 1.2 of 9.8 GiB, 12 s" */
void lpo_cli_waiting_line(const struct lpo_work_state *state, int64_t elapsed_ns,
                          struct lpo_str *out);
