/* SPDX-License-Identifier: Apache-2.0 */
#include "util/pack.h"

#include <stdlib.h>
#include <zlib.h>

#include "util/str.h"
#include "util/xmalloc.h"

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

void lpo_pack_text(struct lpo_str *to, const char *bytes, size_t len)
{
    z_stream z = { 0 };
    unsigned char *out;
    size_t room;

    /* -15: no header and no checksum, which is what "deflate-raw" means to a browser */
    if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    room = deflateBound(&z, len);
    out = lpo_xrealloc(NULL, room + 1, 1);
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.next_out = out;
    z.avail_in = (uInt)len;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) == Z_STREAM_END)
        lpo_str_add_base64(to, out, room - z.avail_out, 0);
    deflateEnd(&z);
    free(out);
}
