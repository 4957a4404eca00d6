// `bpt train`: options, data, device and run directory are put together and handed to the trainer. Knows no training loop.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "backends/gpu/info.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/config/config_names.h"
#include "models/nn/names.h"
#include "models/train/recovery.h"
#include "tools/bpt/commands/team.h"
#include "tools/bpt/corpus/corpus.h"
#include "tools/bpt/corpus/defaults.h"
#include "tools/bpt/corpus/example_notes.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/corpus/translation_score.h"
#include "tools/bpt/corpus/unknown_words.h"
#include "tools/bpt/corpus/word_vectors.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/plan.h"
#include "tools/bpt/report/progress.h"
#include "tools/bpt/report/watch.h"
#include "tools/bpt/runs/resumption.h"
#include "tools/bpt/runs/start.h"
#include "tools/bpt/signals.h"

typedef struct {
    cli_options_t *o;
    bpt_ranks_t *ranks;  // processes that train together; NULL: this one alone
    cli_corpus_t corpus;
    bpt_device_t *device;
    bpt_run_t *run;
    bpt_trainer_t *trainer;
    cli_start_t start;            // --init
    cli_resumption_t resumption;  // --resume
    bpt_run_origin_t origin;      // of config.json
    float *vectors;               // rows of the embedding for a new run
    bool resumed;                 // the trainer goes on from a checkpoint
    double unknown_share;         // of the validation data
    cli_progress_t progress;
    bpt_batch_source_t *valid;       // the corpus's, watched
    cli_translation_score_t *score;  // where `best` is chosen by BLEU
    bpt_metrics_line_t last;         // training line before, for the time a step takes
} job_t;

// ---- Progress

// `bpt stop` is one more signal, by way of the run.
static bool stop_asked(void *user) {
    const job_t *job = user;
    if (!cli_interrupted && job->run && bpt_run_stop_asked(job->run)) cli_signals_act();
    return cli_interrupted != 0;
}

static bpt_status_t score_texts(void *user, bpt_runner_t *runner, double *score) {
    const job_t *job = user;
    return cli_translation_score_run(job->score, runner, stop_asked, user, score);
}

static void show_evaluation(job_t *job, const bpt_metrics_line_t *line) {
    char loss[96];
    cli_loss_text(job->progress.kind, line->loss, loss, sizeof loss);
    char metrics[160] = "";
    const bpt_metric_t *of_task = bpt_task_of(&job->o->model)->metrics;
    for (int i = 0; of_task && of_task[i].name; ++i) {
        const double value = *bpt_metrics_line_number((bpt_metrics_line_t *)line, of_task[i].name);
        if (isnan(value)) continue;
        snprintf(metrics + strlen(metrics), sizeof metrics - strlen(metrics), of_task[i].share ? ", %s %.2f %%" : ", %s %.5g",
                 of_task[i].name, of_task[i].share ? 100 * value : value);
    }
    if (line->unknown_share > 0)
        snprintf(metrics + strlen(metrics), sizeof metrics - strlen(metrics), ", %.2f %% of its %s unknown", 100 * line->unknown_share,
                 bpt_unit_of(job->o->data.unit)->pieces ? "subwords" : "words");
    cli_progress_say(&job->progress, "step %" PRId64 ": %s %s%s", line->step, line->eval, loss, metrics);
}

static void show_line(void *user, const bpt_metrics_line_t *line) {
    job_t *job = user;
    if (*line->eval) {
        show_evaluation(job, line);
        return;
    }
    const bpt_train_config_t *train = bpt_trainer_config(job->trainer);
    const double steps = (double)(line->step - job->last.step), seconds = line->seconds - job->last.seconds;
    const cli_progress_point_t point = {.step = line->step,
                                        .steps = bpt_trainer_end(train),
                                        .epoch = line->epoch,
                                        .loss = line->loss,
                                        .lr = line->lr,
                                        .grad_norm = line->grad_norm,
                                        .loss_scale = line->loss_scale,
                                        .skipped_steps = line->skipped_steps,
                                        .tokens_per_s = line->tokens_per_s,
                                        .seconds_per_step = steps > 0 ? seconds / steps : NAN};
    cli_progress_update(&job->progress, &point);
    job->last = *line;
}

