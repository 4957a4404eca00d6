// Options as JSON: config files given by the user, the resolved config.json of a run, and the rules of a resumed run.
// Keys are option names with _ for -. Knows no command.
#include <jansson.h>

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/names.h"
#include "models/train/run_config.h"
#include "tools/bpt/options/options.h"

enum { MAX_CONFIG_BYTES = 1 << 24 };

void cli_option_key(const cli_option_t *option, char key[CLI_KEY_BYTES]) {
    snprintf(key, CLI_KEY_BYTES, "%s", option->name);
    for (char *p = key; *p; ++p)
        if (*p == '-') *p = '_';
}

static bool is_key_of(const cli_option_t *option, const char *key) {
    const char *name = option->name;
    while (*name && *key == (*name == '-' ? '_' : *name)) ++name, ++key;
    return !*name && !*key;
}

static const cli_option_t *find_key(unsigned command, const char *key) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (option->key && is_key_of(option, key) && cli_option_taken(option, command)) return option;
    }
    return NULL;
}

// Line of a key of the outermost object in valid JSON text: jansson keeps no positions of values.
static int line_of_key(const char *text, const char *key) {
    const size_t length = strlen(key);
    int line = 1, depth = 0;
    for (const char *p = text; *p; ++p) {
        if (*p == '\n') ++line;
        if (*p == '{' || *p == '[') ++depth;
        if (*p == '}' || *p == ']') --depth;
        if (*p != '"') continue;
        const char *begin = ++p;
        for (; *p && *p != '"'; ++p)
            if (*p == '\\' && p[1]) ++p;
        if (!*p) break;
        const char *after = p + 1 + strspn(p + 1, " \t\r\n");
        if (depth == 1 && *after == ':' && (size_t)(p - begin) == length && !memcmp(begin, key, length)) return line;
    }
    return 1;
}

// What to do about a key that is no option: refuse it, in a file that a person wrote or that has checksums, or go without it, in a run of a
// version without.
typedef enum { UNKNOWN_IS_USAGE, UNKNOWN_IS_NEWER, UNKNOWN_IS_IGNORED } unknown_t;

static bpt_status_t refuse_key(unsigned command, const char *key, unknown_t unknown) {
    cli_suggestion_t nearest = {.word = key};
    char names[CLI_MAX_OPTIONS][CLI_KEY_BYTES];
    if (unknown == UNKNOWN_IS_NEWER)
        return bpt_fail(BPT_ERR_INPUT, "unknown key \"%.60s\"; a newer version wrote it, this is %s", key, BPT_VERSION_STRING);
    for (int i = 0; i < cli_option_count; ++i) {
        if (!cli_option_table[i].key || !cli_option_taken(&cli_option_table[i], command)) continue;
        cli_option_key(&cli_option_table[i], names[i]);
        cli_suggest(&nearest, names[i]);
    }
    char hint[128];
    return bpt_fail(BPT_ERR_USAGE, "unknown key \"%.60s\"%s", key, cli_suggest_text(&nearest, "", hint, sizeof hint));
}

static void say_ignored(const char *path, const char *first, size_t count) {
    char more[40] = " is";
    if (count > 1) snprintf(more, sizeof more, " and %zu more are", count - 1);
    if (count) bpt_warn("%s: unknown key \"%.60s\"%s ignored; a newer version may have written it", path, first, more);
}

static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "a whole number";
    case JSON_REAL: return "a number";
    case JSON_NULL: return "null";
    default: return "true or false";
    }
}

// Texts are names of files, or words that need no escape.
static bpt_status_t apply_text(cli_options_t *o, const cli_option_t *option, const char *value, cli_source_t source, const char *where) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = bpt_name_unescape(value, &text);
    if (status == BPT_OK) status = cli_option_set(o, option, text.data, source, where);
    bpt_strbuf_free(&text);
    return status;
}

// A list of texts; one text stands for itself, an empty one for none.
static bpt_status_t apply_texts(cli_options_t *o, const cli_option_t *option, const json_t *value, cli_source_t source, const char *where) {
    size_t i;
    json_t *item;
    if (json_is_string(value)) return json_string_length(value) ? apply_text(o, option, json_string_value(value), source, where) : BPT_OK;
    json_array_foreach(value, i, item) {
        if (!json_is_string(item)) return bpt_fail(BPT_ERR_USAGE, "%s must be a list of strings, not of %s", where, type_name(item));
        BPT_TRY(apply_text(o, option, json_string_value(item), source, where));
    }
    return BPT_OK;
}

