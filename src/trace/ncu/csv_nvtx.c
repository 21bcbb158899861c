/* SPDX-License-Identifier: Apache-2.0 */
/* The NVTX state of a result as ncu prints it in CSV.
 *
 *     776  "<default domain>:A:none:none:none:none:none:none"  "<default domain>:A1:none:…"
 *      "0:<default domain>:S:none:none:none:none:none:none"
 *
 * Names may hold colons and quotes, so an item is cut from its ends: the domain is before the
 * first colon, six attributes behind the last six. */
#include "trace/ncu/private.h"

enum { ATTRIBUTES = 6, MAX_FRAMES = 1024 };

struct span {
    const char *at;
    size_t len;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is the quote at p the end of its item? Behind it stand the end of the cell, the next item, or
 * the next thread's number and its first item. */
static bool ends_item(const char *p, const char *end)
{
    const char *q = p + 1;

    if (q < end && *q != ' ')
        return false;
    while (q < end && *q == ' ')
        q++;
    if (q == end || *q == '"')
        return true;
    while (q < end && is_digit(*q))
        q++;
    return q < end && *q == ' ';
}

static size_t count_colons(const char *p, const char *end)
{
    size_t n = 0;

    for (; p < end; p++)
        n += *p == ':';
    return n;
}

/* The item whose opening quote is at p; *next is set behind it. */
static bool next_item(const char *p, const char *end, size_t colons, struct span *item,
                      const char **next)
{
    for (const char *q = p + 1; q < end; q++) {
        if (*q != '"' || !ends_item(q, end) || count_colons(p + 1, q) < colons)
            continue;
        *item = (struct span){ p + 1, (size_t)(q - p - 1) };
        *next = q + 1;
        return true;
    }
    return false;
}

/* Cuts the text before the first colon off the item. */
static struct span head(struct span *item)
{
    const char *colon = memchr(item->at, ':', item->len);
    struct span h = { item->at, colon ? (size_t)(colon - item->at) : item->len };
    size_t taken = colon ? h.len + 1 : h.len;

    item->at += taken;
    item->len -= taken;
    return h;
}

/* The name in front of the attributes; where there is none, the message, which is the last. */
static struct span name_of(struct span item)
{
    struct span name = item, message = { item.at + item.len, 0 };

    for (int i = 0; i < ATTRIBUTES && name.len > 0; i++) {
        while (name.len > 0 && name.at[name.len - 1] != ':')
            name.len--;
        if (name.len > 0)
            name.len--;
        if (i == 0)
            message = (struct span){ name.at + name.len + 1, item.len - name.len - 1 };
    }
    if (name.len == 0 && message.len > 0 && message.len <= item.len &&
        !(message.len == 4 && memcmp(message.at, "none", 4) == 0))
        return message;
    return name;
}

static struct lpo_frame frame_of(struct lpo_trace *t, struct span item, enum lpo_range_kind kind)
{
    static const char no_domain[] = "<default domain>";
    struct span domain = head(&item);
    struct span name = name_of(item);
    struct lpo_frame f = { .name = lpo_trace_namen(t, name.at, name.len), .kind = (uint8_t)kind };

    if (domain.len != strlen(no_domain) || memcmp(domain.at, no_domain, domain.len) != 0)
        f.domain = lpo_trace_domain(t, domain.at, domain.len);
    return f;
}

static size_t push_pop_frames(struct lpo_trace *t, const char *p, const char *end,
                              struct lpo_frame *frames, unsigned *threads)
{
    struct span item;
    size_t n = 0;

    *threads = 0;
    while (p < end) {
        if (*p == '"' && next_item(p, end, ATTRIBUTES + 1, &item, &p)) {
            if (*threads <= 1 && n < MAX_FRAMES)
                frames[n++] = frame_of(t, item, LPO_PUSH_POP);
        } else if (is_digit(*p)) {
            ++*threads;
            while (p < end && is_digit(*p))
                p++;
        } else {
            p++;
        }
    }
    return n;
}

static size_t start_end_frames(struct lpo_trace *t, const char *p, const char *end,
                               struct lpo_frame *frames, size_t room)
{
    struct span item;
    size_t n = 0;

    while (p < end && n < room) {
        if (*p == '"' && next_item(p, end, ATTRIBUTES + 2, &item, &p)) {
            struct span id = head(&item);
            uint64_t visit = 0;

            for (size_t i = 0; i < id.len && i < 18 && is_digit(id.at[i]); i++)
                visit = visit * 10 + (uint64_t)(id.at[i] - '0');
            frames[n] = frame_of(t, item, LPO_START_END);
            frames[n++].visit = visit + 1; /* 0 means "not given" */
        } else {
            p++;
        }
    }
    return n;
}

uint32_t lpo_ncu_cells_stack(struct lpo_trace *t, const char *push_pop, size_t push_pop_len,
                             const char *start_end, size_t start_end_len, unsigned *threads)
{
    LPO_FREED struct lpo_frame *frames = lpo_xcalloc(MAX_FRAMES, sizeof *frames);
    size_t n = push_pop_frames(t, push_pop, push_pop + push_pop_len, frames, threads);

    n += start_end_frames(t, start_end, start_end + start_end_len, frames + n, MAX_FRAMES - n);
    return lpo_trace_stack(t, frames, n);
}
