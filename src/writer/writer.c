/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/writer.h"

#include "report/doc/doc.h"
#include "util/file.h"
#include "util/file_queue.h"
#include "util/path.h"
#include "util/units.h"

/* The order of --format in messages. */
static const struct lpo_writer *const writers[] = {
    &lpo_writer_text,     &lpo_writer_md,  &lpo_writer_json,  &lpo_writer_html,   &lpo_writer_csv,
    &lpo_writer_perfetto, &lpo_writer_svg, &lpo_writer_junit, &lpo_writer_github,
};

enum { NWRITERS = sizeof writers / sizeof *writers };

const struct lpo_writer *lpo_writer_at(size_t i)
{
    return i < NWRITERS ? writers[i] : NULL;
}

const struct lpo_writer *lpo_writer_find(const char *name)
{
    for (size_t i = 0; i < NWRITERS; i++)
        if (strcmp(writers[i]->name, name) == 0)
            return writers[i];
    return NULL;
}

int lpo_writer_write(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *path,
                     struct lpo_err *err)
{
    LPO_STR out = { 0 };

    writer->write(doc, &out);
    if (lpo_file_write(path, lpo_str_text(&out), out.len, err) < 0)
        return lpo_ctx(err, "cannot write the report '%s'", path);
    return 0;
}

void lpo_writer_queue(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *path,
                      struct lpo_file_queue *queue)
{
    LPO_STR out = { 0 };

    writer->write(doc, &out);
    lpo_file_queue_add(queue, path, &out);
}

static int queue_figures(const struct lpo_doc *doc, const struct lpo_writer *writer,
                         const char *dir, struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++) {
            const struct lpo_item *item = &doc->sections.at[i]->items.at[k];
            const char *hole = strstr(writer->file, "%s"), *path;
            LPO_STR out = { 0 };

            if (item->kind != LPO_ITEM_FIGURE || !writer->draw(item->figure, &out))
                continue;
            path = lpo_arena_printf(a, "%s/%.*s%s%s", dir, (int)(hole - writer->file), writer->file,
                                    item->figure->id, hole + 2);
            if (lpo_file_make_dirs(lpo_path_dir(a, path), err) < 0)
                return lpo_ctx(err, "cannot write the figure '%s'", path);
            lpo_file_queue_add(queue, path, &out);
        }
    return 0;
}

const char *lpo_writer_table_file(const struct lpo_doc *doc, const struct lpo_writer *writer,
                                  size_t i, struct lpo_arena *arena, const struct lpo_table **t)
{
    const char *hole = strstr(writer->file, "%s");
    LPO_VEC(const struct lpo_table *) tables = { 0 };
    size_t same = 1;

    for (size_t s = 0; s < doc->sections.len; s++)
        for (size_t k = 0; k < doc->sections.at[s]->items.len && tables.len <= i; k++)
            if (doc->sections.at[s]->items.at[k].kind == LPO_ITEM_TABLE)
                lpo_vec_push(&tables, doc->sections.at[s]->items.at[k].table);
    *t = tables.len > i ? tables.at[i] : NULL;
    for (size_t k = 0; *t && k < i; k++)
        same += strcmp(tables.at[k]->id, (*t)->id) == 0;
    lpo_vec_free(&tables);
    if (!*t)
        return NULL;
    return lpo_arena_printf(arena, "%.*s%s%s%s", (int)(hole - writer->file), writer->file, (*t)->id,
                            same > 1 ? lpo_arena_printf(arena, "-%zu", same) : "", hole + 2);
}

static int queue_tables(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *dir,
                        struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_table *t;
    const char *file;

    for (size_t i = 0; (file = lpo_writer_table_file(doc, writer, i, a, &t)); i++) {
        const char *path = lpo_path_join(a, dir, file);
        LPO_STR out = { 0 };

        if (lpo_file_make_dirs(lpo_path_dir(a, path), err) < 0)
            return lpo_ctx(err, "cannot write the table '%s'", path);
        writer->print(t, &out);
        lpo_file_queue_add(queue, path, &out);
    }
    return 0;
}

static int queue_chapters(const struct lpo_doc *doc, const struct lpo_writer *writer,
                          const char *dir, struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (size_t i = 0; i < doc->sections.len; i++) {
        LPO_STR out = { 0 };
        const char *file = writer->chapter(doc, i, &out);
        const char *path = file ? lpo_path_join(a, dir, file) : NULL;

        if (path && lpo_file_make_dirs(lpo_path_dir(a, path), err) < 0)
            return lpo_ctx(err, "cannot write the page '%s'", path);
        if (path)
            lpo_file_queue_add(queue, path, &out);
    }
    return 0;
}

int lpo_writer_queue_into(const struct lpo_doc *doc, const struct lpo_writer *writer,
                          const char *dir, struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = NULL;

    if (writer->draw)
        return queue_figures(doc, writer, dir, queue, err);
    if (writer->print)
        return queue_tables(doc, writer, dir, queue, err);
    a = lpo_arena_create();
    lpo_writer_queue(doc, writer, lpo_path_join(a, dir, writer->file), queue);
    return writer->chapter ? queue_chapters(doc, writer, dir, queue, err) : 0;
}

static int queue_pair(const struct lpo_doc *doc, const char *dir, const char *name,
                      struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    if (lpo_file_make_dirs(dir, err) < 0)
        return err ? err->code : LPO_E_IO;
    lpo_writer_queue(doc, &lpo_writer_md, lpo_arena_printf(a, "%s/%s.md", dir, name), queue);
    lpo_writer_queue(doc, &lpo_writer_json, lpo_arena_printf(a, "%s/%s.json", dir, name), queue);
    return 0;
}

int lpo_writer_write_pair(const struct lpo_doc *doc, const char *dir, const char *name,
                          struct lpo_err *err)
{
    LPO_AUTO(lpo_file_queue) queue = lpo_file_queue_create();

    if (queue_pair(doc, dir, name, queue, err) < 0)
        return err ? err->code : LPO_E_IO;
    return lpo_file_queue_finish(queue, err);
}

/* 0 - (uint64_t)x is the size of any negative number, the smallest too; -x would overflow there. */
static void print_count(const struct lpo_doc_cell *cell, struct lpo_str *out)
{
    if (cell->whole < 0)
        lpo_str_addc(out, '-');
    lpo_units_add_count(out, cell->whole < 0 ? 0 - (uint64_t)cell->whole : (uint64_t)cell->whole);
}

void lpo_writer_cell(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                     struct lpo_str *out)
{
    if (cell->how == LPO_UNKNOWN) {
        lpo_str_add(out, "n/a");
        return;
    }
    if (cell->how == LPO_ESTIMATED)
        lpo_str_addc(out, '~');
    switch (column->type) {
    case LPO_CELL_TEXT:
    case LPO_CELL_LIST:
        lpo_str_addn(out, cell->text, cell->len);
        break;
    case LPO_CELL_COUNT:
        print_count(cell, out);
        break;
    case LPO_CELL_NS:
        lpo_units_add_duration(out, cell->whole);
        break;
    case LPO_CELL_BYTES:
        lpo_units_add_bytes(out, cell->real);
        break;
    case LPO_CELL_PERCENT:
        lpo_units_add_percent(out, 100 * cell->real);
        break;
    case LPO_CELL_MEASURE:
        lpo_units_add_si(out, cell->real, column->unit ? column->unit : "");
        break;
    case LPO_CELL_FLAG:
        lpo_str_add(out, cell->whole ? "yes" : "no");
        break;
    }
}
