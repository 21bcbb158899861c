/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/markup.h"

#include "util/visible.h"

void lpo_writer_markup_add(struct lpo_str *out, const char *text, size_t len, size_t longest)
{
    static const char *const names[128] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
    };
    LPO_STR shown = { 0 };

    lpo_visible_add(&shown, text, len, longest);
    for (size_t i = 0; i < shown.len; i++) {
        unsigned char c = (unsigned char)shown.at[i];

        if (c < 128 && names[c])
            lpo_str_add(out, names[c]);
        else
            lpo_str_addc(out, (char)c);
    }
}
