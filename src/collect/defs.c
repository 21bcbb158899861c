/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/defs.h"

#include <string.h>

#include "collect/encode.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

/* A program under a limit of its address space may refuse 64 MiB: less is asked for then, down to
 * LEAST. */
enum { LOG_MOST = 64 << 20, LEAST = 64 << 10 };

/* Mapped once at their largest and never moved: a slot, a text or a handle that a thread holds
 * stays valid without a lock. */
int lpoc_defs_start(struct lpoc_defs *d)
{
    size_t log = LOG_MOST, strings = LPOC_NAMES_MAX * sizeof *d->strings;
    size_t table = 2 * LPOC_NAMES_MAX * sizeof *d->table;

    memset(d, 0, sizeof *d);
    d->log = lpoc_map_most(&log, LEAST);
    d->strings = lpoc_map_most(&strings, LEAST);
    d->table = lpoc_map_most(&table, LEAST);
    d->domains = lpoc_map(LPOC_DOMAINS_MAX * sizeof *d->domains);
    if (!d->log || !d->strings || !d->table || !d->domains)
        return -1;
    d->cap = log;
    d->strings_cap = (uint32_t)(strings / sizeof *d->strings);
    d->table_cap = (uint32_t)(table / sizeof *d->table); /* a power of two */
    d->count = d->ndomains = 1;
    return 0;
}

uint64_t lpoc_defs_hash(const char *text, size_t len)
{
    uint64_t h = len * 0x9e3779b97f4a7c15u;

    for (; len >= 8; text += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    for (; len; text++, len--)
        h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 29);
}

const char *lpoc_defs_text(const struct lpoc_defs *d, uint32_t id)
{
    return (const char *)d->log + d->strings[id].at;
}

/* A slot is stored last, and what it leads to never changes: the table is read without the lock. */
static uint32_t *slot_of(const struct lpoc_defs *d, const char *text, size_t len, uint64_t hash)
{
    for (uint32_t i = (uint32_t)hash;; i++) {
        uint32_t *slot = &d->table[i & (d->table_cap - 1)];
        uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

        if (!id || (d->strings[id].len == len && memcmp(lpoc_defs_text(d, id), text, len) == 0))
            return slot;
    }
}

uint32_t lpoc_defs_find(const struct lpoc_defs *d, const char *text, size_t len, uint64_t hash)
{
    uint32_t id = __atomic_load_n(slot_of(d, text, len, hash), __ATOMIC_ACQUIRE);

    if (id)
        return id;
    return __atomic_load_n(&d->full, __ATOMIC_RELAXED) ? LPOC_NAME_FULL : 0;
}

/* An eighth is kept for vital names, those of kernels, threads and domains: a program that makes up
 * names of ranges must not cost the names of its kernels. */
static bool is_full(const struct lpoc_defs *d, size_t len, bool vital)
{
    uint32_t most = d->strings_cap < d->table_cap / 2 ? d->strings_cap : d->table_cap / 2;
    size_t bytes = d->cap;

    if (!vital) {
        most -= most / 8;
        bytes -= bytes / 8;
    }
    return d->count >= most || d->used + len + 1 + LPOC_VARINT_MAX > bytes;
}

/* The log from `from` on, before anybody can use what it defines. */
static void keep_pending(struct lpoc_defs *d, size_t from)
{
    struct lpoc_pending *p = &d->pending;
    uint64_t state = p->state && *p->mark ? *p->state : LPOT_TAIL_DEFS_LOST;
    uint32_t used = (uint32_t)state;

    if (used == LPOT_TAIL_DEFS_LOST)
        return;
    if (d->used - from > p->room - used) {
        state |= LPOT_TAIL_DEFS_LOST;
    } else {
        memcpy(p->at + used, d->log + from, d->used - from);
        state += d->used - from;
    }
    __atomic_store_n(p->state, state, __ATOMIC_RELEASE);
}

bool lpoc_defs_are_many(const struct lpoc_defs *d)
{
    return d->pending.state && (uint32_t)*d->pending.state > d->pending.room / 2;
}

void lpoc_defs_filed(struct lpoc_defs *d)
{
    if (d->pending.state && *d->pending.mark)
        __atomic_store_n(d->pending.state, (uint64_t)d->sequence << 32, __ATOMIC_RELEASE);
}

