#include "trace/native/open.h"

#include "trace/trace.h"

static uint32_t *top_of(struct native_opens *o, uint16_t domain)
{
    while (o->tops.len <= domain)
        lpo_vec_push(&o->tops, NATIVE_NO_OPEN);
    return &o->tops.at[domain];
}

static uint32_t take_place(struct native_opens *o)
{
    uint32_t place = o->unused;

    if (place != NATIVE_NO_OPEN) {
        o->unused = o->at.at[place].below;
        return place;
    }
    lpo_vec_push(&o->at, (struct native_open){ 0 });
    return (uint32_t)(o->at.len - 1);
}

void lpo_native_opens_push(struct native_opens *o, struct native_open open)
{
    uint32_t place, *top;

    if (!o->started) {
        o->bottom = o->top = o->unused = NATIVE_NO_OPEN;
        o->started = true;
    }
    place = take_place(o);
    top = top_of(o, open.domain);
    open.below = o->top;
    open.above = NATIVE_NO_OPEN;
    open.under = *top;
    o->at.at[place] = open;
    if (o->top != NATIVE_NO_OPEN)
        o->at.at[o->top].above = place;
    else
        o->bottom = place;
    o->top = *top = place;
}

bool lpo_native_opens_pop(struct native_opens *o, uint16_t domain, struct native_open *out)
{
    uint32_t *top = top_of(o, domain), place = *top;
    struct native_open *gone;

    if (!o->started || place == NATIVE_NO_OPEN)
        return false;
    gone = &o->at.at[place];
    *out = *gone;
    *top = gone->under;
    if (gone->below != NATIVE_NO_OPEN)
        o->at.at[gone->below].above = gone->above;
    else
        o->bottom = gone->above;
    if (gone->above != NATIVE_NO_OPEN)
        o->at.at[gone->above].below = gone->below;
    else
        o->top = gone->below;
    gone->below = o->unused;
    o->unused = place;
    return true;
}

size_t lpo_native_opens_frames(const struct native_opens *o, struct lpo_frame *frames, size_t most,
                               bool *more)
{
    uint32_t place = o->started ? o->bottom : NATIVE_NO_OPEN;
    size_t count = 0;

    for (; place != NATIVE_NO_OPEN && count < most; place = o->at.at[place].above)
        frames[count++] = (struct lpo_frame){ .name = o->at.at[place].name,
                                              .domain = o->at.at[place].domain,
                                              .kind = LPO_PUSH_POP };
    *more = place != NATIVE_NO_OPEN;
    return count;
}

void lpo_native_opens_free(struct native_opens *o)
{
    lpo_vec_free(&o->at);
    lpo_vec_free(&o->tops);
}
