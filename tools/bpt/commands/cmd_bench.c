// `bpt bench`: how fast this machine trains, infers, decodes and multiplies. The default is the throughput setting of the BPT
// paper: 6 layers, d 512, d_ff 2048, 8 heads, 8192 tokens a batch, vocabulary 256, causal language model, Adam.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "models/config/config_json.h"
#include "models/decode/decode.h"
#include "models/kinds/kind.h"
#include "models/train/trainer.h"
#include "tools/bpt/bench/bench_cluster.h"
#include "tools/bpt/bench/bench_lines.h"
#include "tools/bpt/bench/bench_model.h"
#include "tools/bpt/bench/bench_op.h"
#include "tools/bpt/bench/bench_ops.h"
#include "tools/bpt/bench/bench_report.h"
#include "tools/bpt/bench/bench_step.h"
#include "tools/bpt/bench/bench_trace.h"
#include "tools/bpt/bench/bench_translate.h"
#include "tools/bpt/bench/rates.h"
#include "tools/bpt/commands/team.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/sort.h"

// What the rank has given that gives most, of shared sequences, so far.
static bpt_status_t most_given(const cli_bench_t *b, const bpt_runner_t *runner, double *rows, double *bytes) {
    const int size = bpt_ranks_size(b->ranks);
    uint64_t mine[2], (*all)[2];
    *rows = *bytes = 0;
    if (!bpt_runner_splits(runner)) return BPT_OK;
    bpt_runner_exchanged(runner, &mine[0], &mine[1]);
    BPT_TRY(bpt_alloc((size_t)size, sizeof *all, &all));
    const bpt_status_t status = bpt_ranks_gather(b->ranks, mine, sizeof mine, all);
    for (int rank = 0; rank < size && status == BPT_OK; ++rank) {
        *rows = fmax(*rows, (double)all[rank][0]);
        *bytes = fmax(*bytes, (double)all[rank][1]);
    }
    bpt_free(all);
    return status;
}

// ---- train, infer
static bpt_status_t time_steps(const cli_bench_t *b, bpt_runner_t *runner, const cli_bench_tokens_t *t, bool training, float *logits) {
    double *seconds;
    const int repeat = (int)b->o->tool.repeat;
    BPT_TRY(bpt_alloc((size_t)repeat, sizeof *seconds, &seconds));
    bpt_status_t status = cli_bench_step(runner, t, training, logits);
    const double exchanged = bpt_ranks_seconds(b->ranks), waited = bpt_ranks_waited(b->ranks);
    for (int i = 0; i < repeat && status == BPT_OK; ++i) {
        const double start = bpt_clock_seconds();
        status = cli_bench_step(runner, t, training, logits);
        seconds[i] = bpt_clock_seconds() - start;
    }
    bpt_program_t *program = NULL;
    const double exchange = (bpt_ranks_seconds(b->ranks) - exchanged) / repeat;
    const bpt_step_key_t key = cli_bench_step_key(runner, t, training);
    double rows, bytes;
    if (status == BPT_OK) status = bpt_runner_program(runner, &key, &program);
    if (status == BPT_OK) status = most_given(b, runner, &rows, &bytes);
    if (status == BPT_OK) {
        cli_bench_result_t r = cli_bench_empty(b, training ? "train" : "infer");
        const bpt_plan_summary_t plan = bpt_program_summary(program);
        r.s_per_step = cli_quantile(seconds, (size_t)repeat, 0.5);
        r.tokens_per_s = (double)(t->batch.n_tokens * bpt_runner_turn(runner).size) / r.s_per_step;
        r.ranks = b->ranks ? bpt_ranks_size(b->ranks) : 0;
        r.exchange = exchange;
        if (exchange > 0 && !bpt_runner_is_linked(runner))
            r.hidden = fmax(0, 1 - (bpt_ranks_waited(b->ranks) - waited) / repeat / exchange);
        r.rows_given = rows / (repeat + 1), r.bytes_given = bytes / (repeat + 1);
        r.gflops = plan.flops * bpt_ranks_size(b->ranks) / r.s_per_step * 1e-9;
        r.gbytes_per_s = plan.bytes_moved / r.s_per_step * 1e-9;
        r.device_bytes = bpt_runner_device_bytes(runner);
        status = cli_bench_say(b, &r);
    }
    bpt_free(seconds);
    return status;
}

