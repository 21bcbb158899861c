/* SPDX-License-Identifier: Apache-2.0 */
/* tests/count/count_client.h - a program that reaches the driver in one of the ways there are.
 *
 * `count_client WAY SCENARIO`; built twice: count_linked is linked with the fake driver. It prints
 * how often it launched, by its own count. */
#pragma once

#include <stdint.h>

#include "../collect/fake_cupti.h"
#include "fake_cuda.h"
#include "lpo/count.h"

/* Ways: "linked"; "dlsym"; "proc" and "proc2", by cuGetProcAddress of CUDA 11 and 12, which the
 * second one also asks for itself; "default" and "main", by dlsym(RTLD_DEFAULT) and by the handle
 * of the program. False: there is no such way in this program. */
bool reach_driver(const char *way);

/* Launches by this entry; false: this way does not lead to it. Exits where the driver saw other
 * arguments than these, or the answer is another one. */
bool launch_by(int entry);
uint64_t calls_in_driver(int entry);

/* Of the fake CUPTI and the fake driver, wherever they are. */
void *must_find(const char *name);

extern void *driver; /* handle of libcuda.so.1, for ways that opened it */

/* One scenario of count_client_lookups.c; 0: all is as it should be. */
int check_lookups(void);
