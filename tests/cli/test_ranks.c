// Several processes that train together through the program (mpirun .. bpt train --team mpi): they compute what one process does and go
// on from each other's checkpoints. BPT_ALL_TEAMS=1: every task on every API.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/check.h"
#include "support/support.h"
#include "support/team.h"

// ---- What they compute

// Few steps: after more of them differences in the last digit have grown, by how much depends on the processor.
static void several_ranks_compute_what_one_process_does(void **state) {
    (void)state;
    for (size_t i = 0; i < TEAM_TASKS; ++i) {
        team_train_alone(i, "cpu", "alone", "--steps 20");
        team_train(2, i, "cpu", "two", "--steps 20");
        team_train(3, i, "cpu", "three", "--steps 20 --shard-optimizer");
        team_same_loss("two", "alone", 1e-6, team_tasks[i].name);
        team_same_loss("three", "alone", 1e-6, team_tasks[i].name);
        team_remove("alone"), team_remove("two"), team_remove("three");
    }
}

static double bleu_of(const char *object) {
    json_t *line = json_loads(object, JSON_DISABLE_EOF_CHECK, NULL);
    const double score = json_number_value(json_object_get(line, json_object_get(line, "score") ? "score" : "bleu"));
    json_decref(line);
    return score;
}

// Validation by BLEU, whose lines are shared out: the score of one process with the same checkpoint.
static void ranks_share_translations_out(void **state) {
    (void)state;
    const size_t task = TEAM_TASKS - 1;
    assert_string_equal(team_tasks[task].name, "translate");
    for (int ranks = 2; ranks <= 3; ++ranks) {
        team_train(ranks, task, "cpu", "team", "--steps 50 --lr 0.01 --best-by bleu");
        char *metrics = test_read_file(test_path("team/metrics.jsonl"), NULL), *line = metrics ? strstr(metrics, "{\"eval\"") : NULL;
        assert_non_null(line);
        test_process_t p = test_run_to(0, "translate %s %s --beam 1 --backend cpu --threads 1 --quiet", test_path("team"),
                                       test_path("data/sides/valid.en"));
        const char *written = test_file("written", p.out);
        test_process_free(&p);
        p = test_run_to(0, "bleu %s --ref %s --json", written, test_path("data/sides/valid.de"));
        assert_true(bleu_of(line) > 0 && bleu_of(line) == bleu_of(p.out));
        test_process_free(&p);
        free(metrics);
        team_remove("team");
    }
}

// A rank for each micro-batch adds in the same order as one process: the same bits.
// A larger model has several buckets, which are exchanged during the backward pass.
static void a_rank_for_each_micro_batch_gives_the_bits_of_one_process(void **state) {
    (void)state;
    static const char *const sizes[] = {"--steps 20", "--steps 20 --d-model 64 --layers 3", "--steps 10 --d-model 64 --precision bf16"};
    for (size_t i = 0; i < BPT_COUNT(sizes); ++i) {
        team_train_alone(0, "cpu", "alone", sizes[i]);
        team_train(4, 0, "cpu", "four", sizes[i]);
        team_same_bits("four", "alone", "model.safetensors");
        team_same_bits("four", "alone", "optimizer.safetensors");
        team_remove("alone"), team_remove("four");
    }
}

// A rank without a micro-batch takes part in every exchange, in the same order as the others. 24 examples make fewer micro-batches.
static void an_idle_rank_exchanges_with_the_others(void **state) {
    (void)state;
    static const char *const optimizers[] = {"--steps 10", "--steps 10 --shard-optimizer"};
    for (size_t i = 0; i < 2; ++i) {
        char more[200];
        snprintf(more, sizeof more, "%s --d-model 64 --layers 3 --batch-examples 8", optimizers[i]);
        team_train_alone(1, "cpu", "alone", "--steps 10 --d-model 64 --layers 3 --batch-examples 8");
        team_train(3, 1, "cpu", "three", more);
        team_same_loss("three", "alone", 1e-6, optimizers[i]);
        team_remove("alone"), team_remove("three");
    }
}