// The JSON types must be right ("4" is no number); after that the text goes through the parser of the command line.
static bpt_status_t apply_value(cli_options_t *o, const cli_option_t *option, const json_t *value, cli_source_t source) {
    static const char *const wanted[] = {"true or false", "a whole number", "a number", "a string", "a list of strings", "a string"};
    const bool fits = option->type == CLI_BOOL   ? json_is_boolean(value)
                      : option->type == CLI_INT  ? json_is_integer(value)
                      : option->type == CLI_REAL ? json_is_number(value)
                                                 : json_is_string(value) || (option->type == CLI_TEXTS && json_is_array(value));
    char where[CLI_KEY_BYTES + 8] = "key \"";
    cli_option_key(option, where + 5);
    strcat(where, "\"");
    if (!fits)
        return bpt_fail(BPT_ERR_USAGE, "%s must be %s, not %s", where,
                        option->several ? "a string or a list of strings" : wanted[option->type], type_name(value));
    if (option->type == CLI_TEXTS) return apply_texts(o, option, value, source, where);
    if (json_is_boolean(value)) return cli_option_set(o, option, json_is_true(value) ? "yes" : "no", source, where);
    if (json_is_string(value)) return apply_text(o, option, json_string_value(value), source, where);
    char text[40];
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
    return cli_option_set(o, option, text, source, where);
}

static bpt_status_t apply_object(cli_options_t *o, const json_t *object, const char *text, const char *path, cli_source_t source,
                                 unknown_t unknown) {
    if (!json_is_object(object)) return bpt_fail(BPT_ERR_USAGE, "%s: needs one JSON object of options, not %s", path, type_name(object));
    const char *key, *ignored = NULL;
    size_t n_ignored = 0;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const cli_option_t *option = find_key(o->command, key);
        if (bpt_run_config_is_checksum(key)) continue;  // a person changes a run's config.json and gives it to --config
        if (!option && unknown == UNKNOWN_IS_IGNORED) {
            if (!n_ignored++) ignored = key;
            continue;
        }
        const bpt_status_t status = option ? apply_value(o, option, value, source) : refuse_key(o->command, key, unknown);
        if (status != BPT_OK) return bpt_context(status, "%s: line %d", path, line_of_key(text, key));
    }
    say_ignored(path, ignored, n_ignored);
    return BPT_OK;
}

// A run that was made before there was an option has done as it does without it.
static bpt_status_t apply_earlier(cli_options_t *o, const json_t *object, cli_source_t source) {
    char key[CLI_KEY_BYTES];
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        cli_option_key(option, key);
        if (option->before && cli_option_taken(option, o->command) && !json_object_get(object, key))
            BPT_TRY(cli_option_set(o, option, option->before, source, key));
    }
    return BPT_OK;
}

static bpt_status_t check_run(json_t *object, const char *path, unknown_t *unknown) {
    bpt_run_origin_t origin;
    BPT_TRY(bpt_run_config_check(object, path, &origin));
    *unknown = origin.known ? UNKNOWN_IS_NEWER : UNKNOWN_IS_IGNORED;
    return BPT_OK;
}

bpt_status_t cli_options_from_file(cli_options_t *o, const char *path, cli_source_t source, bool strict) {
    char *text = NULL;
    size_t length;
    json_t *object = NULL;
    unknown_t unknown = UNKNOWN_IS_USAGE;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_file_read(path, MAX_CONFIG_BYTES, &text, &length), done);
    BPT_TRY_GOTO(bpt_json_parse(text, length, path, &object), done);
    if (!strict) BPT_TRY_GOTO(check_run(object, path, &unknown), done);
    BPT_TRY_GOTO(apply_object(o, object, text, path, source, unknown), done);
    if (source == CLI_FROM_RUN) BPT_TRY_GOTO(apply_earlier(o, object, source), done);
done:
    json_decref(object);
    bpt_free(text);
    // A config file is part of the command line: what is wrong in it is wrong usage. A run's config.json is data.
    if (strict && status == BPT_ERR_INPUT) return BPT_ERR_USAGE;
    return !strict && status == BPT_ERR_USAGE ? BPT_ERR_INPUT : status;
}

