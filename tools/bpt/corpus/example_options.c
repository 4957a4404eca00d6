// How files of examples are read (see example_options.h).
#include "tools/bpt/corpus/example_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/log.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"

// ---- The format

// What an example of the task needs.
static unsigned needs_of(const bpt_task_spec_t *task) {
    if (task->reads == BPT_READS_WINDOWS || bpt_task_sides(task) == 2) return BPT_GIVES_RUNNING;
    if (task->per_token) return BPT_GIVES_TAGS;
    return (bpt_task_texts(task) == 2 ? BPT_GIVES_PAIRS : 0) | (task->values ? BPT_GIVES_NUMBERS : BPT_GIVES_LABELS);
}

static bool has_all(const bpt_format_t *format, unsigned gives, unsigned takes) {
    return (format->gives & gives) == gives && (format->takes & takes) == takes;
}

static bool is_conllu_column(const char *text) { return !strcmp(text, "upos") || !strcmp(text, "xpos"); }

// The first format that gives and takes so much.
static bpt_format_id_t first_format(unsigned gives, unsigned takes) {
    int f = 0;
    while (f + 1 < BPT_N_FORMATS && !has_all(bpt_format_of((bpt_format_id_t)f), gives, takes)) ++f;
    return (bpt_format_id_t)f;
}

// Where nothing says it. Named fields, texts alone, or columns where there are two texts, numbers, or other columns than the usual ones.
static bpt_format_id_t usual_format(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    if (*d->text_field || *d->label_field) return first_format(needs_of(task), BPT_TAKES_FIELDS);
    if (task->per_token && unit == BPT_UNIT_IDS) return BPT_FORMAT_TEXT;
    if (task->per_token) return is_conllu_column(d->label_column) ? BPT_FORMAT_CONLLU : BPT_FORMAT_CONLL;
    const bool columns = bpt_task_texts(task) == 2 || task->values || *d->label_column || *d->text_column || *d->where;
    return columns ? BPT_FORMAT_COLUMNS : bpt_kind_of(m)->trees ? BPT_FORMAT_TREES : BPT_FORMAT_TEXT;
}

static bpt_format_id_t format_of(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit, const char *path) {
    bpt_format_id_t format;
    if (d->format) return (bpt_format_id_t)(d->format - 1);
    return path && bpt_format_of_file(path, &format) ? format : usual_format(d, m, unit);
}

// "text, columns or trees": those that give and take so much.
enum { NAMES_BYTES = 128 };
static const char *list_formats(unsigned gives, unsigned takes, char text[NAMES_BYTES]) {
    int found[BPT_N_FORMATS], n = 0, used = 0;
    for (int f = 0; f < BPT_N_FORMATS; ++f)
        if (has_all(bpt_format_of((bpt_format_id_t)f), gives, takes)) found[n++] = f;
    *text = 0;
    for (int i = 0; i < n && used < NAMES_BYTES; ++i)
        used += snprintf(text + used, (size_t)(NAMES_BYTES - used), "%s%s",
                         i == 0      ? ""
                         : i + 1 < n ? ", "
                                     : " or ",
                         bpt_format_names[found[i]]);
    return text;
}

static bpt_status_t check_format(const bpt_task_spec_t *task, bpt_format_id_t format) {
    char names[NAMES_BYTES];
    const unsigned needs = needs_of(task);
    if ((bpt_format_of(format)->gives & needs) == needs) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--format %s is not for --task %s, whose files are --format %s", bpt_format_names[format], task->name,
                    list_formats(needs, 0, names));
}

// ---- Where in a file things are

// Options that say it; each goes with some formats.
static const struct {
    const char *option;
    unsigned takes;
    size_t place;  // of the text in cli_data_options_t
} places[] = {
    {"label-column", BPT_TAKES_LABEL_COLUMN, offsetof(cli_data_options_t, label_column)},
    {"text-column", BPT_TAKES_TEXT_COLUMN, offsetof(cli_data_options_t, text_column)},
    {"where", BPT_TAKES_WHERE, offsetof(cli_data_options_t, where)},
    {"label-field", BPT_TAKES_FIELDS, offsetof(cli_data_options_t, label_field)},
    {"text-field", BPT_TAKES_FIELDS, offsetof(cli_data_options_t, text_field)},
};

static char **place_of(const cli_data_options_t *d, size_t i) { return (char **)(void *)((char *)d + places[i].place); }

static bpt_status_t refuse_place(const bpt_task_spec_t *task, bpt_format_id_t format, const char *option, unsigned takes) {
    char names[NAMES_BYTES];
    const char *fixed = needs_of(task) & BPT_GIVES_RUNNING ? NULL : bpt_format_of(format)->fixed;
    return bpt_fail(BPT_ERR_USAGE, "--%s goes with --format %s, not with %s%s%s", option, list_formats(needs_of(task), takes, names),
                    bpt_format_names[format], fixed ? ": " : "", fixed ? fixed : "");
}