// Directions of matrices come together before each rank makes all their steps; one rank alone, three, a part of the state each; and a run
// that goes on with another number of ranks.
static void muon_makes_the_steps_of_one_process(void **state) {
    (void)state;
    static const char *const options[] = {"--steps 20 --optimizer muon", "--steps 20 --optimizer muon --d-model 64 --layers 3"};
    for (size_t i = 0; i < BPT_COUNT(options); ++i) {
        char more[200];
        team_train_alone(0, "cpu", "alone", options[i]);
        team_train(2, 0, "cpu", "two", options[i]);
        snprintf(more, sizeof more, "%s --shard-optimizer --stop-at 10", options[i]);
        team_train(3, 0, "cpu", "three", more);
        test_succeed("train --resume --quiet --stop-at 20 --out %s", test_path("three"));
        team_same_loss("two", "alone", 1e-5, options[i]);
        team_same_loss("three", "alone", 1e-5, options[i]);
        team_remove("alone"), team_remove("two"), team_remove("three");
    }
}

static void bench_says_how_much_is_hidden(void **state) {
    (void)state;
    test_process_t p = team_run(2, "bench train --team mpi --json --backend cpu --threads 1 --layers 3 --d-model 64 --d-ff 128 --heads 2 "
                                   "--tokens 256 --n 64 --k 2 --repeat 3");
    if (p.exit_status) fail_msg("exit %d: %s", p.exit_status, p.err);
    json_t *line = json_loads(p.out, 0, NULL);
    if (!line) fail_msg("one line of JSON, from rank 0: %s", p.out);
    const double hidden = json_number_value(json_object_get(line, "hidden_share"));
    assert_int_equal(json_integer_value(json_object_get(line, "ranks")), 2);
    assert_true(json_number_value(json_object_get(line, "exchange_s_per_step")) > 0);
    assert_true(json_is_real(json_object_get(line, "hidden_share")) && hidden >= 0 && hidden < 1);
    json_decref(line);
    test_process_free(&p);
}

static void a_second_run_has_the_same_bits(void **state) {
    (void)state;
    static const char *const optimizers[] = {"", "--shard-optimizer", "--shard-optimizer --optimizer muon"};
    for (size_t i = 0; i < BPT_COUNT(optimizers); ++i) {
        char more[100];
        snprintf(more, sizeof more, "--steps 20 --clip 0.1 %s", optimizers[i]);
        team_train(3, 1, "cpu", "first", more);
        team_train(3, 1, "cpu", "second", more);
        team_same_bits("first", "second", "model.safetensors");
        team_same_bits("first", "second", "optimizer.safetensors");
        team_remove("first"), team_remove("second");
    }
}

static void ranks_train_on_every_api(void **state) {
    (void)state;
    static const char *const backends[] = {"opencl", "vulkan"};
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        for (size_t i = 0; i < (team_takes_all() ? TEAM_TASKS : 2); ++i) {
            team_train_alone(i, backends[b], "alone", "--steps 20");
            team_train(2, i, backends[b], "two", i ? "--steps 20 --shard-optimizer" : "--steps 20");
            if (team_takes_all())
                print_message("%s on %s: loss %.9f and %.9f\n", team_tasks[i].name, backends[b], team_last_loss("two"),
                              team_last_loss("alone"));
            team_same_loss("two", "alone", 1e-6, backends[b]);
            team_remove("alone"), team_remove("two");
        }
    }
}

// Each on a device of its own kind; the one that owns a number computes it for all.
static void ranks_of_different_backends_train_together(void **state) {
    (void)state;
    team_train_alone(0, "cpu", "alone", "--steps 50");
    char line[3000];
    const char *other = test_backend_usable("vulkan") ? "vulkan" : "ref";
    int used = snprintf(line, sizeof line, "train %s --backend cpu --team mpi --shard-optimizer --steps 50 --out %s", team_options(0),
                        test_path("mixed"));
    snprintf(line + used, sizeof line - (size_t)used, " : train %s --backend %s --team mpi --shard-optimizer --steps 50 --out %s",
             team_options(0), other, test_path("mixed"));
    test_process_t p = team_run(1, line);
    if (p.exit_status) fail_msg("%s: exit %d, %s", line, p.exit_status, p.err);
    test_process_free(&p);
    team_same_loss("mixed", "alone", 1e-4, other);
    team_remove("alone"), team_remove("mixed");
}

