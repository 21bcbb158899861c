/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "util/regex.h"

#include <pcre2.h>
#include <stdatomic.h>

static pcre2_code *compiled(struct lpo_regex *r)
{
    pcre2_code *code = atomic_load(&r->code);
    void *before = NULL;
    int fault;
    PCRE2_SIZE at;

    if (code)
        return code;
    code = pcre2_compile((PCRE2_SPTR)r->text, strlen(r->text),
                         PCRE2_ANCHORED | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &fault, &at, NULL);
    if (!code && fault == PCRE2_ERROR_HEAP_FAILED)
        lpo_xmalloc_failed(strlen(r->text));
    if (!code)
        abort(); /* it stands in the program: a test uses them all */
    if (!atomic_compare_exchange_strong(&r->code, &before, code)) {
        pcre2_code_free(code); /* another thread was faster */
        code = before;
    }
    return code;
}

/* Ours are linear: a text of megabytes takes as many steps as it has characters. */
static pcre2_match_context *without_limits(void)
{
    static _Atomic(void *) made;
    pcre2_match_context *context = atomic_load(&made);
    void *before = NULL;

    if (context)
        return context;
    context = pcre2_match_context_create(NULL);
    if (!context)
        lpo_xmalloc_failed(0);
    pcre2_set_match_limit(context, UINT32_MAX);
    if (!atomic_compare_exchange_strong(&made, &before, context)) {
        pcre2_match_context_free(context); /* another thread was faster */
        context = before;
    }
    return context;
}

size_t lpo_regex_length(struct lpo_regex *r, const char *at, size_t len, size_t none)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    size_t length = none;

    if (!data)
        lpo_xmalloc_failed(0);
    if (pcre2_match(compiled(r), (PCRE2_SPTR)at, len, 0, 0, data, without_limits()) >= 0)
        length = pcre2_get_ovector_pointer(data)[1];
    pcre2_match_data_free(data);
    return length;
}

bool lpo_regex_is(struct lpo_regex *r, const char *at, size_t len)
{
    return lpo_regex_length(r, at, len, len + 1) == len;
}
