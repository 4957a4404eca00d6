// A folder for Hugging Face's transformers (see export_hf.h).
#include "tools/bpt/commands/export_hf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/paths.h"
#include "models/config/config_json.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"
#include "tools/bpt/commands/export_file.h"
#include "tools/bpt/corpus/side_files.h"

// ---- What can be written

// What transformers calls a model that does the task: the class AutoModelFor<this>; NULL: nothing fits.
static const char *class_of(const bpt_task_spec_t *task) {
    if (bpt_task_sides(task) > 1 || bpt_task_texts(task) > 1) return NULL;
    if (task->predicts_text) return "CausalLM";
    return !task->labelled ? NULL : task->per_token ? "TokenClassification" : "SequenceClassification";
}

static bpt_status_t check(const cli_trained_t *t, bool packed) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    const char *run = bpt_run_path(t->run);
    if (packed) return bpt_fail(BPT_ERR_USAGE, "--format hf writes weights in f32, which transformers reads; leave out --weights q8");
    if (!class_of(task))
        return bpt_fail(BPT_ERR_USAGE, "%s is %s, and --format hf is for language models, classifiers and taggers; leave it out", run,
                        task->model);
    if (bpt_kind_of(&t->config)->trees)
        return bpt_fail(BPT_ERR_USAGE, "%s is a %s, which reads trees, and --format hf is for models that read texts alone; leave it out",
                        run, bpt_kind_of(&t->config)->title);
    if (t->config.ngram_max)
        return bpt_fail(BPT_ERR_USAGE,
                        "%s reads the character n-grams of words, and --format hf is for models that read tokens alone; leave it out", run);
    return BPT_OK;
}

static bpt_status_t check_folder(const char *folder) {
    char **names;
    size_t count;
    if (bpt_file_exists(folder)) return bpt_fail(BPT_ERR_USAGE, "%s is a file, and --format hf writes a folder; name another one", folder);
    if (!bpt_folder_exists(folder)) return BPT_OK;
    BPT_TRY(bpt_folder_list(folder, &names, &count));
    bpt_names_free(names, count);
    return count ? bpt_fail(BPT_ERR_USAGE, "%s already has files; name another folder in --out, or delete this one", folder) : BPT_OK;
}

// ---- Files of the folder

static bpt_status_t write_file(const char *folder, const char *name, const void *bytes, size_t length) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/%s", folder, name));
    const bpt_status_t status = bpt_file_write(path, bytes, length);
    bpt_free(path);
    return status;
}

// Takes the object over.
static bpt_status_t write_json(const char *folder, const char *name, bpt_status_t status, json_t *object) {
    char *text = NULL;
    if (status == BPT_OK) status = bpt_json_format(object, 2, &text);
    if (status == BPT_OK) status = write_file(folder, name, text, strlen(text));
    bpt_free(text);
    json_decref(object);
    return status;
}

// Takes the value over; NULL: there was no memory for it.
static bpt_status_t set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a configuration")
                                                   : BPT_OK;
}

static bpt_status_t add_classes(json_t *config, const char *class) {
    char name[64];
    json_t *map = json_object(), *list = json_array();
    snprintf(name, sizeof name, "BptFor%s", class);
    bpt_status_t status = set(config, "auto_map", map);
    if (status == BPT_OK && json_array_append_new(list, json_string(name))) status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory");
    if (status != BPT_OK) {
        json_decref(list);
        return status;
    }
    BPT_TRY(set(config, "architectures", list));
    BPT_TRY(bpt_json_set_text(map, "AutoConfig", "configuration_bpt.BptConfig"));
    BPT_TRY(bpt_json_set_text(map, "AutoModel", "modeling_bpt.BptModel"));
    char key[64], place[96];
    snprintf(key, sizeof key, "AutoModelFor%s", class);
    snprintf(place, sizeof place, "modeling_bpt.%s", name);
    return bpt_json_set_text(map, key, place);
}

static bpt_status_t fill_labels(const bpt_labels_t *labels, json_t *config) {
    json_t *names = json_object(), *numbers = json_object();
    BPT_TRY(set(config, "id2label", names));
    BPT_TRY(set(config, "label2id", numbers));
    for (size_t i = 0; i < labels->count; ++i) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        BPT_TRY(bpt_json_set_text(names, number, labels->name[i]));
        BPT_TRY(bpt_json_set_int(numbers, labels->name[i], (int64_t)i));
    }
    return BPT_OK;
}

static bpt_status_t add_labels(const cli_trained_t *t, json_t *config) {
    bpt_labels_t labels = {0};
    if (!bpt_task_of(&t->config)->labelled) return BPT_OK;
    const bool named = bpt_file_exists(bpt_run_labels_path(t->run));
    bpt_status_t status = named ? cli_run_labels(&t->checkpoint, &labels) : bpt_labels_numbers(&labels, bpt_model_labels(&t->config));
    if (status == BPT_OK) status = fill_labels(&labels, config);
    bpt_labels_free(&labels);
    return status;
}

static bpt_status_t write_config(const cli_trained_t *t, const char *folder) {
    json_t *config = json_object(), *model = NULL;
    bpt_status_t status = bpt_json_set_text(config, "model_type", "bpt");
    if (status == BPT_OK) status = add_classes(config, class_of(bpt_task_of(&t->config)));
    if (status == BPT_OK) status = bpt_json_set_text(config, "dtype", "float32");
    if (status == BPT_OK) status = bpt_model_config_to_json(&t->config, &model);
    if (status == BPT_OK) status = set(config, "bpt", model);
    if (status == BPT_OK) status = add_labels(t, config);
    return write_json(folder, "config.json", status, config);
}