static bpt_status_t check_places(const bpt_task_spec_t *task, const cli_data_options_t *d, bpt_format_id_t format) {
    const unsigned takes = bpt_format_of(format)->takes;
    for (size_t i = 0; i < BPT_COUNT(places); ++i)
        if (**place_of(d, i) && !(takes & places[i].takes)) return refuse_place(task, format, places[i].option, places[i].takes);
    return d->header && !(takes & BPT_TAKES_HEADER) ? refuse_place(task, format, "header", BPT_TAKES_HEADER) : BPT_OK;
}

bpt_status_t cli_examples_check_subtrees(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_format_id_t format) {
    char names[NAMES_BYTES];
    if (!d->subtrees || bpt_format_of(format)->gives & BPT_GIVES_PHRASES) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "--subtrees makes examples of phrases in brackets, which --format %s has and %s has not; say --no-subtrees",
                    list_formats(needs_of(bpt_task_of(m)) | BPT_GIVES_PHRASES, 0, names), bpt_format_names[format]);
}

void cli_examples_given(const cli_options_t *o, cli_data_options_t *d) {
    for (size_t i = 0; i < BPT_COUNT(places); ++i)
        if (cli_option_source(o, places[i].option) == CLI_FROM_FLAG) *place_of(d, i) = *place_of(&o->data, i);
    if (cli_option_source(o, "format") == CLI_FROM_FLAG) d->format = o->data.format;
    if (cli_option_source(o, "header") == CLI_FROM_FLAG) d->header = o->data.header;
    if (cli_option_source(o, "trees") == CLI_FROM_FLAG) d->trees = o->data.trees;
}

void cli_examples_fit(const cli_options_t *o, const bpt_model_config_t *m, bpt_unit_t unit, const char *path, cli_data_options_t *d) {
    const unsigned takes = bpt_format_of(format_of(d, m, unit, path))->takes;
    for (size_t i = 0; i < BPT_COUNT(places); ++i)
        if (!(takes & places[i].takes) && cli_option_source(o, places[i].option) != CLI_FROM_FLAG) *place_of(d, i) = "";
    if (!(takes & BPT_TAKES_HEADER) && cli_option_source(o, "header") != CLI_FROM_FLAG) d->header = false;
}

// A column number of an option; 0 where it is not given.
static bpt_status_t column_of(const char *option, const char *text, const char **rest, int *out) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || errno || value < 1 || value > 1000)
        return bpt_fail(BPT_ERR_USAGE, "--%s %s: columns are numbers from 1 on", option, text);
    *rest = end;
    *out = (int)value;
    return BPT_OK;
}

static bpt_status_t parse_label_column(const char *text, bpt_examples_options_t *e) {
    const char *rest = "";
    if (e->format == BPT_FORMAT_CONLLU) {
        e->label_column = strcmp(text, "xpos") ? 4 : 5;
        return !*text || is_conllu_column(text) ? BPT_OK
                                                : bpt_fail(BPT_ERR_USAGE, "--label-column %s: the tags of CoNLL-U are upos or xpos", text);
    }
    if (!*text) return BPT_OK;
    BPT_TRY(column_of("label-column", text, &rest, &e->label_column));
    return *rest ? bpt_fail(BPT_ERR_USAGE, "--label-column %s: one column, or upos or xpos of CoNLL-U files with --task tag", text)
                 : BPT_OK;
}

static bpt_status_t parse_text_column(const char *text, bpt_examples_options_t *e) {
    const char *rest = text;
    if (!*text) return BPT_OK;
    BPT_TRY(column_of("text-column", text, &rest, &e->text_column[0]));
    if (e->texts == 2 && *rest == ',') BPT_TRY(column_of("text-column", rest + 1, &rest, &e->text_column[1]));
    if (!*rest && (e->texts != 2 || e->text_column[1])) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--text-column %s: %s", text,
                    e->texts == 2 ? "a pair needs two columns, such as 2,3" : "one column is needed");
}

static bpt_status_t parse_where(const char *text, bpt_examples_options_t *e) {
    const char *rest = text;
    if (!*text) return BPT_OK;
    BPT_TRY(column_of("where", text, &rest, &e->where_column));
    if (*rest != '=') return bpt_fail(BPT_ERR_USAGE, "--where %s: it must be a column and a value, such as 1=books", text);
    e->where = rest + 1;
    return BPT_OK;
}