// ---- Files of the run
static bpt_status_t write_config(job_t *job) {
    json_t *config;
    BPT_TRY(cli_options_to_json(job->o, &config));
    const bpt_status_t status = bpt_run_config_write(bpt_run_config_path(job->run), config, &job->origin);
    json_decref(config);
    return status;
}

static bpt_status_t print_config(const cli_options_t *o) {
    json_t *config;
    BPT_TRY(cli_options_to_json(o, &config));
    const bpt_status_t status = cli_print_json(config, 2);
    json_decref(config);
    return status;
}

static bool writes_run(const job_t *job) { return bpt_ranks_rank(job->ranks) == 0; }

static bpt_status_t open_run(job_t *job) {
    const cli_run_options_t *run = &job->o->run;
    if (!writes_run(job)) return BPT_OK;
    return run->resume ? bpt_run_resume(run->out, &job->run) : bpt_run_create(run->out, &job->run);
}

// After the trainer has accepted everything: a resumption that is refused changes nothing.
static bpt_status_t write_files(job_t *job) {
    const cli_options_t *o = job->o;
    if (!writes_run(job)) return BPT_OK;
    if (!o->run.resume && o->data.unit != BPT_UNIT_IDS) BPT_TRY(bpt_vocab_write(job->corpus.vocab, bpt_run_vocab_path(job->run)));
    const bpt_vocab_t *source = job->corpus.source_vocab;
    if (!o->run.resume && o->data.unit != BPT_UNIT_IDS && source) BPT_TRY(bpt_vocab_write(source, bpt_run_source_vocab_path(job->run)));
    size_t bytes;
    const void *subwords = bpt_vocab_subwords(job->corpus.vocab, &bytes);
    if (!o->run.resume && subwords) BPT_TRY(bpt_file_write(bpt_run_subwords_path(job->run), subwords, bytes));
    if (!o->run.resume && job->corpus.labels.count) BPT_TRY(bpt_labels_write(&job->corpus.labels, bpt_run_labels_path(job->run)));
    return write_config(job);
}

// ---- The command
static bpt_status_t open_trainer(job_t *job) {
    cli_options_t *o = job->o;
    const bpt_trainer_options_t options = {.model = &o->model,
                                           .train = &o->train,
                                           .device = job->device,
                                           .train_data = job->corpus.train,
                                           .valid_data = job->valid,
                                           .run = job->run ? job->run : job->resumption.run,
                                           .resume = job->resumed,
                                           .ranks = job->ranks,
                                           .shard_optimizer = job->o->run.shard_optimizer,
                                           .split_sequence = job->o->run.split_sequence,
                                           .init = job->start.source.checkpoint.folder ? &job->start.source.checkpoint : NULL,
                                           .init_file = job->start.file,
                                           .init_rows = cli_start_rows(&job->start, o),
                                           .data = job->corpus.fingerprint,
                                           .origin = &job->origin,
                                           .characters = bpt_unit_of(o->data.unit)->characters,
                                           .unknown_share = &job->unknown_share,
                                           .on_line = show_line,
                                           .should_stop = stop_asked,
                                           .score_texts = job->score ? score_texts : NULL,
                                           .user = job};
    BPT_TRY(bpt_trainer_create(&options, &job->trainer));
    bpt_runner_t *runner = bpt_trainer_runner(job->trainer);
    bpt_runner_set_labels(runner, (const char *const *)job->corpus.labels.name);
    if (!job->resumed && !job->start.any) BPT_TRY(cli_unknown_words_clear(&job->corpus, runner));
    if (!job->resumed && job->vectors) BPT_TRY(bpt_runner_set(runner, BPT_NAME_EMBED, job->vectors));
    const bpt_run_state_t *state = bpt_trainer_state(job->trainer);
    job->last.step = state->step;
    job->last.seconds = state->seconds;
    return BPT_OK;
}