// ---- The tokenizer

static bpt_status_t fill_tokenizer(const cli_trained_t *t, json_t *config) {
    const cli_data_options_t *d = &t->stored.data;
    const bool windows = bpt_task_of(&t->config)->reads == BPT_READS_WINDOWS, per_token = bpt_task_of(&t->config)->per_token;
    const int64_t most = d->truncate ? d->truncate : bpt_model_positions(&t->config);
    json_t *map = json_object();
    BPT_TRY(set(config, "auto_map", map));
    BPT_TRY(set(map, "AutoTokenizer", json_pack("[s, n]", "tokenization_bpt.BptTokenizer")));
    BPT_TRY(bpt_json_set_text(config, "tokenizer_class", "BptTokenizer"));
    BPT_TRY(bpt_json_set_text(config, "unit", bpt_unit_names[t->unit]));
    BPT_TRY(bpt_json_set_bool(config, "lower", d->lower));
    BPT_TRY(bpt_json_set_bool(config, "line_ends", windows && bpt_unit_of(t->unit)->words));
    BPT_TRY(bpt_json_set_bool(config, "strip_punctuation", d->strip_punctuation && !per_token));
    return most ? bpt_json_set_int(config, "model_max_length", most) : BPT_OK;
}

// A run of bytes without a vocab.txt has the tokens that any such run has.
static bpt_status_t write_vocabulary(const cli_trained_t *t, const char *folder) {
    char *text;
    bpt_strbuf_t plain = {0};
    BPT_TRY(cli_run_text(&t->checkpoint, BPT_RUN_VOCAB, t->unit, t->stored.data.lower, &text));
    if (text) {
        const bpt_status_t status = write_file(folder, "vocab.txt", text, strlen(text));
        bpt_free(text);
        return status;
    }
    if (t->unit != BPT_UNIT_BYTE)
        return bpt_fail(BPT_ERR_INPUT, "%s has no vocab.txt; copy it from where the run was trained", bpt_run_path(t->run));
    bpt_vocab_t *vocab;
    BPT_TRY(bpt_vocab_create(BPT_UNIT_BYTE, false, &vocab));
    bpt_status_t status = bpt_vocab_format(vocab, &plain);
    if (status == BPT_OK) status = write_file(folder, "vocab.txt", plain.data, plain.length);
    bpt_strbuf_free(&plain);
    bpt_vocab_destroy(vocab);
    return status;
}

static bpt_status_t write_subwords(const cli_trained_t *t, const char *folder) {
    char *model;
    size_t bytes;
    BPT_TRY(cli_run_subword_model(&t->checkpoint, &model, &bytes));
    const bpt_status_t status =
        model ? write_file(folder, "subword.model", model, bytes)
              : bpt_fail(BPT_ERR_INPUT, "%s has no subword.model; copy it from where the run was trained", bpt_run_path(t->run));
    bpt_free(model);
    return status;
}

// Models of token numbers have none.
static bpt_status_t write_tokenizer(const cli_trained_t *t, const char *folder) {
    if (t->unit == BPT_UNIT_IDS) return BPT_OK;
    json_t *config = json_object();
    BPT_TRY(write_json(folder, "tokenizer_config.json", fill_tokenizer(t, config), config));
    return bpt_unit_of(t->unit)->pieces ? write_subwords(t, folder) : write_vocabulary(t, folder);
}

// ---- The folder

static bpt_status_t write_all(const cli_trained_t *t, const char *folder) {
    char *weights;
    for (const cli_hf_file_t *f = cli_hf_files; f->name; ++f)
        if (t->unit != BPT_UNIT_IDS || strncmp(f->name, "tokenization", 12) != 0)
            BPT_TRY(write_file(folder, f->name, f->text, strlen(f->text)));
    BPT_TRY(write_tokenizer(t, folder));
    BPT_TRY(write_config(t, folder));
    BPT_TRY(bpt_path_format(&weights, "%s/model.safetensors", folder));
    const bpt_status_t status = cli_export_file(t, "pt", false, weights);
    bpt_free(weights);
    return status;
}

static bpt_status_t write_beside(const cli_trained_t *t, const char *folder) {
    char *beside;
    const size_t length = strlen(folder);
    BPT_TRY(bpt_path_format(&beside, "%.*s.tmp-hf", (int)(length > 1 && bpt_path_separates(folder[length - 1]) ? length - 1 : length), folder));
    bpt_status_t status = bpt_path_remove(beside);
    if (status == BPT_OK) status = bpt_folders_create(beside);
    if (status == BPT_OK) status = write_all(t, beside);
    if (status == BPT_OK) status = bpt_folder_rename(beside, folder);
    if (bpt_path_remove(beside) != BPT_OK && status == BPT_OK) status = BPT_ERR_IO;  // an empty folder that was there before
    bpt_free(beside);
    return status;
}

bpt_status_t cli_export_hf(const cli_trained_t *t, bool packed, const char *folder) {
    BPT_TRY(check(t, packed));
    BPT_TRY(check_folder(folder));
    return write_beside(t, folder);
}
