/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/rank_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { MOST_RANK = 1000000 };

/* A word before a number. `alone`: nothing but the number may follow, "r3" and not "r3x". The first
 * row that fits a part of the path counts. */
static const struct word {
    const char *text;
    bool alone;
} words[] = {
    { "rank", false },
    { "r", true },
    { "tp", true },
};

static bool is_break(char c)
{
    return !isalnum((unsigned char)c);
}

/* The number after the word that begins at `at`; -1: none. */
static int32_t number_after(const char *at, const struct word *w, const char *end)
{
    const char *p = at + strlen(w->text);
    int32_t n = 0;

    if (p < end && strchr("_-=.", *p))
        p++;
    if (p == end || !isdigit((unsigned char)*p))
        return -1;
    for (; p < end && isdigit((unsigned char)*p) && n <= MOST_RANK; p++)
        n = n * 10 + (*p - '0');
    return n > MOST_RANK || (w->alone && p < end && !is_break(*p)) ? -1 : n;
}

static int32_t rank_in(const char *from, const char *end)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].text);

        for (const char *p = from; p + len < end; p++) {
            int32_t n;

            if ((p > from && isalpha((unsigned char)p[-1])) ||
                strncasecmp(p, words[i].text, len) != 0)
                continue;
            n = number_after(p, &words[i], end);
            if (n >= 0)
                return n;
        }
    }
    return -1;
}

int32_t lpo_rundir_rank_of_name(const char *path)
{
    const char *base = strrchr(path, '/');
    const char *folder = base;
    int32_t rank = rank_in(base ? base + 1 : path, path + strlen(path));

    while (folder && folder > path && folder[-1] != '/')
        folder--;
    return rank >= 0 || !base ? rank : rank_in(folder, base);
}
