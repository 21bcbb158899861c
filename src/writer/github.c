/* SPDX-License-Identifier: Apache-2.0 */
/* A comment on a pull request: the Markdown of a comparison, the first two sections open and the
 * others folded, in what GitHub takes. The first line marks the comment, so that a later run finds
 * and replaces it. */

#include "writer/writer.h"

enum { MOST = 65000, OPEN = 2 }; /* GitHub takes 65,536 characters */

static const char mark[] = "<!-- lpo diff -->\n";

struct section {
    const char *at, *end, *title;
    int title_len;
};

/* The next section at `p`, which begins with "## "; what stands before the first is one, too. */
static const char *take_section(const char *p, struct section *s)
{
    const char *end = strstr(p, "\n## ");

    *s = (struct section){ p, end ? end + 1 : p + strlen(p), NULL, 0 };
    if (strncmp(p, "## ", 3) == 0) {
        s->title = p + 3;
        s->title_len = (int)strcspn(s->title, "\n");
        s->at = s->title + s->title_len;
    }
    return s->end;
}

static void add_section(struct lpo_str *out, const struct section *s, bool open)
{
    int len = (int)(s->end - s->at);

    if (!s->title)
        lpo_str_addf(out, "##%.*s", len, s->at); /* "# A against B": a comment's titles are small */
    else if (open)
        lpo_str_addf(out, "#### %.*s%.*s", s->title_len, s->title, len, s->at);
    else
        lpo_str_addf(out, "<details><summary>%.*s</summary>\n%.*s\n</details>\n\n", s->title_len,
                     s->title, len, s->at);
}

static void github_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    LPO_STR text = { 0 };
    LPO_STR left = { 0 };
    int number = 0;

    lpo_writer_md.write(doc, &text);
    lpo_str_add(out, mark);
    for (const char *p = lpo_str_text(&text); *p;) {
        LPO_STR one = { 0 };
        struct section s;

        p = take_section(p, &s);
        number += s.title != NULL;
        add_section(&one, &s, number <= OPEN);
        if (out->len + one.len + 1000 <= MOST)
            lpo_str_addn(out, lpo_str_text(&one), one.len);
        else
            lpo_str_addf(&left, "%s%.*s", left.len ? ", " : "", s.title_len, s.title);
    }
    if (left.len)
        lpo_str_addf(out,
                     "Too long for a comment: %.900s. They are in the other files of this run.\n",
                     lpo_str_text(&left));
}

const struct lpo_writer lpo_writer_github = {
    .name = "github",
    .summary = "a comparison as a comment on a pull request",
    .kind = "diff",
    .file = "comment.md",
    .write = github_write,
};