bpt_status_t cli_options_of_file(cli_options_t *o, const char *text, const char *path) {
    json_t *object, *value;
    const char *key;
    BPT_TRY(bpt_json_parse(text, strlen(text), path, &object));
    bpt_status_t status = json_is_object(object) ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "needs one JSON object, not %s", type_name(object));
    json_object_foreach(object, key, value) {
        const cli_option_t *option = find_key(o->command, key);
        if (status != BPT_OK) break;
        status = option && option->file ? apply_value(o, option, value, CLI_FROM_FILE) : refuse_key(o->command, key, UNKNOWN_IS_NEWER);
    }
    json_decref(object);
    return bpt_context(status == BPT_ERR_USAGE ? BPT_ERR_INPUT : status, "%s", path);
}

bpt_status_t cli_options_check_model(const char *text, const char *path) {
    cli_options_t o;
    json_t *object, *value;
    const char *key;
    BPT_TRY(bpt_json_parse(text, strlen(text), path, &object));
    bpt_status_t status = cli_options_init(&o, CLI_TRAIN, "train");
    json_object_foreach(object, key, value) {
        const cli_option_t *option = find_key(CLI_TRAIN, key);
        if (option && status == BPT_OK) status = bpt_context(apply_value(&o, option, value, CLI_FROM_FILE), "%s", path);
    }
    json_decref(object);
    cli_options_destroy(&o);
    return status == BPT_ERR_USAGE ? BPT_ERR_INPUT : status;
}

static bpt_status_t texts_to_json(const cli_texts_t *texts, const char *key, json_t *object) {
    json_t *list = json_array();
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < texts->count && status == BPT_OK; ++i) {
        bpt_strbuf_clear(&text);
        status = bpt_name_escape(texts->item[i], &text);
        if (status == BPT_OK && json_array_append_new(list, json_string(text.data)))
            status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the configuration");
    }
    bpt_strbuf_free(&text);
    if (json_object_set_new(object, key, list) && status == BPT_OK)
        status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the configuration");
    return status;
}

bpt_status_t cli_option_to_json(const cli_options_t *o, const cli_option_t *option, json_t *object) {
    char key[CLI_KEY_BYTES];
    cli_option_key(option, key);
    const void *field = (const char *)o + option->offset;
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    switch (option->type) {
    case CLI_BOOL: return bpt_json_set_bool(object, key, *(const bool *)field);
    case CLI_REAL:
        return option->size == sizeof(float) ? bpt_json_set_float(object, key, *(const float *)field)
                                             : bpt_json_set_real(object, key, *(const double *)field);
    case CLI_INT: return bpt_json_set_int(object, key, option->size == sizeof(int64_t) ? *(const int64_t *)field : *(const int32_t *)field);
    case CLI_TEXTS:
        if (option->several && ((const cli_texts_t *)field)->count < 2)
            return bpt_json_set_name(object, key, ((const cli_texts_t *)field)->count ? ((const cli_texts_t *)field)->item[0] : "");
        return texts_to_json(field, key, object);
    case CLI_TEXT:
    case CLI_CHOICE:
        status = cli_option_text(o, option, &text);
        if (status == BPT_OK) status = bpt_json_set_name(object, key, text.data ? text.data : "");
        bpt_strbuf_free(&text);
        return status;
    }
    return status;
}

bpt_status_t cli_options_to_json(const cli_options_t *o, json_t **out) {
    json_t *object = json_object();
    if (!object) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the configuration");
    bpt_status_t status = BPT_OK;
    for (int i = 0; i < cli_option_count && status == BPT_OK; ++i)
        if (cli_option_table[i].key && cli_option_taken(&cli_option_table[i], o->command))
            status = cli_option_to_json(o, &cli_option_table[i], object);
    if (status == BPT_OK)
        *out = object;
    else
        json_decref(object);
    return status;
}

bpt_status_t cli_options_to_file(const cli_options_t *o, json_t *object) {
    for (int i = 0; i < cli_option_count; ++i)
        if (cli_option_table[i].file && cli_option_taken(&cli_option_table[i], o->command))
            BPT_TRY(cli_option_to_json(o, &cli_option_table[i], object));
    return BPT_OK;
}

