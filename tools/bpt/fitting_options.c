// Flags that would be without effect: those of one model given to another, of one schedule given to another.
#include "models/config_names.h"
#include "tools/bpt/options.h"

static const struct {
    const char *option;
    bpt_model_kind_t model;
} of_one_model[] = {{"k", BPT_MODEL_BPT},
                    {"rule", BPT_MODEL_BPT},
                    {"span-self", BPT_MODEL_SEGTREE},
                    {"attention", BPT_MODEL_TRANSFORMER},
                    {"window", BPT_MODEL_TRANSFORMER}};

static bool given(const cli_options_t *o, const char *name) { return cli_option_source(o, name) == CLI_FROM_FLAG; }

static bpt_status_t check_schedule(const cli_options_t *o) {
    const bpt_schedule_t schedule = o->train.schedule;
    const char *chosen = bpt_schedule_names[schedule];
    const bool noam = schedule == BPT_SCHEDULE_NOAM;
    if (given(o, "lr") && noam) return bpt_fail(BPT_ERR_USAGE, "--lr is without effect with --schedule noam: give --lr-factor");
    if (given(o, "lr-factor") && !noam)
        return bpt_fail(BPT_ERR_USAGE, "--lr-factor is for --schedule noam, and this is --schedule %s: give --lr", chosen);
    if (given(o, "lr-decay") && schedule != BPT_SCHEDULE_EXPONENTIAL && schedule != BPT_SCHEDULE_PLATEAU)
        return bpt_fail(BPT_ERR_USAGE, "--lr-decay is for --schedule exponential and plateau, and this is --schedule %s", chosen);
    return BPT_OK;
}

bpt_status_t cli_options_check_fit(const cli_options_t *o) {
    const bpt_model_config_t *m = &o->model;
    for (size_t i = 0; i < BPT_COUNT(of_one_model); ++i)
        if (given(o, of_one_model[i].option) && m->model != of_one_model[i].model)
            return bpt_fail(BPT_ERR_USAGE, "--%s is for --model %s, and this is --model %s", of_one_model[i].option,
                            bpt_model_names[of_one_model[i].model], bpt_model_names[m->model]);
    if (given(o, "window") && m->attention != BPT_ATTENTION_WINDOW)
        return bpt_fail(BPT_ERR_USAGE, "--window is for --attention window; %s attention reads every token",
                        bpt_attention_names[m->attention]);
    if (given(o, "max-positions") && m->positions != BPT_POSITIONS_ABSOLUTE)
        return bpt_fail(BPT_ERR_USAGE, "--max-positions is for --positions absolute");
    return check_schedule(o);
}