static bpt_status_t bench_steps(const cli_bench_t *b, bool training) {
    bpt_runner_t *runner = NULL;
    cli_bench_tokens_t t = {0};
    float *logits = NULL;
    bpt_status_t status;
    BPT_TRY_GOTO(cli_bench_open_runner(b, &runner), done);
    BPT_TRY_GOTO(cli_bench_make_tokens(b, &t), done);
    if (!training) BPT_TRY_GOTO(bpt_alloc((size_t)t.batch.n_targets * CLI_BENCH_VOCAB, sizeof *logits, &logits), done);
    status = time_steps(b, runner, &t, training, logits);
done:
    bpt_free(logits);
    cli_bench_free_tokens(&t);
    bpt_runner_destroy(runner);
    return status;
}
static bpt_status_t bench_train(const cli_bench_t *b) {
    BPT_TRY(b->o->tool.ops ? cli_bench_lines(b) : bench_steps(b, true));
    return *b->o->tool.trace ? cli_bench_trace(b, b->o->tool.trace) : BPT_OK;
}
static bpt_status_t bench_infer(const cli_bench_t *b) { return bench_steps(b, false); }

// ---- decode: one token of each text, the last ones before n and the first ones behind it, where the largest spans of n leaves end
static bpt_status_t bench_decode(const cli_bench_t *b) {
    bpt_runner_t *runner = NULL;
    bpt_decoder_t *decoder = NULL;
    uint32_t *tokens = NULL, *next = NULL;
    float *logits = NULL;
    double seconds[CLI_BENCH_DECODED];
    const int64_t texts = b->o->use.batch;
    const int64_t prompt = b->n > CLI_BENCH_DECODED / 2 ? b->n - CLI_BENCH_DECODED / 2 : 1, count = 2 * (b->n - prompt);
    bpt_status_t status;
    if (count < 1) return bpt_fail(BPT_ERR_USAGE, "bench decode needs --n of at least 2");
    BPT_TRY_GOTO(cli_bench_open_runner(b, &runner), done);
    BPT_TRY_GOTO(bpt_decoder_create(runner, prompt + count, texts, &decoder), done);
    BPT_TRY_GOTO(bpt_alloc((size_t)(prompt + count), sizeof *tokens, &tokens), done);
    BPT_TRY_GOTO(bpt_alloc((size_t)texts, sizeof *next, &next), done);
    BPT_TRY_GOTO(bpt_alloc((size_t)texts * CLI_BENCH_VOCAB, sizeof *logits, &logits), done);
    for (int64_t i = 0; i < prompt + count; ++i) tokens[i] = (uint32_t)(i * 2654435761u >> 7) % CLI_BENCH_VOCAB;
    for (int64_t s = 0; s < texts; ++s) BPT_TRY_GOTO(bpt_decoder_feed(decoder, s, tokens, prompt, logits), done);
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t s = 0; s < texts; ++s) next[s] = tokens[prompt + i];
        const double start = bpt_clock_seconds();
        BPT_TRY_GOTO(bpt_decoder_step(decoder, next, logits), done);
        seconds[i] = bpt_clock_seconds() - start;
    }
    cli_bench_result_t r = cli_bench_empty(b, "decode");
    r.s_per_step = cli_quantile(seconds, (size_t)count, 0.5);
    r.p99 = cli_quantile(seconds, (size_t)count, 0.99);
    r.slowest = cli_quantile(seconds, (size_t)count, 1);
    r.tokens_per_s = (double)texts / r.s_per_step;
    r.device_bytes = bpt_runner_device_bytes(runner) + bpt_decoder_device_bytes(decoder);
    status = cli_bench_say(b, &r);
done:
    bpt_free(logits);
    bpt_free(next);
    bpt_free(tokens);
    bpt_decoder_destroy(decoder);
    bpt_runner_destroy(runner);
    return status;
}

// ---- cluster: one machine is measured, many are computed from it
static bpt_status_t time_parts(const cli_bench_t *b, bpt_runner_t *runner, const cli_bench_tokens_t *t, double *seconds,
                               cli_step_cost_t *cost) {
    const bpt_update_t update = {.rng = 1, .lr = 1e-4f, .bias1 = 0.1f, .bias2 = 0.001f, .loss_scale = 1};
    const int repeat = (int)b->o->tool.repeat;
    bpt_update_result_t result;
    bpt_batch_t part = t->batch;
    part.last = false;
    double *const micro = seconds, *const updates = seconds + repeat, *const alone = updates + repeat;
    for (int i = -1; i < repeat; ++i) {  // the first is not timed
        double start = bpt_clock_seconds();
        BPT_TRY(bpt_runner_train(runner, &part, &update, &result));
        if (i >= 0) micro[i] = bpt_clock_seconds() - start;
        start = bpt_clock_seconds();
        BPT_TRY(bpt_runner_update_together(runner, &update, false, &result));
        if (i >= 0) updates[i] = bpt_clock_seconds() - start;
        start = bpt_clock_seconds();
        BPT_TRY(bpt_runner_train(runner, &t->batch, &update, &result));
        if (i >= 0) alone[i] = bpt_clock_seconds() - start;
    }
    cost->accumulate = b->o->train.accumulate;
    cost->micro = cli_quantile(micro, (size_t)repeat, 0.5);
    cost->update = cli_quantile(updates, (size_t)repeat, 0.5);
    cost->alone = cli_quantile(alone, (size_t)repeat, 0.5) + (double)(cost->accumulate - 1) * cost->micro;
    cost->parameters = bpt_runner_params(runner)->trained_elements;
    return BPT_OK;
}

