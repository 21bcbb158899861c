#include "hydra/yaml/tabs.h"

static char step(struct lpo_ytabs *t)
{
    char c = t->text[t->byte++];

    while (t->byte < t->len && ((unsigned char)t->text[t->byte] & 0xc0) == 0x80)
        t->byte++;
    t->chars++;
    t->column++;
    if (c == '\n') {
        t->line++;
        t->column = 1;
    }
    return c;
}

bool lpo_yaml_tabs_between(struct lpo_ytabs *t, size_t to)
{
    bool comment = false;

    while (t->chars < to && t->byte < t->len) {
        char c = t->text[t->byte];

        if (c == '\t' && !comment)
            return true;
        if (c == '#')
            comment = true;
        if (c == '\n' || c == '\r')
            comment = false;
        step(t);
    }
    return false;
}

bool lpo_yaml_tabs_over(struct lpo_ytabs *t, size_t to, bool plain)
{
    while (t->chars < to && t->byte < t->len) {
        if (plain && t->text[t->byte] == '\t')
            return true;
        step(t);
    }
    return false;
}
