#include "report/doc/doc.h"
#include "report/static/static.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

int lpo_writer_static_write(struct lpo_arena *a, const char *dir, const struct lpo_static_report *r,
                            struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = lpo_static_doc(r);
    LPO_STR json = { 0 };

    lpo_static_json(r, &json);
    if (lpo_file_make_dirs(dir, err) < 0 ||
        lpo_file_write(lpo_path_join(a, dir, "static_compute.json"), lpo_str_text(&json), json.len,
                       err) < 0)
        return err->code;
    return lpo_writer_write(doc, &lpo_writer_md, lpo_path_join(a, dir, "static_compute.md"), err);
}
