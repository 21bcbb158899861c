/* SPDX-License-Identifier: Apache-2.0 */
/* make_kineto IN OUT MEGABYTES: a large Kineto trace, made by repeating a real one.
 *
 * Each round of the events of IN (a file that lpo's own input reads, .gz too) gets times after
 * the previous round and its own ids, so that launches match and no new overlaps appear. OUT
 * is plain JSON; gzip it for the compressed case. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/input.h"
#include "util/json_pull.h"
#include "util/str.h"
#include "util/vec.h"

/* A number in the text that changes from round to round. */
struct slot {
    size_t at, len;
    int64_t value; /* times in ns */
    bool time;
};

static LPO_VEC(struct slot) slots;

static const struct field {
    const char *key;
    bool time;
} fields[] = {
    { "\"ts\":", true },           { "\"correlation\":", false }, { "\"External id\":", false },
    { "\"external id\":", false }, { "\"id\":", false },
};

static void add_slot(const char *text, const char *p, bool time)
{
    struct slot s = { .time = time };
    char *end;

    while (*p == ' ')
        p++;
    s.at = (size_t)(p - text);
    s.value = strtoll(p, &end, 10);
    if (end == p)
        return;
    if (time) {
        s.value *= 1000;
        if (*end == '.') {
            int64_t unit = 100;

            for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
                s.value += (*end - '0') * unit;
        }
    }
    s.len = (size_t)(end - text) - s.at;
    lpo_vec_push(&slots, s);
}

static void find_slots(const char *text)
{
    for (const char *p = strchr(text, '"'); p; p = strchr(p + 1, '"'))
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
            if (lpo_str_starts(p, fields[f].key))
                add_slot(text, p + strlen(fields[f].key), fields[f].time);
}

static int read_whole(const char *path, struct lpo_str *to)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w;
    struct lpo_err err = { 0 };
    int rc = lpo_input_open(path, &in, &err);

    while (rc == 0 && (rc = lpo_input_next(in, 0, &w, &err)) > 0) {
        lpo_str_addn(to, w.at, w.len);
        rc = 0;
    }
    if (rc < 0)
        lpo_err_print(stderr, "make_kineto", &err);
    return rc;
}

/* One round of the events; returns the bytes written. */
static size_t write_round(FILE *out, const struct lpo_str *events, int64_t shift_ns,
                          int64_t shift_id)
{
    size_t done = 0, wrote = 0;

    for (size_t i = 0; i < slots.len; i++) {
        const struct slot *s = &slots.at[i];
        char number[48];
        int n;

        if (s->time) {
            int64_t ns = s->value + shift_ns;

            n = snprintf(number, sizeof number, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
        } else {
            n = snprintf(number, sizeof number, "%" PRId64, s->value + shift_id);
        }
        fwrite(events->at + done, 1, s->at - done, out);
        fwrite(number, 1, (size_t)n, out);
        wrote += s->at - done + (size_t)n;
        done = s->at + s->len;
    }
    fwrite(events->at + done, 1, events->len - done, out);
    return wrote + events->len - done;
}

int main(int argc, char **argv)
{
    LPO_STR text = { 0 };
    LPO_STR events = { 0 };
    const char *open, *close = NULL;
    int64_t low = INT64_MAX, high = 0, ids = 0;
    size_t target, wrote = 0;
    FILE *out;

    if (argc != 4) {
        fputs("usage: make_kineto IN OUT MEGABYTES\n", stderr);
        return 2;
    }
    if (read_whole(argv[1], &text) < 0)
        return 1;
    open = strstr(lpo_str_text(&text), "\"traceEvents\"");
    open = open ? strchr(open, '[') : NULL;
    if (open) {
        struct lpo_pull q = { .p = open, .end = text.at + text.len, .mode = LPO_PULL_LENIENT };

        close = lpo_json_pull_skip(&q) == 0 ? q.p - 1 : NULL;
    }
    out = fopen(argv[2], "w");
    if (!close || !out) {
        fprintf(stderr, "make_kineto: cannot use '%s' or write '%s'\n", argv[1], argv[2]);
        return 1;
    }
    lpo_str_addn(&events, open + 1, (size_t)(close - open) - 1);
    find_slots(events.at);
    for (size_t i = 0; i < slots.len; i++) {
        const struct slot *s = &slots.at[i];

        low = s->time && s->value < low ? s->value : low;
        high = s->time && s->value > high ? s->value : high;
        ids = !s->time && s->value > ids ? s->value : ids;
    }
    target = (size_t)strtoull(argv[3], NULL, 10) * 1000000;
    fwrite(text.at, 1, (size_t)(open + 1 - text.at), out);
    for (int64_t round = 0; wrote < target; round++) {
        if (round)
            fputc(',', out);
        wrote += write_round(out, &events, round * (high - low + 10000000), round * (ids + 1));
    }
    fputs(close, out);
    lpo_vec_free(&slots);
    return fclose(out) == 0 ? 0 : 1;
}
