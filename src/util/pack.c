/* SPDX-License-Identifier: Apache-2.0 */
#include "util/pack.h"

#ifdef LPO_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

void lpo_pack_add(struct lpo_str *to, uint64_t number)
{
    while (number >= 0x80) {
        lpo_str_addc(to, (char)(unsigned char)(0x80 | (number & 0x7f)));
        number >>= 7;
    }
    lpo_str_addc(to, (char)(unsigned char)number);
}

void lpo_pack_add_signed(struct lpo_str *to, int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;

    lpo_pack_add(to, number < 0 ? ~twice : twice);
}

/* What cannot be made smaller goes in blocks with a few bytes of their own; both libraries stay
 * below this, and a text that did not fit would be left out rather than cut. */
static size_t room_for(size_t len)
{
    return len + len / 8 + 4096;
}

/* Raw deflate has no header and no checksum, which is what "deflate-raw" means to a browser;
 * `gzip`: with both, as a file. The library that reads .gz writes this too: one more to load would
 * cost every start of the program. 0: it did not fit. */
#ifdef LPO_HAVE_ISAL
static size_t compress_bytes(const char *bytes, size_t len, bool gzip, unsigned char *out,
                             size_t room)
{
    LPO_FREED struct isal_zstream *z = lpo_xcalloc(1, sizeof *z);
    size_t size = 0;

    isal_deflate_init(z);
    z->gzip_flag = gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
    z->level = 3;
    z->level_buf_size = ISAL_DEF_LVL3_DEFAULT;
    z->level_buf = lpo_xcalloc(1, z->level_buf_size);
    z->end_of_stream = 1;
    z->next_in = (uint8_t *)(uintptr_t)bytes;
    z->avail_in = (uint32_t)len;
    z->next_out = out;
    z->avail_out = (uint32_t)room;
    if (isal_deflate(z) == COMP_OK && z->internal_state.state == ZSTATE_END)
        size = z->total_out;
    free(z->level_buf);
    return size;
}
#else
static size_t compress_bytes(const char *bytes, size_t len, bool gzip, unsigned char *out,
                             size_t room)
{
    z_stream z = { 0 };
    size_t size = 0;

    if (deflateInit2(&z, 6, Z_DEFLATED, gzip ? 31 : -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) == Z_STREAM_END)
        size = z.total_out;
    deflateEnd(&z);
    return size;
}
#endif

void lpo_pack_text(struct lpo_str *to, const char *bytes, size_t len)
{
    size_t room = room_for(len);
    LPO_FREED unsigned char *out = lpo_xrealloc(NULL, room, 1);
    size_t size = compress_bytes(bytes, len, false, out, room);

    if (size)
        lpo_str_add_base64(to, out, size, 0);
}

void lpo_pack_gzip(struct lpo_str *to, const char *bytes, size_t len)
{
    size_t room = room_for(len);
    char *out = lpo_str_room(to, room);

    to->len += compress_bytes(bytes, len, true, (unsigned char *)out, room);
}
