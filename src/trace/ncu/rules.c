/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of Nsight Compute: what its sections conclude about a kernel, in words, and the share of
 * the kernel's time that it expects to be saved. Numbers of fields were read off reports of ncu
 * 2025.3 and compared with what its details page prints. */

#include "trace/ncu/rep.h"

enum { MOST_RULES = 1 << 20, MOST_TEXT = 1 << 16 };

enum { RULE_ID = 1, RULE_BODY = 3, RULE_SECTION = 4 };
enum { BODY_ITEM = 1 };
enum { ITEM_MESSAGE = 1, ITEM_SPEEDUP = 10 };
enum { MESSAGE_TEXT = 1, MESSAGE_KIND = 2, MESSAGE_TITLE = 4 };
enum { SPEEDUP_KIND = 1, SPEEDUP_PERCENT = 2 };

/* Adds what a reference says to people; false: it is none. */
static bool add_reference(struct lpo_str *to, const char *mark, size_t len)
{
    const char *colon = memchr(mark, ':', len), *next, *end = mark + len;
    bool url = len > 4 && memcmp(mark, "url:", 4) == 0;

    if (!colon || (!url && (len < 8 || memcmp(mark, "section:", 8) != 0)))
        return false;
    colon++;
    next = memchr(colon, ':', (size_t)(end - colon));
    if (!next)
        return false;
    if (url) {
        lpo_str_addn(to, colon, (size_t)(next - colon));
        lpo_str_add(to, " (");
        lpo_str_addn(to, next + 1, (size_t)(end - next) - 1);
        lpo_str_add(to, ")");
    } else {
        lpo_str_addn(to, next + 1, (size_t)(end - next) - 1);
    }
    return true;
}

uint32_t lpo_ncu_rule_text(struct lpo_trace *t, const char *text, size_t len)
{
    const char *end = text + (len < MOST_TEXT ? len : MOST_TEXT);
    LPO_STR plain = { 0 };

    while (text < end) {
        const char *mark = memchr(text, '@', (size_t)(end - text));
        const char *close = mark ? memchr(mark + 1, '@', (size_t)(end - mark) - 1) : NULL;

        lpo_str_addn(&plain, text, (size_t)((mark ? mark : end) - text));
        text = mark ? mark + 1 : end;
        if (close && add_reference(&plain, mark + 1, (size_t)(close - mark) - 1))
            text = close + 1;
        else if (mark)
            lpo_str_addc(&plain, '@');
    }
    return lpo_trace_namen(t, lpo_str_text(&plain), plain.len);
}

void lpo_ncu_rule_add(struct lpo_trace *t, const struct lpo_rule *rule)
{
    if (t->rules.len < MOST_RULES)
        lpo_vec_push(&t->rules, *rule);
}

static uint32_t name_of(struct lpo_trace *t, const struct lpo_proto_field *f)
{
    return lpo_trace_namen(t, (const char *)f->bytes,
                           (size_t)(f->value < MOST_TEXT ? f->value : MOST_TEXT));
}

static void read_message(struct lpo_trace *t, struct lpo_proto m, struct lpo_rule *rule)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == MESSAGE_TEXT && f.wire == LPO_WIRE_BYTES)
            rule->text = lpo_ncu_rule_text(t, (const char *)f.bytes, (size_t)f.value);
        else if (f.number == MESSAGE_TITLE && f.wire == LPO_WIRE_BYTES && f.value)
            rule->title = name_of(t, &f);
        else if (f.number == MESSAGE_KIND && f.wire == LPO_WIRE_VARINT &&
                 f.value <= LPO_RULE_ADVICE)
            rule->kind = (uint8_t)f.value;
    }
}

static void read_speedup(struct lpo_proto m, struct lpo_rule *rule)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == SPEEDUP_KIND && f.wire == LPO_WIRE_VARINT && f.value <= LPO_SPEEDUP_GLOBAL)
            rule->speedup = (uint8_t)f.value;
        else if (f.number == SPEEDUP_PERCENT && f.wire == LPO_WIRE_64)
            rule->percent = lpo_proto_double(&f);
    }
    /* of its own time nothing can save more than all */
    if (!(rule->percent >= 0 && rule->percent <= 100))
        rule->percent = (double)NAN;
}

/* One item of a rule's body: a message, and perhaps what following it would save. */
static void read_item(struct lpo_trace *t, struct lpo_proto m, struct lpo_rule rule)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == ITEM_MESSAGE && f.wire == LPO_WIRE_BYTES)
            read_message(t, lpo_proto_inner(&f), &rule);
        else if (f.number == ITEM_SPEEDUP && f.wire == LPO_WIRE_BYTES)
            read_speedup(lpo_proto_inner(&f), &rule);
    }
    if (rule.text != LPO_NONE)
        lpo_ncu_rule_add(t, &rule);
}

void lpo_ncu_rep_rule(struct lpo_trace *t, uint32_t op, const struct lpo_proto_field *result)
{
    struct lpo_proto m = lpo_proto_inner(result), body = { 0 };
    struct lpo_proto_field f;
    struct lpo_rule rule = { .op = op,
                             .section = LPO_NONE,
                             .rule = LPO_NONE,
                             .title = LPO_NONE,
                             .text = LPO_NONE,
                             .percent = (double)NAN };

    while (lpo_proto_next(&m, &f)) {
        if (f.number == RULE_ID && f.wire == LPO_WIRE_BYTES)
            rule.rule = name_of(t, &f);
        else if (f.number == RULE_SECTION && f.wire == LPO_WIRE_BYTES)
            rule.section = name_of(t, &f);
        else if (f.number == RULE_BODY && f.wire == LPO_WIRE_BYTES)
            body = lpo_proto_inner(&f); /* the section comes behind it */
    }
    while (lpo_proto_next(&body, &f))
        if (f.number == BODY_ITEM && f.wire == LPO_WIRE_BYTES)
            read_item(t, lpo_proto_inner(&f), rule);
}
