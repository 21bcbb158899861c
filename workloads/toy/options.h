/* SPDX-License-Identifier: Apache-2.0 */
/* toy/options.h - the toy's settings: one table for flags, config keys and the help.
 *
 * Defaults, then the workload contract (a JSON file named by LPO_WORKLOAD_CONFIG, or --settings),
 * then the command line, later wins. Every setting has one flag and one key in the contract; the
 * contract is the composed config, so keys that are not the toy's are ignored. */
#pragma once

#include <stdbool.h>

#include "toy/sample.h"
#include "toy/weights.h"

struct lpo_arena;
struct lpo_err;
struct lpo_json;
struct lpo_json_writer;
struct lpo_str;

struct toy_options {
    struct toy_config model; /* context is prompt_tokens + max_new_tokens */
    struct toy_sampling sampling;
    int prompt_tokens, max_new_tokens, batch, repeats, warmup, threads, device;
    int samples, epochs;   /* prompts of each epoch, all of them different, and epochs */
    bool start_end_ranges; /* also a start/end range `decode_window` around decode */
    bool graph;            /* CUDA: replay the decode step as a graph */
    bool two_streams;      /* CUDA: keys and values on a second stream */
    bool check;            /* compare logits with the CPU implementation first */
    bool help;
    const char *settings, *metrics, *predictions, *write_config, *write_model; /* NULL: none */
};

/* Reads argv (without the program's name) over the contract over the defaults, and checks the
 * result. Strings point into argv or the arena. `contract` may be NULL. */
int toy_options_read(struct lpo_arena *a, int argc, char **argv, const char *contract,
                     struct toy_options *out, struct lpo_err *err);

/* Prompts of all epochs together. */
int toy_options_samples(const struct toy_options *o);

/* The flags, one per line, with their defaults. */
void toy_options_help(struct lpo_str *out);

/* Every number and switch under its flag's name, for the metrics file. */
void toy_options_write(const struct toy_options *o, struct lpo_json_writer *w);
