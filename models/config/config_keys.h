// The keys of a model's configuration (config_keys.def): what each is, which values it can have and when it applies. One table for files,
// for the checks of a model and for the options of the program.
#ifndef BPT_MODELS_CONFIG_KEYS_H
#define BPT_MODELS_CONFIG_KEYS_H

#include "models/tasks/task.h"

typedef enum { BPT_KEY_BOOL, BPT_KEY_INT, BPT_KEY_REAL, BPT_KEY_CHOICE } bpt_config_key_type_t;

typedef struct {
    const char *name, *option;  // "d_model" in files, "d-model" as an option
    bpt_config_key_type_t type;
    size_t offset, size;         // of the field in bpt_model_config_t: bool; int32_t or int64_t; float; an enum, or a bool for two choices
    const char *const *choices;  // CHOICE: names of the values 0, 1, ..; ends with NULL
    double min, max;             // INT, REAL: inclusive
    bool open_max;               // REAL: max itself is not allowed
    bool required;               // a file must have it where it applies; other keys have a default (config_json.h)
    bool tacit;                  // a file does not say 0, no or the first one, so that the files of models without the key stay as they
                                 // are
    bool no_flag;                // found out from the data

    // When it applies, beside being named in the `keys` of a kind or of none: all that are not NULL must hold.
    bool (*task)(const bpt_task_spec_t *task);
    const char *when;    // "positions=relative": the value of another key, which must apply as well
    const char *needs;   // "ngram_max": another whole number, which must apply and not be 0
    const char *unless;  // "d_input": another whole number, which must be 0 or not apply
    bool early;          // is read before the others, whose place in a file or application depends on it

    // Of the option.
    bool open;                              // may be 0: what follows from other options or from the data
    const char *fallback, *shown, *help;    // the default; what --help says of it, where it depends on something; one line
    int (*list)(char *text, size_t bytes);  // what stands behind `help`, from a table; as snprintf. NULL: nothing
} bpt_config_key_t;

// In the order of a model file.
extern const bpt_config_key_t bpt_config_keys[];
extern const int bpt_config_key_count;

static inline bool bpt_task_pools(const bpt_task_spec_t *task) { return (task->wants & BPT_WANT_POOLED) != 0; }
static inline bool bpt_task_reads_words(const bpt_task_spec_t *task) { return task->reads == BPT_READS_EXAMPLES; }
static inline bool bpt_task_has_classes(const bpt_task_spec_t *task) { return task->labelled || task->values; }
static inline bool bpt_task_labels_texts(const bpt_task_spec_t *task) {
    return task->labelled && !task->per_token && bpt_task_texts(task) == 1;
}
static inline bool bpt_task_has_mlp(const bpt_task_spec_t *task) { return task->mlp; }
static inline bool bpt_task_may_have_crf(const bpt_task_spec_t *task) { return task->labelled && task->per_token; }
static inline bool bpt_task_compares(const bpt_task_spec_t *task) { return bpt_task_texts(task) > 1; }
static inline bool bpt_task_may_smooth(const bpt_task_spec_t *task) { return !task->values; }
static inline bool bpt_task_has_decoder(const bpt_task_spec_t *task) { return bpt_task_sides(task) > 1; }
static inline bool bpt_task_may_read_vectors(const bpt_task_spec_t *task) { return task->values; }

static inline void *bpt_config_key_field(const bpt_config_key_t *key, bpt_model_config_t *config) { return (char *)config + key->offset; }
static inline const void *bpt_config_key_const(const bpt_config_key_t *key, const bpt_model_config_t *config) {
    return (const char *)config + key->offset;
}

// NULL: there is no such key.
const bpt_config_key_t *bpt_config_key_find(const char *name);
bool bpt_config_key_applies(const bpt_config_key_t *key, const bpt_model_config_t *config);
// The value of a BOOL, INT or CHOICE key.
int64_t bpt_config_key_value(const bpt_config_key_t *key, const bpt_model_config_t *config);

// BPT_ERR_USAGE for the first key that applies and is out of its range, and for a switch that is on but does not apply.
bpt_status_t bpt_config_keys_check(const bpt_model_config_t *config) BPT_MUST_USE;

#endif
