/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/flight.h - who is missing where: the flight recorders of the ranks of a job that
 * hangs, beside each other.
 *
 * Collectives match by their group and their number in it. The first of a group that did not
 * complete everywhere is what its ranks wait in. A rank that did not come to one may itself wait in
 * another group: the verdict whose missing ranks wait nowhere stands first. */
#pragma once

#include "util/base.h"

struct lpo_trace;

enum lpo_flight_verdict_kind {
    LPO_FLIGHT_MISMATCH, /* ranks came with another collective, other sizes or types */
    LPO_FLIGHT_MISSING,  /* ranks did not come */
    LPO_FLIGHT_SILENT,   /* all came whose dump is here; that of others is not */
    LPO_FLIGHT_STUCK,    /* all came, and it does not end everywhere; or it is a message */
    LPO_FLIGHT_VERDICTS
};

/* What can be said about a verdict, each in a sentence (report/chapters/flight.c). */
enum { LPO_FLIGHT_WHO_WAITS, LPO_FLIGHT_LAST_CALL, LPO_FLIGHT_CYCLE, LPO_FLIGHT_SENTENCES };

typedef LPO_VEC(int32_t) lpo_flight_ranks;

struct lpo_flight_verdict {
    enum lpo_flight_verdict_kind kind;
    uint32_t call;            /* row of flight_calls: the first rank's that came */
    uint32_t other;           /* MISMATCH: the first call that differs */
    uint32_t last;            /* the last call of the first missing rank, in any group; LPO_NONE */
    lpo_flight_ranks missing; /* MISSING: did not come; SILENT: left no dump */
    lpo_flight_ranks waiting; /* came, and did not complete it */
    size_t came;              /* ranks that called it */
    bool in_cycle;            /* its missing ranks wait for ranks that wait for it */
};

struct lpo_flight {
    LPO_VEC(struct lpo_flight_verdict) verdicts; /* the one that the others wait for first */
    LPO_VEC(uint32_t) last; /* the last call of each rank whose dump has one, by rank */
    size_t dumps;           /* that are here */
};

struct lpo_flight *lpo_ranks_flight_create(const struct lpo_trace *t);
void lpo_ranks_flight_destroy(struct lpo_flight *f); /* NULL is fine */