static bpt_status_t describe(const job_t *job) {
    const cli_options_t *o = job->o;
    const cli_corpus_t *c = &job->corpus;
    BPT_TRY(cli_examples_describe(c));
    if (o->model.d_input)
        bpt_info("data: %" PRIu64 " training examples of %d components a vector, %" PRIu64 " for validation", c->examples[BPT_TRAIN].count,
                 o->model.d_input, c->examples[BPT_VALID].count);
    else if (c->examples[BPT_TRAIN].target.has)
        bpt_info("data: %" PRIu64 " training examples of %" PRIu64 " tokens to translate and %" PRIu64 " of their translations, %" PRIu64
                 " examples for validation, vocabularies %" PRId64 " and %" PRId64,
                 c->examples[BPT_TRAIN].count, c->examples[BPT_TRAIN].n_tokens, c->examples[BPT_TRAIN].target.n_tokens,
                 c->examples[BPT_VALID].count, o->model.source_vocab, o->model.vocab);
    else
        bpt_info("data: %" PRIu64 " training tokens, %" PRIu64 " for validation, vocabulary %" PRId64,
                 cli_corpus_tokens(c, BPT_TRAIN).count, cli_corpus_tokens(c, BPT_VALID).count, o->model.vocab);
    bpt_info("training: %" PRId64 " steps, %" PRId64 " an epoch%s%s", o->train.steps, c->train->steps_per_epoch,
             o->run.resume ? ", going on with " : ", into ", o->run.out);
    return BPT_OK;
}

// ---- A lost device
static void lose_device(void *user, double submit_ms) {
    job_t *job = user;
    bpt_trainer_destroy(job->trainer);
    job->trainer = NULL;
    cli_device_close(job->device);
    job->device = NULL;
    cli_progress_say(&job->progress, "%s; going on from the last checkpoint with submissions of at most %g ms", bpt_error_message(),
                     submit_ms);
}

static bpt_status_t restart(void *user, double submit_ms, bool resume, bpt_trainer_t **trainer) {
    job_t *job = user;
    job->o->global.submit_ms = submit_ms;
    job->resumed = resume;
    BPT_TRY(cli_device_open(job->o, &job->device));
    BPT_TRY(open_trainer(job));
    *trainer = job->trainer;
    return BPT_OK;
}

// Goes on after a lost device. Of several processes the others would wait meanwhile: they end.
static bpt_status_t run_trainer(job_t *job) {
    if (job->ranks) {
        const bpt_status_t status = bpt_trainer_run(job->trainer);
        return cli_team_finish(status, bpt_trainer_failed_together(status));
    }
    const bpt_recovery_t recovery = {
        .run = job->run, .submit_ms = job->o->global.submit_ms, .lost = lose_device, .restart = restart, .user = job};
    return bpt_trainer_run_recovering(job->trainer, &recovery);
}

static void say_end(const job_t *job) {
    const bpt_run_state_t *state = bpt_trainer_state(job->trainer);
    char time[32];
    cli_duration_text(state->seconds, time, sizeof time);
    bpt_info("done: step %" PRId64 " after %s of training", state->step, time);
    if (bpt_trainer_waited_enough(job->trainer))
        bpt_info("ended by --patience: %" PRId64 " evaluations after step %" PRId64
                 " were no better; --resume --patience N with a larger N, or "
                 "0, goes on",
                 state->waited, state->best_step);
    if (isfinite(state->best_loss))
        bpt_info("best validation %s %.4f at step %" PRId64, bpt_best_by_names[job->o->train.best_by], fabs(state->best_loss),
                 state->best_step);
    const char *run = bpt_run_path(job->run);  // it may have been renamed meanwhile
    bpt_info("next: bpt eval %s, bpt plot %s --out curve.svg", run, run);
}

// Until the first step: whatever is wrong on one of several processes ends all.
static bpt_status_t begin(job_t *job) {
    cli_options_t *o = job->o;
    BPT_TRY(cli_team_agree(open_run(job)));
    job->origin = job->resumption.from.origin;
    BPT_TRY(describe(job));
    BPT_TRY(cli_watch_create(job->corpus.valid, &job->progress, &job->valid));
    job->unknown_share = cli_unknown_words_validation(&job->corpus);
    job->resumed = o->run.resume;
    if (!job->resumed && !job->start.any) cli_unknown_words_warn(o, &job->corpus, job->unknown_share);
    BPT_TRY(cli_team_agree(open_trainer(job)));
    BPT_TRY(bpt_runner_compare_parameters(bpt_trainer_runner(job->trainer),
                                          "their files of --init, --vectors or --resume differ; give all ranks the same"));
    return cli_team_agree(write_files(job));
}