static bpt_status_t parse_text_field(const char *text, bpt_examples_options_t *e) {
    const char *comma = e->texts == 2 ? strchr(text, ',') : NULL, *second = comma ? comma + 1 : "";
    e->text_field[0] = (bpt_word_t){text, comma ? (size_t)(comma - text) : strlen(text)};
    e->text_field[1] = (bpt_word_t){second, strlen(second)};
    if (e->texts != 2 || !*text || (e->text_field[0].bytes && *second)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--text-field %s: a pair needs two fields, such as premise,hypothesis", text);
}

// A tree has a place for each of its words, and columns have no brackets.
static bpt_status_t check_trees(const bpt_examples_options_t *e) {
    if (!e->trees) return BPT_OK;
    if (e->truncate || e->strip_punctuation)
        return bpt_fail(BPT_ERR_USAGE, "--%s takes words out of a text, and --model tree needs all words of its trees; leave it out",
                        e->truncate ? "truncate" : "strip-punctuation");
    if (e->made == BPT_TREES_FILE && !(bpt_format_of(e->format)->gives & BPT_GIVES_TREES))
        return bpt_fail(BPT_ERR_USAGE, "texts in %s have no trees; make them with --trees balanced, right or flat",
                        bpt_format_names[e->format]);
    return BPT_OK;
}

// Runs from before the option, and model files, do not say how their labels were read; the labels do.
static bool has_function_tag(const bpt_labels_t *known) {
    for (size_t i = 0; i < known->count; ++i)
        if (known->name[i][0] != '-' && strpbrk(known->name[i] + 1, "-=")) return true;
    return false;
}

static bool has_root(const bpt_labels_t *known) {
    uint32_t class;
    return bpt_labels_find(known, &(bpt_word_t){"ROOT", 4}, &class) || bpt_labels_find(known, &(bpt_word_t){"TOP", 3}, &class);
}

static void read_labels_as(const cli_data_options_t *d, const bpt_labels_t *known, bpt_examples_options_t *e) {
    const bool open = d->function_tags == CLI_FUNCTIONS_KNOWN;
    e->cut_functions = open ? !has_function_tag(known) : d->function_tags == CLI_FUNCTIONS_CUT;
    e->skip_root = !open || !has_root(known);
}

static bool is_table(bpt_format_id_t format) {
    const unsigned takes = bpt_format_of(format)->takes;
    return takes & BPT_TAKES_FIELDS && takes & BPT_TAKES_LABEL_COLUMN;
}

bool cli_examples_is_table(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit, const char *path) {
    return is_table(format_of(d, m, unit, path));
}

// A table whose first line has names is read by them, unless columns are counted.
static bpt_status_t choose_names(const cli_data_options_t *d, bpt_examples_options_t *e) {
    const bool counted = *d->label_column || *d->text_column, named = *d->label_field || *d->text_field;
    if (!is_table(e->format)) return BPT_OK;
    if (counted && named)
        return bpt_fail(BPT_ERR_USAGE, "--%s counts columns, and --%s names one; give numbers or names for all",
                        *d->label_column ? "label-column" : "text-column", *d->label_field ? "label-field" : "text-field");
    e->by_name = !counted;
    if (e->by_name) e->header = false;  // it is read
    if (!e->by_name && e->per_token) e->text_column[0] = 1, e->label_column = 2;
    return BPT_OK;
}

// The columns of texts where none are chosen.
static void set_columns(const cli_data_options_t *d, bpt_examples_options_t *e) {
    if (e->per_token || !(bpt_format_of(e->format)->takes & BPT_TAKES_LABEL_COLUMN)) return;
    e->label_column = 1, e->text_column[0] = 2;
    e->text_column[1] = e->texts == 2 && !*d->text_column ? 3 : 0;
}

bpt_status_t cli_examples_options(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit, const bpt_labels_t *known,
                                  const char *path, bpt_examples_options_t *e) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    *e = (bpt_examples_options_t){.format = format_of(d, m, unit, path),
                                  .per_token = task->per_token,
                                  .labelled = true,
                                  .header = d->header,
                                  .skip_empty = d->skip_empty,
                                  .texts = bpt_task_texts(task),
                                  .numbers = task->values,
                                  .ngram_min = m->ngram_min,
                                  .ngram_max = m->ngram_max,
                                  .ngram_rows = m->ngram_rows,
                                  .truncate = d->truncate,
                                  .room.positions = bpt_model_positions(m),
                                  .strip_punctuation = d->strip_punctuation,
                                  .trees = bpt_kind_of(m)->trees,
                                  .made = (bpt_trees_t)d->trees,
                                  .scheme = (bpt_tag_scheme_t)d->tag_scheme};
    BPT_TRY(check_format(task, e->format));
    BPT_TRY(check_places(task, d, e->format));
    BPT_TRY(choose_names(d, e));
    set_columns(d, e);
    BPT_TRY(parse_label_column(d->label_column, e));
    BPT_TRY(parse_text_column(d->text_column, e));
    BPT_TRY(parse_text_field(d->text_field, e));
    e->label_field = (bpt_word_t){d->label_field, strlen(d->label_field)};
    BPT_TRY(check_trees(e));
    read_labels_as(d, known, e);
    return parse_where(d->where, e);
}

// ---- Running text

bpt_status_t cli_running_options(const cli_data_options_t *d, const bpt_model_config_t *m, const char *field, bpt_running_t *out) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    *out = (bpt_running_t){
        .format = d->format ? (bpt_format_id_t)(d->format - 1) : BPT_FORMAT_TEXT, .field = field, .by_lines = bpt_task_sides(task) == 2};
    BPT_TRY(check_format(task, out->format));
    return check_places(task, d, out->format);
}

void cli_running_warn(const char *path) {
    bpt_format_id_t format;
    if (bpt_format_of_file(path, &format))
        bpt_warn("%s is read as it is, with all that its lines have beside the texts; bpt train and bpt eval read the texts alone with "
                 "--format %s",
                 path, bpt_format_names[format]);
}
