/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsysrep/file.h"

#include <errno.h>
#include <lz4.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/budget.h"
#include "util/unpack.h"

static const char end_mark[8] = "U3w[END]";
static const char raw_mark[8] = "QDTEXT00";

enum {
    TAIL = 16,               /* the directory's offset and the end mark */
    MOST_PART = 256 << 20,   /* bytes of one part that is kept */
    MOST_BLOCKS = 1 << 20,   /* seven billion events */
    LEAST_BYTES_OF_BODY = 1, /* its length alone */
};

/* Where a section lies. */
struct section {
    uint64_t at, len;
    bool found;
};

/* What is read of one stretch of the file, from its front to its end. */
struct cursor {
    const struct lpo_nsysrep_file *f;
    uint64_t at, end;
};

static int damaged(const struct lpo_nsysrep_file *f, struct lpo_err *err, const char *what)
{
    return lpo_fail(err, LPO_E_FORMAT,
                    "%s: this report of Nsight Systems (version %s) is damaged, or of a version "
                    "that lpo does not know; where nsys is, this makes a file that lpo reads: nsys "
                    "export -t sqlite REPORT",
                    what, f->version);
}

/* How many of the bytes are there. Not mapped: a file that another process cuts would end us with
 * SIGBUS. */
static size_t read_at(const struct lpo_nsysrep_file *f, uint64_t at, void *bytes, size_t len)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = pread(f->file->fd, (char *)bytes + got, len - got, (off_t)(at + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

static bool read_part(const struct lpo_nsysrep_file *f, uint64_t at, uint64_t len,
                      struct lpo_nsysrep_bytes *out)
{
    if (len > MOST_PART || at > f->len || len > f->len - at)
        return false;
    out->at = lpo_xmalloc((size_t)len + 1);
    out->len = (size_t)len;
    return read_at(f, at, out->at, out->len) == out->len;
}

static bool cursor_varint(struct cursor *c, uint64_t *out)
{
    unsigned char bytes[10];
    uint64_t left = c->end - c->at;
    size_t n = read_at(c->f, c->at, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes);
    struct lpo_proto m = lpo_proto(bytes, n);

    if (!lpo_proto_varint(&m, out))
        return false;
    c->at += (uint64_t)(m.at - bytes);
    return true;
}

static bool cursor_message(struct cursor *c, struct lpo_nsysrep_bytes *out)
{
    uint64_t len;

    if (!cursor_varint(c, &len) || len > c->end - c->at || !read_part(c->f, c->at, len, out))
        return false;
    c->at += len;
    return true;
}

/* --- the whole file ------------------------------------------------------------------------- */

/* "2025@5@1@121-255136380782v0." becomes 2025.5.1.121. */
static int read_version(struct lpo_nsysrep_file *f, struct lpo_err *err)
{
    char head[128] = { 0 };
    const char *text = head + strlen(LPO_NSYSREP_MAGIC);
    size_t len;

    read_at(f, 0, head, sizeof head - 1);
    if (strncmp(head, LPO_NSYSREP_MAGIC, strlen(LPO_NSYSREP_MAGIC)) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "not a report of Nsight Systems");
    len = strspn(text, "0123456789@");
    if (len >= sizeof f->version)
        len = sizeof f->version - 1;
    for (size_t i = 0; i < len; i++)
        f->version[i] = text[i] == '@' ? '.' : text[i];
    return 0;
}

static int read_tail(struct lpo_nsysrep_file *f, uint64_t *directory, struct lpo_err *err)
{
    unsigned char tail[TAIL];
    uint64_t least = strlen(LPO_NSYSREP_MAGIC) + TAIL;

    if (f->len < least || read_at(f, f->len - TAIL, tail, TAIL) != TAIL ||
        memcmp(tail + 8, end_mark, sizeof end_mark) != 0)
        return lpo_fail(err, LPO_E_FORMAT,
                        "this report of Nsight Systems was cut short: it has %llu bytes and not "
                        "its end, where its parts are listed; copy it again",
                        (unsigned long long)f->len);
    memcpy(directory, tail, sizeof *directory);
    return *directory > f->len - TAIL ? damaged(f, err, "the list of its parts lies beyond its end")
                                      : 0;
}

static void read_entry(struct lpo_proto entry, const char *name, struct section *out)
{
    struct lpo_proto_field f;
    struct section s = { 0 };

    while (lpo_proto_next(&entry, &f)) {
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES)
            s.found = f.value == strlen(name) && memcmp(f.bytes, name, f.value) == 0;
        else if (f.number == 2)
            s.at = f.value;
        else if (f.number == 3)
            s.len = f.value;
    }
    if (s.found && !out->found)
        *out = s;
}

/* Which sections there are differs by version and run. */
static struct section find_section(const struct lpo_nsysrep_file *f,
                                   const struct lpo_nsysrep_bytes *directory, const char *name)
{
    struct lpo_proto m = lpo_proto(directory->at, directory->len);
    struct lpo_proto_field field;
    struct section s = { 0 };

    while (lpo_proto_next(&m, &field))
        if (field.number == 1 && field.wire == LPO_WIRE_BYTES)
            read_entry(lpo_proto_inner(&field), name, &s);
    s.found = s.found && s.at <= f->len && s.len <= f->len - s.at;
    return s;
}

/* {1 "lz4", 2 offset of the strings, counted from after the mark}. */
static int read_offsets(const struct lpo_nsysrep_file *f, const struct section *s,
                        uint64_t *strings, struct lpo_err *err)
{
    unsigned char bytes[256];
    size_t len = s->len < sizeof bytes ? (size_t)s->len : sizeof bytes;
    struct lpo_proto m;
    struct lpo_proto_field field;
    bool lz4 = false;

    if (!s->found || read_at(f, s->at, bytes, len) != len)
        return damaged(f, err, "it does not say where its names lie");
    m = lpo_proto(bytes, len);
    *strings = UINT64_MAX;
    while (lpo_proto_next(&m, &field)) {
        if (field.number == 1 && field.wire == LPO_WIRE_BYTES)
            lz4 = field.value == 3 && memcmp(field.bytes, "lz4", 3) == 0;
        else if (field.number == 2 && field.wire == LPO_WIRE_VARINT)
            *strings = field.value;
    }
    return lz4 ? 0 : damaged(f, err, "its events are not compressed with LZ4");
}

/* --- the section of events ------------------------------------------------------------------ */

/* The next block of the cursor, without its bytes. LZ4 makes at most 255 bytes of one. */
static bool cursor_block(struct cursor *c, struct lpo_nsysrep_block *b)
{
    uint64_t packed, size;

    if (!cursor_varint(c, &packed) || !cursor_varint(c, &size) || packed > c->end - c->at ||
        size > packed * 255 || size < LEAST_BYTES_OF_BODY || size > MOST_PART)
        return false;
    *b = (struct lpo_nsysrep_block){ c->at, (uint32_t)packed, (uint32_t)size, UINT32_MAX };
    c->at += packed;
    return true;
}

static int list_blocks(struct lpo_nsysrep_file *f, struct cursor *c, uint64_t end,
                       struct lpo_err *err)
{
    const struct lpo_budget *budget = lpo_budget();
    const uint64_t most = budget->inflate_bytes + budget->inflate_ratio * f->len;
    uint64_t sum = 0;
    struct cursor events = { f, c->at, end };

    while (events.at < end) {
        struct lpo_nsysrep_block b;

        if (f->blocks.len >= MOST_BLOCKS || !cursor_block(&events, &b))
            return damaged(f, err, "a block of its events has a wrong length");
        sum += b.size;
        if (sum > most)
            return lpo_fail(err, LPO_E_LIMIT,
                            "the events of this report become more than %llu MB (%s)",
                            (unsigned long long)most >> 20, LPO_BUDGET_HINT);
        lpo_vec_push(&f->blocks, b);
    }
    c->at = end;
    return 0;
}

static int read_strings(struct lpo_nsysrep_file *f, struct cursor *c, struct lpo_err *err)
{
    struct lpo_nsysrep_room room = { 0 };
    struct lpo_nsysrep_bytes body = { 0 };
    struct lpo_nsysrep_block b;
    const char *wrong =
        cursor_block(c, &b) ? lpo_nsysrep_unpack(f, &b, &room, &body) : "its names are cut short";

    if (!wrong) { /* the room stays, with the length in front of the body */
        f->strings.len = body.len;
        memmove(room.plain, body.at, body.len);
        f->strings.at = room.plain;
        room.plain = NULL;
    }
    lpo_nsysrep_room_free(&room);
    return wrong ? damaged(f, err, wrong) : 0;
}

static int read_raw(struct lpo_nsysrep_file *f, const struct section *raw, uint64_t strings,
                    struct lpo_err *err)
{
    struct cursor c = { f, raw->at, raw->at + raw->len };
    char mark[sizeof raw_mark];

    if (!raw->found || raw->len < sizeof mark ||
        read_at(f, c.at, mark, sizeof mark) != sizeof mark ||
        memcmp(mark, raw_mark, sizeof mark) != 0)
        return damaged(f, err, "it has no section of events");
    c.at += sizeof mark;
    if (strings > raw->len - sizeof mark)
        return damaged(f, err, "its names lie beyond its end");
    strings += c.at;
    if (!cursor_message(&c, &f->header) || !cursor_message(&c, &f->counts) || c.at > strings)
        return damaged(f, err, "its head is cut short");
    if (list_blocks(f, &c, strings, err) < 0 || read_strings(f, &c, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    if (!cursor_message(&c, &f->thread_names) || !cursor_message(&c, &f->final))
        return damaged(f, err, "what follows its names is cut short");
    return 0;
}

static int read_sections(struct lpo_nsysrep_file *f, struct lpo_err *err)
{
    struct lpo_nsysrep_bytes directory = { 0 };
    struct section raw, offsets, clocks;
    uint64_t at = 0, strings = 0;
    int rc = read_version(f, err);

    if (rc == 0)
        rc = read_tail(f, &at, err);
    if (rc < 0)
        return rc;
    if (!read_part(f, at, f->len - TAIL - at, &directory)) {
        free(directory.at);
        return damaged(f, err, "the list of its parts cannot be read");
    }
    raw = find_section(f, &directory, "Raw Sampling Data");
    offsets = find_section(f, &directory, "Sampling Data Offsets");
    clocks = find_section(f, &directory, "Time Conversion Data");
    free(directory.at);
    if (clocks.found)
        read_part(f, clocks.at, clocks.len, &f->clocks);
    rc = read_offsets(f, &offsets, &strings, err);
    return rc < 0 ? rc : read_raw(f, &raw, strings, err);
}

int lpo_nsysrep_open(const char *path, struct lpo_nsysrep_file **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_nsysrep_file) f = lpo_xcalloc(1, sizeof *f);
    struct stat st;

    if (lpo_unpack(path, &f->file, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (fstat(f->file->fd, &st) < 0)
        return lpo_fail_errno(err, "cannot look at the file");
    f->len = (uint64_t)st.st_size;
    if (read_sections(f, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    *out = f;
    f = NULL;
    return 0;
}

void lpo_nsysrep_file_destroy(struct lpo_nsysrep_file *f)
{
    if (!f)
        return;
    lpo_unpack_file_destroy(f->file);
    free(f->header.at);
    free(f->clocks.at);
    free(f->counts.at);
    free(f->thread_names.at);
    free(f->final.at);
    free(f->strings.at);
    lpo_vec_free(&f->blocks);
    free(f);
}

/* --- one block ------------------------------------------------------------------------------ */

static void make_room(unsigned char **at, size_t *room, size_t want)
{
    if (*room >= want)
        return;
    free(*at); /* nothing in it is still needed: no copy */
    *at = lpo_xmalloc(want);
    *room = want;
}

const char *lpo_nsysrep_unpack(const struct lpo_nsysrep_file *f, const struct lpo_nsysrep_block *b,
                               struct lpo_nsysrep_room *room, struct lpo_nsysrep_bytes *body)
{
    struct lpo_proto m;
    uint64_t len;

    make_room(&room->packed, &room->packed_room, b->packed);
    make_room(&room->plain, &room->plain_room, b->size);
    if (read_at(f, b->at, room->packed, b->packed) != b->packed)
        return "the file ends in a block";
    if (LZ4_decompress_safe((const char *)room->packed, (char *)room->plain, (int)b->packed,
                            (int)b->size) != (int)b->size)
        return "a block cannot be decompressed";
    m = lpo_proto(room->plain, b->size);
    if (!lpo_proto_varint(&m, &len) || len > (uint64_t)(m.end - m.at))
        return "a block is shorter than it says";
    *body = (struct lpo_nsysrep_bytes){ (unsigned char *)m.at, (size_t)len };
    return NULL;
}

void lpo_nsysrep_room_free(struct lpo_nsysrep_room *room)
{
    free(room->packed);
    free(room->plain);
    *room = (struct lpo_nsysrep_room){ 0 };
}