static bpt_status_t print_cluster(const cli_bench_t *b, const cli_step_cost_t *cost, int64_t tokens) {
    const cli_network_t network = {b->o->tool.bandwidth * 1e9, b->o->tool.latency * 1e-6};
    const int64_t *ranks = b->ranks_of_cluster.value;
    for (int i = 0; i < b->ranks_of_cluster.count; ++i) {
        cli_bench_result_t r = cli_bench_empty(b, "cluster");
        r.s_per_step = cli_cluster_step(cost, ranks[i], &network);
        r.tokens_per_s = (double)(tokens * cost->accumulate * ranks[i]) / r.s_per_step;
        r.ranks = (int)ranks[i];
        r.exchange = ranks[i] > 1 ? cli_cluster_exchange(cost->parameters, ranks[i], &network) : 0;
        if (ranks[i] > 1) r.hidden = 1 - cli_cluster_exposed(cost, ranks[i], &network) / r.exchange;
        r.efficiency = cli_cluster_efficiency(cost, ranks[i], &network);
        BPT_TRY(cli_bench_say(b, &r));
    }
    return BPT_OK;
}

static bpt_status_t bench_cluster(const cli_bench_t *b) {
    bpt_runner_t *runner = NULL;
    cli_bench_tokens_t t = {0};
    double *seconds = NULL;  // [3][repeat]
    cli_step_cost_t cost = {0};
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc((size_t)(3 * b->o->tool.repeat), sizeof *seconds, &seconds), done);
    BPT_TRY_GOTO(cli_bench_open_runner(b, &runner), done);
    BPT_TRY_GOTO(cli_bench_make_tokens(b, &t), done);
    BPT_TRY_GOTO(time_parts(b, runner, &t, seconds, &cost), done);
    status = print_cluster(b, &cost, t.batch.n_tokens);
done:
    bpt_free(seconds);
    cli_bench_free_tokens(&t);
    bpt_runner_destroy(runner);
    return status;
}

// ---- translate: one batch of texts for each beam
static bpt_status_t bench_translate(const cli_bench_t *b) {
    bpt_runner_t *runner;
    BPT_TRY(cli_bench_open_runner(b, &runner));
    bpt_status_t status = BPT_OK;
    for (int i = 0; i < b->beams.count && status == BPT_OK; ++i) {
        cli_bench_result_t r = cli_bench_empty(b, "translate");
        r.beam = b->beams.value[i];
        r.texts = b->o->use.batch;
        status = cli_bench_translate(runner, (int)b->o->tool.repeat, cli_bench_trees(b), &r);
        if (status == BPT_OK) status = cli_bench_say(b, &r);
        if (status == BPT_OK) status = cli_flush_output();
    }
    bpt_runner_destroy(runner);
    return status;
}

// ---- op: one op, by the words behind "op"
static bpt_status_t read_line(const cli_options_t *o, bpt_op_line_t *line) {
    bpt_strbuf_t text = {.data = NULL};
    bpt_status_t status = BPT_OK;
    for (int i = 1; i < o->n_arguments && status == BPT_OK; ++i)
        status = bpt_strbuf_printf(&text, "%s%s", i > 1 ? " " : "", o->arguments[i]);
    if (status == BPT_OK) status = bpt_line_parse(text.data ? text.data : "", line);
    bpt_strbuf_free(&text);
    return status;
}

