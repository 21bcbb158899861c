#include "trace/reader.h"

#include "trace/trace.h"
#include "util/err.h"

static const struct lpo_reader *const readers[] = {
    NULL,
};

enum { NREADERS = sizeof readers / sizeof *readers - 1 };

int lpo_reader_find(const char *path, const struct lpo_reader **out, struct lpo_err *err)
{
    (void)out;
    for (int i = 0; i < NREADERS; i++)
        (void)readers[i];
    return lpo_fail(err, LPO_E_FORMAT, "'%s' is in no format that lpo reads", path);
}

int lpo_trace_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    const struct lpo_reader *r = NULL;

    if (lpo_reader_find(path, &r, err) < 0)
        return err->code;
    into->sources++;
    if (r->read(path, into, err) < 0)
        return lpo_ctx(err, "cannot read '%s' as %s", path, r->name);
    return 0;
}
