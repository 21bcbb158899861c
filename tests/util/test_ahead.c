/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that works ahead: every batch once, in order, and an end at any moment. */
#include "../unit.h"

#include <signal.h>
#include <time.h>

#include "util/ahead.h"

struct batch {
    int *at; /* allocated once and used again */
    size_t len;
};

static const struct ahead_case {
    const char *name;
    int numbers; /* that are there, ten to a batch */
    int read;    /* that the reader takes before it leaves */
    bool slow_fill, slow_read;
} cases[] = {
    { "nothing to read", 0, 0, false, false },
    { "less than a batch", 7, 7, false, false },
    { "whole batches, then an empty one", 40, 40, false, false },
    { "many more than fit", 100003, 100003, false, false },
    { "the reader waits", 200, 200, true, false },
    { "the thread waits", 200, 200, false, true },
    { "left before the first", 1000, 0, false, false },
    { "left in the middle", 100000, 123, false, false },
    { "left while the thread works", 1000, 25, true, false },
};

struct source {
    const struct ahead_case *row;
    int next;
    bool signals_blocked;
};

static void nap(bool slow)
{
    if (slow)
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

static bool fill(void *ctx, void *batch)
{
    struct source *s = ctx;
    struct batch *b = batch;
    sigset_t now;

    pthread_sigmask(SIG_SETMASK, NULL, &now);
    s->signals_blocked = sigismember(&now, SIGINT) && sigismember(&now, SIGTERM);
    if (!b->at)
        b->at = malloc(10 * sizeof *b->at);
    nap(s->row->slow_fill);
    for (b->len = 0; b->len < 10 && s->next < s->row->numbers; b->len++)
        b->at[b->len] = s->next++;
    return b->len == 10;
}

static void release(void *batch)
{
    free(((struct batch *)batch)->at);
}

static void check_ahead(void **state)
{
    const struct ahead_case *c = *state;
    struct source s = { .row = c };
    struct lpo_ahead *a = lpo_ahead_start(sizeof(struct batch), fill, &s);
    const struct batch *b = NULL;
    int read = 0;

    assert_non_null(a);
    while (read < c->read && (b = lpo_ahead_next(a))) {
        nap(c->slow_read);
        for (size_t i = 0; i < b->len; i++)
            assert_int_equal(b->at[i], read++);
    }
    assert_true(read >= c->read && read < c->read + 10);
    if (c->read == c->numbers) {
        while ((b = lpo_ahead_next(a)))
            assert_int_equal(b->len, 0);
        assert_null(lpo_ahead_next(a)); /* the end stays the end */
        assert_int_equal(s.next, c->numbers);
        assert_true(s.signals_blocked);
    }
    lpo_ahead_stop(a, release);
}

static void stopping_none_is_fine(void **state)
{
    (void)state;
    lpo_ahead_stop(NULL, release);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_ahead);
    UNIT_TEST(&u, stopping_none_is_fine);
    return unit_run(&u);
}