static bpt_status_t train(job_t *job) {
    cli_options_t *o = job->o;
    BPT_TRY(begin(job));
    cli_defaults_warn(o);
    cli_resumption_note_rate(o, &job->resumption);
    const bool characters = bpt_unit_of(o->data.unit)->characters;
    cli_progress_start(&job->progress, o->global.quiet,
                       !bpt_task_of(&o->model)->predicts_text ? CLI_LOSS_NATS
                       : characters                           ? CLI_LOSS_BITS
                                                              : CLI_LOSS_PERPLEXITY);
    BPT_TRY(cli_signals_poll("\nbpt: stopping at the next safe moment; once more, a second later, ends at once without saving\n"));
    const bpt_status_t status = run_trainer(job);
    if (job->progress.line_open && !cli_interrupted) fputc('\n', stderr);  // else the signal handler has done it
    BPT_TRY(status);
    if (job->run) say_end(job);
    return BPT_OK;
}

// Which kernels multiply decides the last bits of a run.
static bpt_status_t record_products(job_t *job) {
    cli_options_t *o = job->o;
    const bpt_gpu_info_t gpu = bpt_gpu_info(&job->device->info);
    if (*o->run.products && *gpu.rule && strcmp(o->run.products, gpu.rule))
        bpt_warn("this run's products of matrices were computed by %s, from here on by %s (%s): results agree with the run so far but for "
                 "their last digits; "
                 "BPT_TUNING=%s keeps to the former",
                 o->run.products, gpu.rule, gpu.rule_origin, o->run.products);
    return cli_option_set(o, cli_option_find(CLI_TRAIN, "products"), gpu.rule, CLI_FROM_FLAG, "products");
}

static bpt_status_t prepare(job_t *job) {
    cli_options_t *o = job->o;
    BPT_TRY(cli_options_layer(o));
    if (o->run.resume) BPT_TRY(cli_resumption_open(o, &job->resumption));
    BPT_TRY(cli_start_open(o, &job->start));
    BPT_TRY(cli_options_resolve(o));
    if (o->run.print_config) return BPT_OK;
    bpt_vocab_t *vocab = cli_start_take_vocab(o, &job->start);
    bpt_vocab_t *source_vocab = cli_start_take_source_vocab(o, &job->start);
    const bpt_labels_t node_labels = cli_start_take_node_labels(o, &job->start);
    BPT_TRY(cli_corpus_open(o, vocab, source_vocab, node_labels, o->run.resume ? &job->resumption.from : NULL, &job->corpus));
    if (bpt_trainer_scores_texts(&o->model, &o->train) && job->corpus.valid)
        BPT_TRY(cli_translation_score_create(o, &job->corpus, &job->progress, &job->score));
    BPT_TRY(cli_start_match(o, &job->corpus, &job->start));
    BPT_TRY(cli_defaults_length(o, job->corpus.train->steps_per_epoch));
    BPT_TRY(cli_device_open(o, &job->device));
    BPT_TRY(record_products(job));
    if (!o->data.vectors.count || o->run.resume || o->run.dry_run) return BPT_OK;
    return cli_vectors_read(o, job->corpus.vocab, &job->vectors);  // in place of the initial embedding
}

// What was asked for, once everything is there.
static bpt_status_t do_job(job_t *job) {
    cli_options_t *o = job->o;
    BPT_TRY(cli_team_agree(prepare(job)));
    const bool shows = writes_run(job);
    if (o->run.print_config) return shows ? print_config(o) : BPT_OK;
    BPT_TRY(cli_team_compare(o, &job->corpus));
    if (!o->run.dry_run) return train(job);
    if (!shows) return BPT_OK;
    cli_defaults_warn(o);
    return cli_plan_print(o, job->device, job->ranks, job->corpus.train, cli_corpus_bytes(&job->corpus));
}

