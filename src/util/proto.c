/* SPDX-License-Identifier: Apache-2.0 */
#include "util/proto.h"

/* The format allows ten bytes; the bits of the last that do not fit are dropped, as in Google's
 * readers. A longer one, or one that is cut, makes the rest of the message unreadable: without its
 * length nobody knows where the next field begins. */
bool lpo_proto_varint_bytewise(struct lpo_proto *m, uint64_t *out)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        unsigned char c = *m->at++;

        v |= shift < 64 ? (uint64_t)(c & 0x7f) << shift : 0;
        if (c < 0x80) {
            *out = v;
            return true;
        }
    }
    m->bad = true;
    m->at = m->end;
    return false;
}