static bpt_status_t bench_op(cli_options_t *o) {
    bpt_op_line_t line;
    cli_op_result_t result;
    bpt_device_t *device = NULL;
    bpt_strbuf_t text = {.data = NULL};
    bpt_status_t status;
    BPT_TRY(read_line(o, &line));
    BPT_TRY_GOTO(bpt_line_print(&line, &text), done);
    BPT_TRY_GOTO(cli_device_open(o, &device), done);
    const cli_timing_t timing = {.repeat = (int)o->tool.repeat, .quantile = 0.5};
    BPT_TRY_GOTO(cli_bench_time_line(device, &line, timing, &result), done);
    BPT_TRY_GOTO(cli_bench_print_op(device, o->use.json, text.data, &result), done);
    status = cli_flush_output();
done:
    bpt_strbuf_free(&text);
    cli_device_close(device);
    return status;
}

// ---- train --ops --preset
// What says how the measured model is, a preset says itself.
static bpt_status_t check_preset(const cli_options_t *o) {
    static const char *const taken[] = {"preset", "ops", "json", "tokens", "precision"};
    if (strcmp(o->arguments[0], "train") != 0 || !o->tool.ops)
        return bpt_fail(BPT_ERR_USAGE, "--preset is for bench train --ops; to measure the step of another model give its options");
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        bool fits = option->group == CLI_GROUP_GLOBAL || o->source[i] != CLI_FROM_FLAG;
        for (size_t j = 0; j < BPT_COUNT(taken); ++j) fits = fits || !strcmp(option->name, taken[j]);
        if (!fits) return bpt_fail(BPT_ERR_USAGE, "--%s has no meaning beside --preset; leave one of them out", option->name);
    }
    return BPT_OK;
}

static bpt_status_t bench_preset(cli_options_t *o) {
    bpt_device_t *device = NULL;
    BPT_TRY(check_preset(o));
    BPT_TRY(cli_device_open(o, &device));
    bpt_status_t status = cli_bench_preset_lines(o, device);
    if (status == BPT_OK) status = cli_flush_output();
    cli_device_close(device);
    return status;
}

// ---- The command
static const struct {
    const char *name;
    bpt_status_t (*run)(const cli_bench_t *b);
    bool once;        // does not depend on n and k
    bool translates;  // its model
    bool team;        // several ranks can do it together
    bool steps;       // its steps can be shown op by op
    bool updates;     // its steps change the parameters
} benches[] = {{"train", bench_train, .team = true, .steps = true, .updates = true},
               {"infer", bench_infer},
               {"attention", cli_bench_attention},
               {"gemm", cli_bench_gemm, .once = true},
               {"ops", cli_bench_ops, .updates = true},
               {"decode", bench_decode},
               {"translate", bench_translate, .translates = true},
               {"cluster", bench_cluster, .updates = true}};

static bpt_status_t parse(const char *text, const char *option, int64_t most, cli_bench_list_t *out) {
    return cli_parse_list(text, option, 1, most, out->value, CLI_BENCH_CELLS, &out->count);
}

static bpt_status_t fail_team(const char *bench) {
    return bpt_fail(BPT_ERR_USAGE, "--team is for bench train, not for bench %s; leave it out", bench);
}

static bpt_status_t fail_steps(const cli_options_t *o, const char *bench) {
    return bpt_fail(BPT_ERR_USAGE, "--%s is for bench train, not for bench %s; leave it out", o->tool.ops ? "ops" : "trace", bench);
}

