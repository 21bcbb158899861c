/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest NVTX tool: appends one line per range to the file in LPO_TEST_NVTX_LOG.
 *
 * A push writes the whole path of its thread's open ranges; a start/end range writes "+name" and
 * "-id"; a mark writes "=name"; a mark of a domain "=domain@name value", a start/end range of one
 * "+domain@name". A pop with nothing open writes "!pop". A thread that is not the first has
 * "thread:" before its paths. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*function)(void);

static __thread char path[1024];
static __thread int depth;

static void line(const char *before, const char *text)
{
    const char *file = getenv("LPO_TEST_NVTX_LOG");
    char out[1100];
    int fd, n;

    if (!file)
        return;
    n = snprintf(out, sizeof out, "%s%s%s\n",
                 syscall(SYS_gettid) == getpid() ? "" : "thread:", before, text);
    fd = open(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(fd, out, (size_t)n) != n)
        abort();
    close(fd);
}

static int push(const char *name)
{
    size_t used = strlen(path);

    snprintf(path + used, sizeof path - used, "%s%s", used ? "/" : "", name);
    line("", path);
    return depth++;
}

static int pop(void)
{
    char *slash = strrchr(path, '/');

    if (depth == 0) {
        line("!", "pop");
        return -1;
    }
    *(slash ? slash : path) = 0;
    return --depth;
}

static uint64_t start(const char *name)
{
    line("+", name);
    return 42;
}

static void end(uint64_t id)
{
    line("-", id == 42 ? "42" : "?");
}

static void mark(const char *name)
{
    line("=", name);
}

/* nvtxEventAttributes_t */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        int64_t whole;
        double real;
    } payload;
    int32_t message_type;
    const char *message;
};

static const char *create_domain(const char *name)
{
    return strdup(name);
}

static void domain_mark(const char *domain, const struct attributes *a)
{
    char text[1000];

    if (a->payload_type == 2)
        snprintf(text, sizeof text, "%s@%s %lld", domain, a->message, (long long)a->payload.whole);
    else
        snprintf(text, sizeof text, "%s@%s %g", domain, a->message, a->payload.real);
    line("=", text);
}

static uint64_t domain_start(const char *domain, const struct attributes *a)
{
    char text[1000];

    snprintf(text, sizeof text, "%s@%s", domain, a->message);
    line("+", text);
    return 42;
}

static void domain_end(const char *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static const struct {
    int module;
    unsigned slot;
    function fn;
} hooks[] = {
    { 1, 2, (function)mark },
    { 1, 5, (function)start },
    { 1, 7, (function)end },
    { 1, 9, (function)push },
    { 1, 11, (function)pop },
    { 5, 1, (function)domain_mark },
    { 5, 2, (function)domain_start },
    { 5, 3, (function)domain_end },
    { 5, 12, (function)create_domain },
};

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void *(*export_table)(uint32_t))
{
    const struct {
        size_t size;
        int (*table)(int, function ***, unsigned *);
    } *callbacks = export_table(1);
    function **table = NULL;
    unsigned n = 0;

    if (!callbacks || !callbacks->table(1, &table, &n))
        return 0;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        if (callbacks->table(hooks[i].module, &table, &n) && hooks[i].slot < n)
            *table[hooks[i].slot] = hooks[i].fn;
    return 1;
}
