/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the process, as text: who it is, where it runs, which settings are in use. */
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/collect.h"
#include "collect/encode.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

#ifndef LPO_VERSION
#define LPO_VERSION "0"
#endif

enum { FACTS_BYTES = 32 << 10 };

/* Facts gather here until they are one block; what does not fit is left out. In pages of its own:
 * the calling thread's stack may be smaller than this. */
struct facts {
    size_t len;
    char text[LPOC_PATH_MAX]; /* room for whoever adds one */
    uint8_t bytes[FACTS_BYTES];
};

static void add_fact(struct facts *f, const char *key, const char *value)
{
    size_t klen = strlen(key), vlen = strlen(value);
    uint8_t *p = f->bytes + f->len;

    if (!vlen || f->len + klen + vlen + 2 * LPOC_VARINT_MAX > sizeof f->bytes)
        return;
    p = lpoc_put_text(p, key, klen);
    p = lpoc_put_text(p, value, vlen);
    f->len = (size_t)(p - f->bytes);
}

static void add_number(struct facts *f, const char *key, int64_t value)
{
    char text[24];

    text[lpoc_put_decimal(text, value)] = 0;
    add_fact(f, key, text);
}

static void add_program(struct facts *f)
{
    ssize_t n = readlink("/proc/self/exe", f->text, sizeof f->text - 1);

    if (n <= 0)
        return;
    f->text[n] = 0;
    add_fact(f, "program", f->text);
}

static void add_command(struct facts *f, bool whole)
{
    char *text = f->text;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof f->text - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    while (n > 0 && !text[n - 1])
        n--;
    for (ssize_t i = 0; whole && i < n; i++)
        if (!text[i])
            text[i] = ' ';
    text[n] = 0;
    add_fact(f, "command", text);
}

static void add_rank(struct facts *f, const struct lpo_rank *r)
{
    if (!r->launcher)
        return;
    add_fact(f, "launcher", r->launcher);
    add_number(f, "rank", r->rank);
    if (r->local_rank >= 0)
        add_number(f, "local_rank", r->local_rank);
    if (r->world_size > 0)
        add_number(f, "world_size", r->world_size);
}

static void write_gathered(struct lpoc *c, const struct facts *f)
{
    lpoc_block(c, LPOT_FACTS, 0, lpoc_next(&c->facts), f->bytes, f->len);
}

void lpoc_write_first_facts(struct lpoc *c, pid_t forked_from)
{
    struct facts *f = lpoc_map(sizeof *f);
    struct utsname host;
    const char *knob;
    int64_t value;

    if (!f)
        return;
    add_fact(f, "collector", LPO_VERSION);
    add_number(f, "pid", getpid());
    add_number(f, "ppid", getppid());
    if (forked_from)
        add_number(f, "forked_from", forked_from);
    add_fact(f, "clock", lpoc_clock_name(&c->clock));
    add_rank(f, &c->rank);
    add_program(f);
    add_command(f, c->knobs.command);
    if (uname(&host) == 0)
        add_fact(f, "host", host.nodename);
    if (!c->ring.on) /* there it is only watched */
        add_fact(f, "capture.range", c->knobs.capture_range);
    for (unsigned i = 0; (knob = lpoc_knob_at(&c->knobs, i, &value)); i++)
        add_number(f, knob, value);
    write_gathered(c, f);
    lpoc_unmap(f, sizeof *f);
}

void lpoc_write_facts(struct lpoc *c, const char *const (*pairs)[2], unsigned count)
{
    struct facts *f = lpoc_map(sizeof *f);

    if (!f)
        return;
    for (unsigned i = 0; i < count; i++)
        add_fact(f, pairs[i][0], pairs[i][1]);
    write_gathered(c, f);
    lpoc_unmap(f, sizeof *f);
}