// ---- Sharing sequences

#define SHARED "--task lm --data %s --context 64 --batch-tokens 128 --dropout-hidden 0.1 --dropout-attention 0.1 " TEAM_SHAPE

static void train_shared(int ranks, const char *backend, const char *name, const char *more) {
    team_remove(name);
    char line[2000];
    snprintf(line, sizeof line, "train " SHARED "%s --backend %s --out %s", test_path("data/lm"), more, backend, test_path("%s", name));
    if (ranks == 1)
        test_succeed("%s", line);
    else
        team_succeed(ranks, "%s --team mpi --split-sequence", line);
}

// Dropout and all: each rank computes its part of what one process does. The sums have another order.
static void ranks_that_share_sequences_compute_what_one_process_does(void **state) {
    (void)state;
    static const char *const models[] = {"--k 2 --steps 50", "--k 3 --rule reference --layers 3 --recompute --steps 50",
                                         "--k 2 --positions absolute --accumulate 2 --steps 50",
                                         "--k 2 --positions rotary --norm rms --ffn swiglu --steps 20"};
    for (size_t i = 0; i < BPT_COUNT(models); ++i) {
        train_shared(1, "cpu", "alone", models[i]);
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            char what[120];
            snprintf(what, sizeof what, "%s, %d ranks", models[i], ranks);
            train_shared(ranks, "cpu", "shared", models[i]);
            team_same_loss("shared", "alone", 1e-5, what);
            team_remove("shared");
        }
        team_remove("alone");
    }
}

static void sharing_sequences_twice_gives_the_same_bits(void **state) {
    (void)state;
    train_shared(4, "cpu", "first", "--k 2 --steps 10 --shard-optimizer");
    train_shared(4, "cpu", "second", "--k 2 --steps 10 --shard-optimizer");
    team_same_bits("first", "second", "model.safetensors");
    team_same_bits("first", "second", "optimizer.safetensors");
    team_remove("first"), team_remove("second");
}

static void every_api_shares_sequences(void **state) {
    (void)state;
    static const char *const backends[] = {"opencl", "vulkan"};
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        train_shared(1, backends[b], "alone", "--k 2 --steps 20");
        train_shared(2, backends[b], "shared", "--k 2 --steps 20");
        team_same_loss("shared", "alone", 1e-5, backends[b]);
        team_remove("alone"), team_remove("shared");
    }
}

// ---- Going on

static void a_run_goes_on_with_another_number_of_ranks(void **state) {
    (void)state;
    static const char *const sharded[] = {"", "--shard-optimizer"};
    team_train_alone(0, "cpu", "alone", "--steps 30");
    for (size_t i = 0; i < 2; ++i) {
        char more[100];
        snprintf(more, sizeof more, "--steps 30 --stop-at 10 %s", sharded[i]);
        team_train(3, 0, "cpu", "parts", more);
        team_succeed(2, "train --resume --team mpi --quiet --stop-at 20 --out %s %s", test_path("parts"), sharded[1 - i]);
        test_succeed("train --resume --quiet --stop-at 30 --out %s", test_path("parts"));
        team_same_loss("parts", "alone", 1e-6, "with 3, 2 and 1 ranks");
        team_remove("parts");
    }
    team_remove("alone");
}

// ---- Devices that are connected: CUDA with the NCCL that BPT_NCCL_LIBRARY names

// The options of a language model, with remarks.
static const char *talking(void) {
    static char options[1200];
    snprintf(options, sizeof options, "%s", team_options(0));
    char *quiet = strstr(options, "--quiet");
    assert_non_null(quiet);
    memset(quiet, ' ', strlen("--quiet"));
    return options;
}

