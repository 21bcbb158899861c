/* SPDX-License-Identifier: Apache-2.0 */
/* util/each.h - the same for each argument of a macro.
 *
 *     LPO_EACH(CELL, a, b)        CELL(a), CELL(b)
 *
 * One to 16 arguments. A chain, and not the shorter trick of rescanning: with that a compiler
 * answers a misspelt argument with hundreds of lines of where it came from. */
#pragma once

#define LPO_EACH(m, ...) LPO_EACH_16(m, __VA_ARGS__)

#define LPO_EACH_1(m, a)       m(a)
#define LPO_EACH_2(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_1(m, __VA_ARGS__))
#define LPO_EACH_3(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_2(m, __VA_ARGS__))
#define LPO_EACH_4(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_3(m, __VA_ARGS__))
#define LPO_EACH_5(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_4(m, __VA_ARGS__))
#define LPO_EACH_6(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_5(m, __VA_ARGS__))
#define LPO_EACH_7(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_6(m, __VA_ARGS__))
#define LPO_EACH_8(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_7(m, __VA_ARGS__))
#define LPO_EACH_9(m, a, ...)  m(a) __VA_OPT__(, LPO_EACH_8(m, __VA_ARGS__))
#define LPO_EACH_10(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_9(m, __VA_ARGS__))
#define LPO_EACH_11(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_10(m, __VA_ARGS__))
#define LPO_EACH_12(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_11(m, __VA_ARGS__))
#define LPO_EACH_13(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_12(m, __VA_ARGS__))
#define LPO_EACH_14(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_13(m, __VA_ARGS__))
#define LPO_EACH_15(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_14(m, __VA_ARGS__))
#define LPO_EACH_16(m, a, ...) m(a) __VA_OPT__(, LPO_EACH_15(m, __VA_ARGS__))
