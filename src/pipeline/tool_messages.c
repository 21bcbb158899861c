/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/tool_messages.h"

#include <string.h>

#include "rules/rules.h"

static const char *const what[] = { "filtered", "fatal", "missing", "advice", NULL };

#define TEXT(member) LPO_RULES_MEMBER(lpo_tool_message, TEXT, member)
static const struct lpo_rules_member members[] = {
    TEXT(text),
    TEXT(meaning),
    TEXT(remedy),
    { "what", offsetof(struct lpo_tool_message, what), LPO_RULES_SET, what, NULL },
};
#undef TEXT

const struct lpo_tool_message *lpo_pipeline_tool_message_find(const char *log)
{
    static struct lpo_rules_table table =
        LPO_RULES_TABLE("tools", "messages", members, lpo_tool_message);
    size_t count;
    const struct lpo_tool_message *rows = lpo_rules_rows(&table, &count);

    for (size_t i = 0; i < count; i++)
        if (strstr(log, rows[i].text))
            return &rows[i];
    return NULL;
}