static void connected_devices_give_the_bits_of_host_memory(void **state) {
    (void)state;
    char library[600];
    snprintf(library, sizeof library, "%s", getenv("BPT_NCCL_LIBRARY"));
    static const char *const options[] = {"--steps 3 --d-model 64", "--steps 3 --d-model 64 --shard-optimizer",
                                          "--steps 2 --clip 0.1 --stop-at 1"};
    for (size_t i = 0; i < BPT_COUNT(options); ++i) {
        char line[3000];
        snprintf(line, sizeof line, "train %s --backend cuda --team mpi --out %s %s", talking(), test_path("linked"), options[i]);
        test_process_t p = team_run(i == 2 ? 3 : 2, line);
        if (p.exit_status) fail_msg("%s: exit %d: %s", line, p.exit_status, p.err);
        if (!strstr(p.err, "the devices of the ranks are connected by NCCL 2.18.3")) fail_msg("not connected: %s", p.err);
        test_process_free(&p);
        setenv("BPT_NCCL_LIBRARY", "none", 1);
        team_train(i == 2 ? 3 : 2, 0, "cuda", "host", options[i]);
        setenv("BPT_NCCL_LIBRARY", library, 1);
        team_same_bits("linked", "host", "model.safetensors");
        team_same_bits("linked", "host", "optimizer.safetensors");
        team_remove("linked"), team_remove("host");
    }
}

static void devices_that_cannot_be_connected_are_refused_or_use_host_memory(void **state) {
    (void)state;
    char library[600], line[4000];
    snprintf(library, sizeof library, "%s", getenv("BPT_NCCL_LIBRARY"));
    snprintf(line, sizeof line, "train %s --backend cuda --team mpi --steps 1 --out %s", team_options(0), test_path("refused"));
    setenv("BPT_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
    team_refused(1, "name another library in BPT_NCCL_LIBRARY, or none", 2, line);
    setenv("BPT_NCCL_LIBRARY", "libm.so.6", 1);
    team_refused(1, "NCCL is too old: it has no ncclGetVersion", 2, line);
    setenv("BPT_NCCL_LIBRARY", library, 1);
    setenv("FAKE_NCCL_FAILS", "ncclCommInitRank", 1);
    team_refused(1, "NCCL 2.18.3: connecting the GPUs failed (internal error)", 2, line);
    setenv("FAKE_NCCL_FAILS", "ncclGroupEnd", 1);
    test_process_t p = team_run(2, line);
    assert_int_not_equal(p.exit_status, 0);
    if (!strstr(p.err, "beginning an exchange failed (internal error)")) fail_msg("%s", p.err);
    test_process_free(&p);
    unsetenv("FAKE_NCCL_FAILS");
    team_remove("refused");
    // Another backend beside it: host memory.
    snprintf(line, sizeof line,
             "train %s --backend cuda --team mpi --shard-optimizer --steps 2 --out %s : train %s --backend cpu "
             "--team mpi --shard-optimizer --steps 2 --out %s",
             talking(), test_path("mixed"), team_options(0), test_path("mixed"));
    p = team_run(1, line);
    if (p.exit_status) fail_msg("%s: exit %d: %s", line, p.exit_status, p.err);
    assert_non_null(strstr(p.err, "exchanges between the ranks go through host memory: not all devices can be connected by NCCL 2.18.3"));
    test_process_free(&p);
    team_remove("mixed");
}

int main(void) {
    if (!team_can_start()) return team_say_missing();
    const struct CMUnitTest connected[] = {
        cmocka_unit_test(connected_devices_give_the_bits_of_host_memory),
        cmocka_unit_test(devices_that_cannot_be_connected_are_refused_or_use_host_memory),
    };
    if (getenv("BPT_NCCL_LIBRARY")) return cmocka_run_group_tests(connected, team_set_up, team_tear_down);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_ranks_compute_what_one_process_does),
        cmocka_unit_test(ranks_share_translations_out),
        cmocka_unit_test(a_rank_for_each_micro_batch_gives_the_bits_of_one_process),
        cmocka_unit_test(an_idle_rank_exchanges_with_the_others),
        cmocka_unit_test(bench_says_how_much_is_hidden),
        cmocka_unit_test(a_second_run_has_the_same_bits),
        cmocka_unit_test(muon_makes_the_steps_of_one_process),
        cmocka_unit_test(ranks_train_on_every_api),
        cmocka_unit_test(ranks_of_different_backends_train_together),
        cmocka_unit_test(ranks_that_share_sequences_compute_what_one_process_does),
        cmocka_unit_test(sharing_sequences_twice_gives_the_same_bits),
        cmocka_unit_test(every_api_shares_sequences),
        cmocka_unit_test(a_run_goes_on_with_another_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, team_set_up, team_tear_down);
}