uint32_t lpoc_defs_string(struct lpoc_defs *d, const char *text, size_t len, uint64_t hash,
                          bool vital)
{
    uint32_t *slot = slot_of(d, text, len, hash), known = *slot;
    uint8_t *p = d->log + d->used;
    size_t from = d->used;

    if (known)
        return known;
    if (is_full(d, len, vital)) {
        __atomic_store_n(&d->full, true, __ATOMIC_RELAXED);
        return LPOC_NAME_FULL;
    }
    *p++ = LPOT_DEF_STRING;
    p = lpoc_put_v(p, len);
    d->strings[d->count] =
        (struct lpoc_string){ .at = (uint32_t)(p - d->log), .len = (uint32_t)len };
    p = lpoc_put_bytes(p, text, len);
    d->used = (size_t)(p - d->log);
    keep_pending(d, from);
    __atomic_store_n(slot, d->count, __ATOMIC_RELEASE);
    return d->count++;
}

uint32_t lpoc_defs_domain(struct lpoc_defs *d, uint32_t string)
{
    const uint64_t number[1] = { string };

    for (uint32_t i = 1; i < d->ndomains; i++)
        if (d->domains[i] == string)
            return i;
    if (d->ndomains == LPOC_DOMAINS_MAX || string == LPOC_NAME_FULL ||
        d->used + 2 + LPOC_VARINT_MAX > d->cap)
        return 0;
    lpoc_defs_add(d, LPOT_DEF_DOMAIN, number, 1);
    d->domains[d->ndomains] = string;
    return d->ndomains++;
}

bool lpoc_defs_add(struct lpoc_defs *d, unsigned tag, const uint64_t *numbers, unsigned count)
{
    uint8_t body[8 * LPOC_VARINT_MAX], *end = body;

    for (unsigned i = 0; i < count && i < 8; i++)
        end = lpoc_put_v(end, numbers[i]);
    return lpoc_defs_put(d, tag, body, (size_t)(end - body));
}

bool lpoc_defs_put(struct lpoc_defs *d, unsigned tag, const void *body, size_t len)
{
    uint8_t *p = d->log + d->used;
    size_t from = d->used;

    if (d->used + len + 1 + LPOC_VARINT_MAX > d->cap)
        return false;
    *p++ = (uint8_t)tag;
    p = lpoc_put_v(p, len);
    p = lpoc_put_bytes(p, body, len);
    d->used = (size_t)(p - d->log);
    keep_pending(d, from);
    return true;
}

/* The address of a row is the handle that NVTX gives to the program: unique, never NULL, and
 * checked when it comes back, since the program may pass anything. */
void *lpoc_defs_string_handle(const struct lpoc_defs *d, uint32_t id)
{
    return id == LPOC_NAME_FULL ? NULL : &d->strings[id];
}

uint32_t lpoc_defs_string_of(const struct lpoc_defs *d, const void *handle)
{
    size_t off = (size_t)((const char *)handle - (const char *)d->strings);

    if (off >= d->strings_cap * sizeof *d->strings || off % sizeof *d->strings)
        return 0;
    return (uint32_t)(off / sizeof *d->strings);
}

void *lpoc_defs_domain_handle(const struct lpoc_defs *d, uint32_t id)
{
    return id ? &d->domains[id] : NULL;
}

uint32_t lpoc_defs_domain_of(const struct lpoc_defs *d, const void *handle)
{
    size_t off = (size_t)((const char *)handle - (const char *)d->domains);

    if (off >= LPOC_DOMAINS_MAX * sizeof *d->domains || off % sizeof *d->domains)
        return 0;
    return (uint32_t)(off / sizeof *d->domains);
}

/* Bytes of the definition at p: tag, length, body. */
static size_t def_bytes(const uint8_t *p)
{
    size_t len = 0, i = 1;
    unsigned shift = 0;

    do {
        len |= (size_t)(p[i] & 0x7f) << shift;
        shift += 7;
    } while (p[i++] & 0x80);
    return i + len;
}

/* A child has no GPU records; its parent's lists of graphs would be dead weight in its file. */
static bool left_out(const struct lpoc_defs *d, size_t at)
{
    return at < d->inherited && d->log[at] == LPOT_DEF_GRAPH;
}

size_t lpoc_defs_pending(struct lpoc_defs *d, size_t most, const uint8_t **at)
{
    size_t end;

    while (d->written < d->used && left_out(d, d->written))
        d->written += def_bytes(d->log + d->written);
    *at = d->log + d->written;
    if (d->used - d->written <= most && d->written >= d->inherited)
        return d->used - d->written;
    end = d->written;
    while (end < d->used && !left_out(d, end) && end + def_bytes(d->log + end) - d->written <= most)
        end += def_bytes(d->log + end);
    return end - d->written;
}