bpt_status_t cli_options_reading(const cli_options_t *o, char **out) {
    static const char *const names[] = {"unit", "lower", "eval-context", "protocol"};
    json_t *object = json_object();
    bpt_status_t status = object ? BPT_OK : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the configuration");
    for (size_t i = 0; i < BPT_COUNT(names) && status == BPT_OK; ++i)
        status = cli_option_to_json(o, cli_option_find(CLI_TRAIN, names[i]), object);
    if (status == BPT_OK && *o->data.sentencepiece)  // runs from before it have a checksum without it
        status = cli_option_to_json(o, cli_option_find(CLI_TRAIN, "sentencepiece"), object);
    if (status == BPT_OK) status = bpt_json_format(object, 0, out);
    json_decref(object);
    return status;
}

// ---- Resume -----------------------------------------------------------------------------------------------------------
static bpt_status_t resume_option(cli_options_t *o, const cli_options_t *stored, const cli_option_t *option, bpt_strbuf_t *given,
                                  bpt_strbuf_t *kept) {
    bool same;
    const cli_source_t source = cli_option_source(o, option->name);  // the run was started with its preset: what it kept is the later word
    if (source == CLI_FROM_DEFAULT || source == CLI_FROM_PRESET)
        return cli_option_copy(o, stored, option, source == CLI_FROM_PRESET ? source : CLI_FROM_RUN);
    BPT_TRY(cli_option_same(o, stored, option, &same));
    if (option->resumable || same) return BPT_OK;
    BPT_TRY(cli_option_text(o, option, given));
    BPT_TRY(cli_option_text(stored, option, kept));
    if (!kept->length)
        return bpt_fail(BPT_ERR_USAGE, "--%s cannot change when a run is resumed: it was not given; start a new run for that",
                        option->name);
    return bpt_fail(BPT_ERR_USAGE, "--%s cannot change when a run is resumed: it was '%s', not '%s'; start a new run for that",
                    option->name, kept->data, given->data ? given->data : "");
}

bpt_status_t cli_options_resume(cli_options_t *o, const char *path) {
    cli_options_t stored;
    bpt_strbuf_t given = {0}, kept = {0};
    bpt_status_t status = cli_options_init(&stored, o->command, o->command_name);
    if (status == BPT_OK) status = cli_options_from_file(&stored, path, CLI_FROM_RUN, false);
    for (int i = 0; i < cli_option_count && status == BPT_OK; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (option->key && !option->once && cli_option_taken(option, o->command)) status = resume_option(o, &stored, option, &given, &kept);
    }
    bpt_strbuf_free(&given);
    bpt_strbuf_free(&kept);
    cli_options_destroy(&stored);
    return status;
}

// ---- Starting from another run ----------------------------------------------------------------------------------------
static bpt_status_t adopt_option(cli_options_t *o, const cli_options_t *stored, const cli_option_t *option, const char *from) {
    bpt_strbuf_t given = {0}, kept = {0};
    bpt_status_t status = cli_option_text(o, option, &given);
    if (status == BPT_OK) status = cli_option_text(stored, option, &kept);
    const char *new_value = given.data ? given.data : "", *old_value = kept.data ? kept.data : "";
    if (status == BPT_OK && cli_option_source(o, option->name) == CLI_FROM_DEFAULT)
        status = cli_option_set(o, option, old_value, CLI_FROM_RUN, option->name);
    else if (status == BPT_OK && strcmp(new_value, old_value))
        status = bpt_fail(BPT_ERR_USAGE, "--%s %s contradicts --init %s, whose weights are of %s; leave it out", option->name, new_value,
                          from, old_value);
    bpt_strbuf_free(&given);
    bpt_strbuf_free(&kept);
    return status;
}

bpt_status_t cli_options_adopt(cli_options_t *o, const json_t *values, const char *from) {
    cli_options_t stored;
    const char *key;
    json_t *value;
    bpt_status_t status = cli_options_init(&stored, o->command, o->command_name);
    json_object_foreach((json_t *)values, key, value) {
        const cli_option_t *option = find_key(o->command, key);
        if (status == BPT_OK && option) status = apply_value(&stored, option, value, CLI_FROM_RUN);
        if (status == BPT_OK && option) status = adopt_option(o, &stored, option, from);
    }
    cli_options_destroy(&stored);
    return status;
}