static bpt_status_t run_bench(cli_options_t *o) {
    if (!strcmp(o->arguments[0], "op")) {
        if (o->run.team) return fail_team("op");
        return o->tool.ops || *o->tool.trace ? fail_steps(o, "op") : bench_op(o);
    }
    if (o->n_arguments > 1) return bpt_fail(BPT_ERR_USAGE, "bpt bench %s: unexpected argument '%s'", o->arguments[0], o->arguments[1]);
    cli_bench_list_t ns, ks;
    int which = 0;
    const int known = (int)BPT_COUNT(benches);
    while (which < known && strcmp(benches[which].name, o->arguments[0])) ++which;
    if (which == known)
        return bpt_fail(BPT_ERR_USAGE, "bpt bench %s: choose train, infer, attention, gemm, ops, op, decode, translate or cluster",
                        o->arguments[0]);
    if (o->run.team && !benches[which].team) return fail_team(benches[which].name);
    if (*o->run.preset) return bench_preset(o);
    if (cli_option_source(o, "optimizer") == CLI_FROM_FLAG && !benches[which].updates)
        return bpt_fail(BPT_ERR_USAGE, "--optimizer is for bench train, ops and cluster, whose steps change the parameters; leave it out");
    if (!benches[which].steps && (o->tool.ops || *o->tool.trace)) return fail_steps(o, benches[which].name);
    cli_bench_t b = {.o = o, .translates = benches[which].translates};
    BPT_TRY(parse(o->tool.lengths, "--n", 67108864, &ns));
    BPT_TRY(parse(o->tool.ks, "--k", 65536, &ks));
    BPT_TRY(parse(o->tool.beams, "--beam", 1024, &b.beams));
    BPT_TRY(parse(o->tool.ranks, "--ranks", 1 << 20, &b.ranks_of_cluster));
    BPT_TRY(cli_options_check_fit(o));
    BPT_TRY(bpt_model_config_fill_head_dim(&o->model));
    if (*o->tool.trace && ns.count * ks.count > 1)
        return bpt_fail(BPT_ERR_USAGE, "--trace writes the trace of one step; give one --n and one --k");
    b.n = ns.value[0], b.k = ks.value[0];
    const bpt_model_config_t shape = cli_bench_config(&b);
    BPT_TRY(bpt_model_config_check(&shape));
    BPT_TRY(cli_team_join(o, &b.ranks));
    BPT_TRY(cli_team_agree(cli_device_open(o, &b.device)));
    bpt_status_t status = BPT_OK;
    if (!bpt_kind_has_key(bpt_kind_of(&o->model), "k")) ks.count = 1;
    for (int j = 0; j < ks.count && status == BPT_OK; ++j)
        for (int i = 0; i < ns.count && status == BPT_OK; ++i) {
            b.n = ns.value[i], b.k = ks.value[j];
            if (!benches[which].once || (i == 0 && j == 0)) status = benches[which].run(&b);
            if (status == BPT_OK) status = cli_flush_output();
        }
    cli_device_close(b.device);
    return cli_team_finish(status, false);
}

const cli_command_t cli_command_bench = {
    .bit = CLI_BENCH,
    .name = "bench",
    .arguments = "train|infer|attention|gemm|ops|op LINE|decode|translate|cluster",
    .purpose = "measure speed and memory",
    .description =
        "The default setting is that of the throughput measurements of the BPT paper: 6 layers, d-model 512, d-ff 2048, "
        "8 heads, 8192 tokens a batch and a vocabulary of 256.\n"
        "`train` and `infer` time whole training and inference steps. `attention` times the forward and backward pass of "
        "one attention layer. `gemm` times the matrix products of a training step and prints the speed of each as a "
        "share of the best. On OpenCL it also times those by CLBlast, where it is installed. `ops` times every op of one "
        "training step and prints its share of the highest speed that the device reaches in a matrix product and in a "
        "copy. `op` times one op that a line of text says, as `train --ops` prints them for a training step, failing tests for "
        "their case, and anybody for a bug report. What the line leaves out is as usual; what it cannot hold is refused with a "
        "sentence that says what it may be. `decode` times the generation of one token at a time after about n tokens, for "
        "--batch texts together. "
        "`translate` translates --batch texts of n random tokens together, for each --beam, with an encoder and a decoder of "
        "--layers layers and 8000 words. An untrained model does not know when to end, so every translation is as long as the "
        "text, or 512 tokens. It prints target tokens a second, and the time of a token of all texts in the first and in the "
        "last quarter of the translations, which shows whether later tokens cost more.\n"
        "`cluster` times the parts of a training step on this device, and from them and the network's --bandwidth and --latency "
        "computes what a step of --ranks such devices takes. `train --ops` prints the ops of the step in place of its time, a slow one "
        "first: each as the line that `op` takes, how often it occurs, and the time of all of them together. With --preset it "
        "prints those of a preset, which does not run. `train --trace` also writes a step as a trace: when the device is at which op and, "
        "on GPUs, at which kernel. Kernels are then timed one by one, which makes the step of the trace slower than others. With --team "
        "mpi, started by mpirun, `train` times a step that "
        "several processes make together, with --tokens each.",
    .examples = "  bpt bench train --n 512,8192 --k 4,64 --json\n  bpt bench ops --n 8192\n  bpt bench gemm --backend opencl\n"
                "  bpt bench train --ops --n 8192\n  bpt bench train --ops --preset ptb-6\n"
                "  bpt bench train --n 8192 --trace step.json\n"
                "  bpt bench op 'matmul a=bf16[8192,512] b=bf16[2048,512] transpose_b bias steps=relu'\n"
                "  bpt bench op 'attention graph=bpt n=8192 k=4 causal heads=8 head_dim=64 type=bf16'\n  bpt bench "
                "decode --n 1024,131072\n  bpt bench translate --n 32,256 --beam 1,5 --batch 8\n",
    .min_arguments = 1,
    .max_arguments = CLI_MAX_ARGUMENTS,
    .run = run_bench,
};