static bpt_status_t run_train(cli_options_t *o) {
    if (!strcmp(o->run.preset, "help")) {
        cli_help_presets();
        return BPT_OK;
    }
    job_t job = {.o = o};
    bpt_status_t status = cli_team_join(o, &job.ranks);
    if (status == BPT_OK) status = do_job(&job);
    bpt_trainer_destroy(job.trainer);
    bpt_run_close(job.run);
    cli_device_close(job.device);
    if (job.valid) job.valid->destroy(job.valid);
    cli_translation_score_destroy(job.score);
    cli_corpus_close(&job.corpus);
    cli_start_close(&job.start);
    cli_resumption_close(&job.resumption);
    bpt_free(job.vectors);
    return status;
}

const cli_command_t cli_command_train = {
    .bit = CLI_TRAIN,
    .name = "train",
    .arguments = "",
    .purpose = "train a model",
    .description =
        "Writes a run directory with the configuration, metrics and checkpoints. Ctrl-C finishes the current step, saves "
        "and exits with status 130; --resume then continues exactly from there. `bpt stop RUN` and SIGUSR1 do the same.\n"
        "What --task reads: lm text; classify lines of `label<TAB>text` or of labelled trees in brackets; pair lines of "
        "`label<TAB>text<TAB>text`; regress lines of `number<TAB>text`, or vectors as tensors x [examples, n, d] and y "
        "[examples, outputs] of a safetensors file (from NumPy through numpy.ascontiguousarray, see data/README.md); tag a token and its "
        "tag a line, with a blank line between sentences (CoNLL, "
        "columns between tabs or blanks; "
        "CoNLL-U with --label-column upos or xpos), with --unit ids lines of `ids<TAB>tags`; a translator two files of each "
        "part whose lines belong together, such as "
        "train.en and train.de (--source en --target de; an empty line in both ends a document), with --unit ids lines of "
        "`ids<TAB>ids`. All read JSON lines too: examples from files .jsonl or .ndjson (--text-field, --label-field), lm and translate "
        "with --format jsonl. --format "
        "names another format, --label-column and --text-column choose other columns, --header "
        "leaves out a first line with their names. The first lines of output say how many examples there are of each class. In a "
        "folder the parts are the files whose names hold train, valid (or dev, or the word val) and test (of several test sets the one "
        "called test and no more); one file of examples is "
        "cut into 90, 5 and 5 % at random (--cut). Every file that is read as text may be packed by gzip, xz, zstd, bzip2 or lz4 "
        "(train.tsv.gz). Several files in one --data are read one behind the other, as are shards of a part in a folder (train-0.tsv, "
        "train-1.tsv); files whose names say train and valid or test are these parts. CSV files (.csv) are read by the names of columns in "
        "their "
        "first line, or by their numbers. Lines of fastText (__label__NAME and a text) are read from files .ft.txt or .ft, or with "
        "--format fasttext.\n"
        "Options come from these sources, each of which overrides those before it: defaults, --preset, --config, the "
        "command line.\n"
        "Without --preset the defaults depend on the amount of data. With little data an epoch has 200 steps, but a step "
        "has at least 16 examples or 4 windows. Short epochs are repeated until there are 1000 steps. The warm-up is at "
        "most a tenth of the steps. A classifier with fewer than 10000 examples, no word vectors and no size given has "
        "one layer of width 128, a dropout of 0.6 on the embeddings and of 0.5 before the output layer, and a learning "
        "rate of 0.005. --dry-run and config.json show the values.",
    .examples = "  bpt train --preset small --data text.txt --out run\n"
                "  bpt train --preset small --data part-*.txt.gz --out run\n"
                "  bpt train --task classify --data mails.csv --class-weights balanced --best-by f1 --out run-mail\n"
                "  bpt train --task classify --data reviews.ft.txt.bz2 --out run-reviews\n"
                "  bpt train --out run --resume --steps 2000\n"
                "  bpt train --preset ptb-6 --data ptb/ --out run-ptb --dry-run\n"
                "  bpt train --init run --data other.txt --out run-other\n"
                "  bpt train --task tag --model star --data conll2003/ --vectors words.txt --vectors characters.txt --out run-tag\n"
                "  bpt train --task pair --data pairs.tsv --out run-pair\n",
    .run = run_train,
};
