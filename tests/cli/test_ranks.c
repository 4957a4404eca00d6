// Several processes that train together through the program (mpirun .. bpt train --team mpi): they compute what one process does, go on
// from each other's checkpoints, refuse to begin when they do not fit together, and none waits for one that has died. BPT_ALL_TEAMS=1:
// every task on every API, and twenty ranks killed.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/support.h"

enum { STEPS = 50, DEADLINE_SECONDS = 120 };

static char program[600], mpirun[600];

static bool all_teams(void) {
    const char *all = getenv("BPT_ALL_TEAMS");
    return all && *all == '1';
}

// ---- Running

static bool find_mpirun(void) {
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t bytes = strcspn(path, ":");
        snprintf(mpirun, sizeof mpirun, "%.*s/mpirun", (int)bytes, path);
        if (!access(mpirun, X_OK)) return true;
        path += bytes + (path[bytes] == ':');
    }
    return false;
}

static bool module_is_there(void) {
    char path[700];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*s/libbpt_mpi.so", slash ? (int)(slash - program) : 1, slash ? program : ".");
    return bpt_file_exists(path);
}

// A script that rank 0 runs as `first`, the others as `others`. (mpirun's own way, programs between colons, crashes in Open MPI 5.0.7.)
static const char *script_by_rank(const char *first, const char *others) {
    static char text[8000];
    snprintf(text, sizeof text, "if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ]; then %s; else exec %s; fi\n", first, others);
    return test_file("by_rank.sh", text);
}

static test_process_t run_mpirun(const char *line) {
    setenv("BPT_PROGRAM", mpirun, 1);
    const test_process_t p = test_run_line(line);
    setenv("BPT_PROGRAM", program, 1);
    return p;
}

// As `bpt ARGUMENTS`, by so many processes; " : " begins the arguments of a further one.
static test_process_t run_team(int ranks, const char *arguments) {
    char line[6000], first[3500], other[3500];
    const char *colon = strstr(arguments, " : ");
    snprintf(line, sizeof line, "-n %d %s %s", ranks, program, arguments);
    if (colon) {
        assert_int_equal(ranks, 1);
        snprintf(first, sizeof first, "exec %s %.*s", program, (int)(colon - arguments), arguments);
        snprintf(other, sizeof other, "%s %s", program, colon + 3);
        snprintf(line, sizeof line, "-n 2 sh %s", script_by_rank(first, other));
    }
    return run_mpirun(line);
}

static void team(int ranks, const char *format, ...) BPT_PRINTF(2, 3);
static void team(int ranks, const char *format, ...) {
    char arguments[3000];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    test_process_t p = run_team(ranks, arguments);
    if (p.exit_status) fail_msg("%d ranks of bpt %s: exit %d: %s", ranks, arguments, p.exit_status, p.err);
    test_process_free(&p);
}

// ---- Data and models: one of each task

static char folder[512];

static void write_part(const char *name, const char *part, const char *text) {
    test_write_file(test_path("data/%s/%s", name, part), text, strlen(text));
}

static int setup(void **state) {
    (void)state;
    static const char *const names[] = {"lm", "labels", "tags", "pairs", "sides"};
    static const char *const parts[] = {"train", "valid", "test"};
    static char text[40000], labels[40000], tags[40000], pairs[40000], sides[2][40000];
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);  // up to Open MPI 4
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);  // from 5 on
    setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 1);
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    assert_ok(bpt_folder_create(folder));
    for (size_t i = 0; i < BPT_COUNT(names); ++i) assert_ok(bpt_folder_create(test_path("data/%s", names[i])));
    for (int part = 0; part < 3; ++part) {
        size_t l = 0, t = 0, p = 0, s[2] = {0};
        const int count = part ? 20 : 160;
        for (int i = 0; i < 100 * count; ++i) text[i] = (char)('a' + (i * 5 + i / 13 + part) % 26);
        text[100 * count] = 0;
        for (int i = 0; i < count; ++i) {
            const int a = (i * 5 + part) % 8, b = (i * 3 + i / 7) % 8, length = 1 + i % 5;
            l += (size_t)snprintf(labels + l, sizeof labels - l, "%s\tw%d w%d\n", a > 3 ? "high" : "low", a, b);
            p += (size_t)snprintf(pairs + p, sizeof pairs - p, "%s\tw%d w%d\tw%d\n", a == b ? "same" : "other", a, i % 8, b);
            for (int k = 0; k < length; ++k)
                t += (size_t)snprintf(tags + t, sizeof tags - t, "w%d %s\n", (a + k) % 8, (a + k) % 8 < 4 ? "O" : "B-X");
            t += (size_t)snprintf(tags + t, sizeof tags - t, "\n");
            for (int side = 0; side < 2; ++side) {
                for (int k = 0; k < length; ++k)
                    s[side] += (size_t)snprintf(sides[side] + s[side], sizeof sides[side] - s[side], "%s%d%s", side ? "v" : "w",
                                                (a + k) % 8, k + 1 < length ? " " : "\n");
            }
        }
        char name[32];
        snprintf(name, sizeof name, "%s.txt", parts[part]);
        write_part("lm", name, text);
        write_part("tags", name, tags);
        snprintf(name, sizeof name, "%s.tsv", parts[part]);
        write_part("labels", name, labels);
        write_part("pairs", name, pairs);
        snprintf(name, sizeof name, "%s.en", parts[part]);
        write_part("sides", name, sides[0]);
        snprintf(name, sizeof name, "%s.de", parts[part]);
        write_part("sides", name, sides[1]);
    }
    return 0;
}

#define SHAPE "--layers 2 --d-model 16 --heads 2 --lr 0.003 --seed 5 --threads 1 --quiet --log-every 50 --eval-every 50 "
#define EXAMPLES SHAPE "--batch-examples 24 --batch-tokens 64 "

static const struct {
    const char *name, *options;
} tasks[] = {
    {"lm", "--task lm --data %s/lm --context 32 --batch-tokens 64 --accumulate 4 " SHAPE},
    {"classify", "--task classify --data %s/labels --dropout-hidden 0.2 " EXAMPLES},
    {"tag", "--task tag --model star --data %s/tags " EXAMPLES},
    {"pair", "--task pair --data %s/pairs " EXAMPLES},
    {"regress", "--task regress --model star --data summation --n 12 --sum 2 --d-input 3 --examples 60 " EXAMPLES},
    {"translate", "--task translate --model transformer --data %s/sides --source en --target de " EXAMPLES},
};

static const char *options_of(size_t task) {
    static char options[1200];
    const char *place = strstr(tasks[task].options, "%s");
    snprintf(options, sizeof options, "%.*s%s%s", place ? (int)(place - tasks[task].options) : (int)strlen(tasks[task].options),
             tasks[task].options, place ? folder : "", place ? place + 2 : "");
    return options;
}

// ---- Comparing runs

// The loss of the last line of the metrics, that of the evaluation at the end.
static double last_loss(const char *run) {
    size_t length;
    char *text = test_read_file(test_path("%s/metrics.jsonl", run), &length);
    assert_non_null(text);
    char *line = text + length - 1;
    while (line > text && line[-1] != '\n') --line;
    json_t *object = json_loads(line, 0, NULL);
    const double loss = json_number_value(json_object_get(object, "loss"));
    assert_true(loss > 0);
    json_decref(object);
    free(text);
    return loss;
}

static void assert_same_loss(const char *run, const char *other, const char *what) {
    const double a = last_loss(run), b = last_loss(other);
    if (!(fabs(a - b) <= 1e-6 * b)) fail_msg("%s: loss %.9f of %s, %.9f of %s", what, a, run, b, other);
}

static void assert_same_bits(const char *run, const char *other, const char *file) {
    size_t x_bytes, y_bytes;
    char *x = test_read_file(test_path("%s/latest/%s", run, file), &x_bytes);
    char *y = test_read_file(test_path("%s/latest/%s", other, file), &y_bytes);
    assert_true(x && y && x_bytes == y_bytes);
    if (memcmp(x, y, x_bytes)) fail_msg("%s of %s and %s differ", file, run, other);
    free(x), free(y);
}

static void remove_run(const char *name) { assert_ok(bpt_path_remove(test_path("%s", name))); }

// ---- What they compute

static void train_alone(size_t task, const char *backend, const char *name, const char *more) {
    test_succeed("train %s --backend %s --out %s %s", options_of(task), backend, test_path("%s", name), more);
}

static void train_together(int ranks, size_t task, const char *backend, const char *name, const char *more) {
    team(ranks, "train %s --backend %s --team mpi --out %s %s", options_of(task), backend, test_path("%s", name), more);
}

static void several_ranks_compute_what_one_process_does(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        train_alone(i, "cpu", "alone", "--steps 50");
        train_together(2, i, "cpu", "two", "--steps 50");
        train_together(3, i, "cpu", "three", "--steps 50 --shard-optimizer");
        assert_same_loss("two", "alone", tasks[i].name);
        assert_same_loss("three", "alone", tasks[i].name);
        remove_run("alone"), remove_run("two"), remove_run("three");
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
    const size_t task = BPT_COUNT(tasks) - 1;
    assert_string_equal(tasks[task].name, "translate");
    for (int ranks = 2; ranks <= 3; ++ranks) {
        train_together(ranks, task, "cpu", "team", "--steps 50 --lr 0.01 --best-by bleu");
        char *metrics = test_read_file(test_path("team/metrics.jsonl"), NULL), *line = metrics ? strstr(metrics, "{\"eval\"") : NULL;
        assert_non_null(line);
        test_process_t p =
            test_run_to(0, "translate %s %s/sides/valid.en --beam 1 --backend cpu --threads 1 --quiet", test_path("team"), folder);
        const char *written = test_file("written", p.out);
        test_process_free(&p);
        p = test_run_to(0, "bleu %s --ref %s/sides/valid.de --json", written, folder);
        assert_true(bleu_of(line) > 0 && bleu_of(line) == bleu_of(p.out));
        test_process_free(&p);
        free(metrics);
        remove_run("team");
    }
}

// A rank for each micro-batch adds in the same order as one process: the same bits.
// A larger model has several buckets, which are exchanged during the backward pass.
static void a_rank_for_each_micro_batch_gives_the_bits_of_one_process(void **state) {
    (void)state;
    static const char *const sizes[] = {"--steps 20", "--steps 20 --d-model 64 --layers 3", "--steps 10 --d-model 64 --precision bf16"};
    for (size_t i = 0; i < BPT_COUNT(sizes); ++i) {
        train_alone(0, "cpu", "alone", sizes[i]);
        train_together(4, 0, "cpu", "four", sizes[i]);
        assert_same_bits("four", "alone", "model.safetensors");
        assert_same_bits("four", "alone", "optimizer.safetensors");
        remove_run("alone"), remove_run("four");
    }
}

// A rank without a micro-batch takes part in every exchange, in the same order as the others. 24 examples make fewer micro-batches.
static void an_idle_rank_exchanges_with_the_others(void **state) {
    (void)state;
    static const char *const optimizers[] = {"--steps 10", "--steps 10 --shard-optimizer"};
    for (size_t i = 0; i < 2; ++i) {
        char more[200];
        snprintf(more, sizeof more, "%s --d-model 64 --layers 3 --batch-examples 8", optimizers[i]);
        train_alone(1, "cpu", "alone", "--steps 10 --d-model 64 --layers 3 --batch-examples 8");
        train_together(3, 1, "cpu", "three", more);
        assert_same_loss("three", "alone", optimizers[i]);
        remove_run("alone"), remove_run("three");
    }
}

static void bench_says_how_much_is_hidden(void **state) {
    (void)state;
    test_process_t p = run_team(2, "bench train --team mpi --json --backend cpu --threads 1 --layers 3 --d-model 64 --d-ff 128 --heads 2 "
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
    static const char *const optimizers[] = {"", "--shard-optimizer"};
    for (size_t i = 0; i < 2; ++i) {
        char more[100];
        snprintf(more, sizeof more, "--steps 20 --clip 0.1 %s", optimizers[i]);
        train_together(3, 1, "cpu", "first", more);
        train_together(3, 1, "cpu", "second", more);
        assert_same_bits("first", "second", "model.safetensors");
        assert_same_bits("first", "second", "optimizer.safetensors");
        remove_run("first"), remove_run("second");
    }
}

static void ranks_train_on_every_api(void **state) {
    (void)state;
    static const char *const backends[] = {"opencl", "vulkan"};
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        for (size_t i = 0; i < (all_teams() ? BPT_COUNT(tasks) : 2); ++i) {
            train_alone(i, backends[b], "alone", "--steps 50");
            train_together(2, i, backends[b], "two", i ? "--steps 50 --shard-optimizer" : "--steps 50");
            if (all_teams())
                print_message("%s on %s: loss %.9f and %.9f\n", tasks[i].name, backends[b], last_loss("two"), last_loss("alone"));
            assert_same_loss("two", "alone", backends[b]);
            remove_run("alone"), remove_run("two");
        }
    }
}

// Each on a device of its own kind; the one that owns a number computes it for all.
static void ranks_of_different_backends_train_together(void **state) {
    (void)state;
    train_alone(0, "cpu", "alone", "--steps 50");
    char line[3000];
    const char *other = test_backend_usable("vulkan") ? "vulkan" : "ref";
    int used = snprintf(line, sizeof line, "train %s --backend cpu --team mpi --shard-optimizer --steps 50 --out %s", options_of(0),
                        test_path("mixed"));
    snprintf(line + used, sizeof line - (size_t)used, " : train %s --backend %s --team mpi --shard-optimizer --steps 50 --out %s",
             options_of(0), other, test_path("mixed"));
    test_process_t p = run_team(1, line);
    if (p.exit_status) fail_msg("%s: exit %d, %s", line, p.exit_status, p.err);
    test_process_free(&p);
    const double a = last_loss("mixed"), b = last_loss("alone");
    assert_true(fabs(a - b) <= 1e-4 * b);
    remove_run("alone"), remove_run("mixed");
}

// ---- Sharing sequences

#define SHARED "--task lm --data %s --context 64 --batch-tokens 128 --dropout-hidden 0.1 --dropout-attention 0.1 " SHAPE

static void train_shared(int ranks, const char *backend, const char *name, const char *more) {
    char line[2000];
    snprintf(line, sizeof line, "train " SHARED "%s --backend %s --out %s", test_path("data/lm"), more, backend, test_path("%s", name));
    if (ranks == 1)
        test_succeed("%s", line);
    else
        team(ranks, "%s --team mpi --split-sequence", line);
}

// Dropout and all: each rank computes its part of what one process does. The sums have another order.
static void ranks_that_share_sequences_compute_what_one_process_does(void **state) {
    (void)state;
    static const char *const models[] = {"--k 2 --steps 50", "--k 3 --rule reference --layers 3 --recompute --steps 50",
                                         "--k 2 --positions absolute --accumulate 2 --steps 50"};
    for (size_t i = 0; i < BPT_COUNT(models); ++i) {
        train_shared(1, "cpu", "alone", models[i]);
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            train_shared(ranks, "cpu", "shared", models[i]);
            const double a = last_loss("shared"), b = last_loss("alone");
            if (!(fabs(a - b) <= 1e-5 * b)) fail_msg("%s, %d ranks: loss %.9f, alone %.9f", models[i], ranks, a, b);
            remove_run("shared");
        }
        remove_run("alone");
    }
}

static void sharing_sequences_twice_gives_the_same_bits(void **state) {
    (void)state;
    train_shared(4, "cpu", "first", "--k 2 --steps 10 --shard-optimizer");
    train_shared(4, "cpu", "second", "--k 2 --steps 10 --shard-optimizer");
    assert_same_bits("first", "second", "model.safetensors");
    assert_same_bits("first", "second", "optimizer.safetensors");
    remove_run("first"), remove_run("second");
}

static void every_api_shares_sequences(void **state) {
    (void)state;
    static const char *const backends[] = {"opencl", "vulkan"};
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        train_shared(1, backends[b], "alone", "--k 2 --steps 20");
        train_shared(2, backends[b], "shared", "--k 2 --steps 20");
        const double x = last_loss("shared"), y = last_loss("alone");
        if (!(fabs(x - y) <= 1e-5 * y)) fail_msg("%s: loss %.9f, alone %.9f", backends[b], x, y);
        remove_run("alone"), remove_run("shared");
    }
}

// ---- Going on

static void a_run_goes_on_with_another_number_of_ranks(void **state) {
    (void)state;
    static const char *const sharded[] = {"", "--shard-optimizer"};
    train_alone(0, "cpu", "alone", "--steps 30");
    for (size_t i = 0; i < 2; ++i) {
        char more[100];
        snprintf(more, sizeof more, "--steps 30 --stop-at 10 %s", sharded[i]);
        train_together(3, 0, "cpu", "parts", more);
        team(2, "train --resume --team mpi --quiet --stop-at 20 --out %s %s", test_path("parts"), sharded[1 - i]);
        test_succeed("train --resume --quiet --stop-at 30 --out %s", test_path("parts"));
        assert_same_loss("parts", "alone", "with 3, 2 and 1 ranks");
        remove_run("parts");
    }
    remove_run("alone");
}

// ---- What cannot begin

static void refused(int status, const char *part, int ranks, const char *arguments) {
    test_process_t p = run_team(ranks, arguments);
    if (p.exit_status != status || !strstr(p.err, part))
        fail_msg("%d ranks of bpt %s: exit %d, wanted %d and '%s': %s", ranks, arguments, p.exit_status, status, part, p.err);
    const char *first = strstr(p.err, "bpt: error:");
    if (!first || strstr(first + 1, "bpt: error:")) fail_msg("one rank is to say it: %s", p.err);
    test_process_free(&p);
    assert_false(bpt_folder_exists(test_path("refused")));
}

static void ranks_that_do_not_fit_together_are_refused(void **state) {
    (void)state;
    char ok[1500], line[4000];
    snprintf(ok, sizeof ok, "train %s --backend cpu --team mpi --steps 5 --out %s", options_of(0), test_path("refused"));
    snprintf(line, sizeof line, "%s --accumulate 2", ok);
    refused(2, "a step has 2 micro-batches and there are 3 ranks", 3, line);
    snprintf(line, sizeof line, "%s : %s --lr 0.01", ok, ok);
    refused(2, "has other options; give all ranks the same ones", 1, line);
    snprintf(line, sizeof line, "%s : %s --data %s", ok, ok,
             test_file("other.txt", "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz "));
    refused(2, "has read other training data", 1, line);
    snprintf(line, sizeof line, "%s : %s --data %s/nowhere", ok, ok, folder);
    refused(1, "rank 1 (", 1, line);
    snprintf(line, sizeof line, "%s : train %s --backend cpu --device 7 --team mpi --steps 5 --out %s", ok, options_of(0),
             test_path("refused"));
    refused(1, "has no such device", 1, line);
    snprintf(line, sizeof line, "%s --heads 3", ok);
    refused(2, "bpt: error: ", 2, line);
    snprintf(line, sizeof line, "%s --split-sequence --context 40 --k 2", ok);
    refused(2, "a token reads spans of up to 8 tokens, and a rank would own 20 tokens, which is no multiple of that", 2, line);
    snprintf(line, sizeof line, "%s --split-sequence --context 32", ok);
    refused(2, "sequences of 32 tokens cannot be shared evenly by 3 ranks", 3, line);
    snprintf(line, sizeof line, "%s --split-sequence --model transformer", ok);
    refused(2, "model transformer cannot share sequences among ranks", 2, line);
    snprintf(line, sizeof line, "train %s --backend cpu --team mpi --split-sequence --steps 5 --out %s", options_of(1),
             test_path("refused"));
    refused(2, "task classify cannot share sequences among ranks", 2, line);
    test_refused(2, "there is no team", "train %s --split-sequence --out %s", options_of(0), test_path("refused"));
    test_refused(2, "there is no team", "train %s --shard-optimizer --out %s", options_of(0), test_path("refused"));
    setenv("BPT_MPI_LIBRARY", "/nowhere/libbpt_mpi.so", 1);
    test_refused(1, "/nowhere/libbpt_mpi.so cannot be opened", "train %s --team mpi --out %s", options_of(0), test_path("refused"));
    setenv("BPT_MPI_LIBRARY", "libm.so.6", 1);
    test_refused(1, "is no module of bpt", "train %s --team mpi --out %s", options_of(0), test_path("refused"));
    test_process_t doctor = test_run_line("doctor --backend ref");
    assert_non_null(strstr(doctor.out, "no --team mpi: libm.so.6 is no module of bpt"));
    test_process_free(&doctor);
    unsetenv("BPT_MPI_LIBRARY");
    doctor = test_run_line("doctor --backend ref");
    assert_non_null(strstr(doctor.out, "several processes can train together (--team mpi)"));
    test_process_free(&doctor);
    assert_ok(bpt_folder_create(test_path("foreign")));
    test_write_file(test_path("foreign/file"), "x", 1);
    snprintf(line, sizeof line, "train %s --backend cpu --team mpi --steps 5 --out %s", options_of(0), test_path("foreign"));
    refused(2, "rank 0 (", 2, line);
}

// ---- Devices that are connected: CUDA with the NCCL that BPT_NCCL_LIBRARY names

// The options of a language model, with remarks.
static const char *talking(void) {
    static char options[1200];
    snprintf(options, sizeof options, "%s", options_of(0));
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
        test_process_t p = run_team(i == 2 ? 3 : 2, line);
        if (p.exit_status) fail_msg("%s: exit %d: %s", line, p.exit_status, p.err);
        if (!strstr(p.err, "the devices of the ranks are connected by NCCL 2.18.3")) fail_msg("not connected: %s", p.err);
        test_process_free(&p);
        setenv("BPT_NCCL_LIBRARY", "none", 1);
        train_together(i == 2 ? 3 : 2, 0, "cuda", "host", options[i]);
        setenv("BPT_NCCL_LIBRARY", library, 1);
        assert_same_bits("linked", "host", "model.safetensors");
        assert_same_bits("linked", "host", "optimizer.safetensors");
        remove_run("linked"), remove_run("host");
    }
}

static void devices_that_cannot_be_connected_are_refused_or_use_host_memory(void **state) {
    (void)state;
    char library[600], line[4000];
    snprintf(library, sizeof library, "%s", getenv("BPT_NCCL_LIBRARY"));
    snprintf(line, sizeof line, "train %s --backend cuda --team mpi --steps 1 --out %s", options_of(0), test_path("refused"));
    setenv("BPT_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
    refused(1, "name another library in BPT_NCCL_LIBRARY, or none", 2, line);
    setenv("BPT_NCCL_LIBRARY", "libm.so.6", 1);
    refused(1, "NCCL is too old: it has no ncclGetVersion", 2, line);
    setenv("BPT_NCCL_LIBRARY", library, 1);
    setenv("FAKE_NCCL_FAILS", "ncclCommInitRank", 1);
    refused(1, "NCCL 2.18.3: connecting the GPUs failed (internal error)", 2, line);
    setenv("FAKE_NCCL_FAILS", "ncclGroupEnd", 1);
    test_process_t p = run_team(2, line);
    assert_int_not_equal(p.exit_status, 0);
    if (!strstr(p.err, "beginning an exchange failed (internal error)")) fail_msg("%s", p.err);
    test_process_free(&p);
    unsetenv("FAKE_NCCL_FAILS");
    remove_run("refused");
    // Another backend beside it: host memory.
    snprintf(line, sizeof line,
             "train %s --backend cuda --team mpi --shard-optimizer --steps 2 --out %s : train %s --backend cpu "
             "--team mpi --shard-optimizer --steps 2 --out %s",
             talking(), test_path("mixed"), options_of(0), test_path("mixed"));
    p = run_team(1, line);
    if (p.exit_status) fail_msg("%s: exit %d: %s", line, p.exit_status, p.err);
    assert_non_null(strstr(p.err, "exchanges between the ranks go through host memory: not all devices can be connected by NCCL 2.18.3"));
    test_process_free(&p);
    remove_run("mixed");
}

// ---- What ends in the middle

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

static pid_t start_team(int ranks, const char *run, const char *more) {
    char line[3000];
    snprintf(line, sizeof line,
             "exec \"%s\" -n %d \"%s\" train %s --backend cpu --team mpi --steps 100000 --save-every 10 --out %s %s >/dev/null 2>%s",
             mpirun, ranks, program, options_of(0), run, more, test_path("messages"));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void wait_for_checkpoint(const char *name) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    while (!bpt_folder_exists(test_path("%s/latest", name))) {
        if (time(NULL) > end) fail_msg("no checkpoint after %d s", DEADLINE_SECONDS);
        nap();
    }
}

static int wait_for_end(pid_t pid) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    int status;
    while (!waitpid(pid, &status, WNOHANG)) {
        if (time(NULL) > end) {
            kill(pid, SIGKILL);
            fail_msg("the team had not ended after %d s", DEADLINE_SECONDS);
        }
        nap();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The process of the `nth` rank of a run, found by its arguments; 0: there is none.
static pid_t rank_process(const char *run, int nth) {
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    pid_t found = 0;
    for (struct dirent *entry; (entry = readdir(processes)) && !found;) {
        char path[300], arguments[4096] = "";
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", entry->d_name);
        FILE *file = strspn(entry->d_name, "0123456789") == strlen(entry->d_name) ? fopen(path, "r") : NULL;
        if (!file) continue;
        const size_t bytes = fread(arguments, 1, sizeof arguments - 1, file);
        fclose(file);
        if (strcmp(arguments, program) || !bytes) continue;
        for (size_t i = 0; i < bytes; ++i)
            if (!arguments[i]) arguments[i] = ' ';
        if (strstr(arguments, run) && nth-- == 0) found = (pid_t)atoi(entry->d_name);
    }
    closedir(processes);
    return found;
}

// Whichever rank is killed, all end, and others go on from the last checkpoint to the bits of a run that nobody killed: four ranks and one
// add the four micro-batches in the same order.
static void a_killed_rank_ends_the_team_and_costs_only_the_steps_since_the_checkpoint(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("killed"));
    static const int ranks[] = {4, 4, 1, 4};
    for (int i = 0; i < (all_teams() ? 20 : 4); ++i) {
        const pid_t pid = start_team(ranks[i % 4], run, i ? "--resume" : "");
        const int victim = (i + 1) % ranks[i % 4];
        pid_t rank = 0;
        if (!i) wait_for_checkpoint("killed");
        for (const time_t end = time(NULL) + DEADLINE_SECONDS; !rank && time(NULL) < end; nap()) rank = rank_process(run, victim);
        assert_true(rank > 0);
        for (int k = 0; k < 10 + 57 * i % 307; ++k) nap();  // some moment
        kill(rank, SIGKILL);
        assert_int_not_equal(wait_for_end(pid), 0);
        assert_int_equal(rank_process(run, 0), 0);
    }
    json_t *checkpoint = json_load_file(test_path("killed/latest/state.json"), 0, NULL);
    const json_int_t step = json_integer_value(json_object_get(checkpoint, "step"));
    assert_true(step >= 10);
    json_decref(checkpoint);
    team(4, "train --resume --team mpi --quiet --stop-at %d --out %s", (int)step + 7, run);
    char more[100];
    snprintf(more, sizeof more, "--steps 100000 --save-every 10 --stop-at %d", (int)step + 7);
    train_alone(0, "cpu", "alone", more);
    assert_same_bits("killed", "alone", "model.safetensors");
    assert_same_bits("killed", "alone", "optimizer.safetensors");
    remove_run("killed"), remove_run("alone");
}

static void a_signal_to_all_saves_once(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("stopped"));
    const pid_t pid = start_team(2, run, "--shard-optimizer");
    wait_for_checkpoint("stopped");
    for (int rank = 0; rank < 2; ++rank) {  // as SLURM does; mpirun from Open MPI 5 on ends ranks in place of passing it on
        const pid_t process = rank_process(run, rank);
        assert_true(process > 0);
        kill(process, SIGTERM);
    }
    assert_int_not_equal(wait_for_end(pid), 0);
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    const char *said = messages ? strstr(messages, "the state is saved") : NULL;
    if (!said || strstr(said + 1, "the state is saved")) fail_msg("rank 0 alone saves: %s", messages ? messages : "");
    free(messages);
    test_succeed("eval %s --checkpoint latest --quiet --json", run);
    remove_run("stopped");
}

// Open MPI from 5 on makes files for shared memory that are larger than the limit of the test below.
static bool mpi_needs_large_files(void) {
    int version = 0;
    test_process_t p = run_mpirun("--version");
    const bool said = sscanf(p.out, "mpirun (Open MPI) %d", &version) == 1;
    test_process_free(&p);
    return said && version >= 5;
}

// The writer cannot write: it says so, and the others do not wait.
static void a_full_disk_at_rank_0_ends_the_team(void **state) {
    (void)state;
    if (mpi_needs_large_files()) skip();
    char line[4000], first[2000], other[1600];
    snprintf(other, sizeof other, "\"%s\" train %s --backend cpu --team mpi --steps 100000 --save-every 10 --out %s", program,
             options_of(0), test_path("full"));
    snprintf(first, sizeof first, "ulimit -f 8; exec %s", other);
    snprintf(line, sizeof line, "exec \"%s\" -n 2 sh %s 2>%s", mpirun, script_by_rank(first, other), test_path("messages"));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    assert_int_not_equal(wait_for_end(pid), 0);
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    if (!messages || !strstr(messages, "bpt: error: rank 0 (")) fail_msg("%s", messages ? messages : "nothing said");
    free(messages);
}

// A rank that does not answer any more is noticed by those who wait.
static void a_rank_that_is_silent_is_given_up(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("silent"));
    setenv("BPT_MPI_SECONDS", "10", 1);
    const pid_t pid = start_team(2, run, "");
    wait_for_checkpoint("silent");
    const pid_t rank = rank_process(run, 1);
    assert_true(rank > 0);
    kill(rank, SIGSTOP);
    assert_int_not_equal(wait_for_end(pid), 0);
    unsetenv("BPT_MPI_SECONDS");
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    if (!messages || !strstr(messages, "the other ranks have not answered for 10 seconds"))
        fail_msg("%s", messages ? messages : "nothing said");
    free(messages);
    remove_run("silent");
}

// A test that failed may have left ranks behind, which would go on for ever.
static int end_ranks(void **state) {
    (void)state;
    for (pid_t rank; (rank = rank_process(test_scratch_dir(), 0)) > 0; nap()) kill(rank, SIGKILL);
    return 0;
}

static void mpi_is_there(void **state) {
    (void)state;
    const char *required = getenv("BPT_REQUIRE_MPI");
    if (required && !strcmp(required, "1")) fail_msg("bpt was built without MPI, or there is no mpirun");
    skip();
}

int main(void) {
    snprintf(program, sizeof program, "%s", getenv("BPT_PROGRAM") ? getenv("BPT_PROGRAM") : "");
    const struct CMUnitTest missing[] = {cmocka_unit_test(mpi_is_there)};
    if (!find_mpirun() || !module_is_there()) return cmocka_run_group_tests(missing, NULL, NULL);
    const struct CMUnitTest connected[] = {
        cmocka_unit_test(connected_devices_give_the_bits_of_host_memory),
        cmocka_unit_test(devices_that_cannot_be_connected_are_refused_or_use_host_memory),
    };
    if (getenv("BPT_NCCL_LIBRARY")) return cmocka_run_group_tests(connected, setup, end_ranks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_ranks_compute_what_one_process_does),
        cmocka_unit_test(ranks_share_translations_out),
        cmocka_unit_test(a_rank_for_each_micro_batch_gives_the_bits_of_one_process),
        cmocka_unit_test(an_idle_rank_exchanges_with_the_others),
        cmocka_unit_test(bench_says_how_much_is_hidden),
        cmocka_unit_test(a_second_run_has_the_same_bits),
        cmocka_unit_test(ranks_train_on_every_api),
        cmocka_unit_test(ranks_of_different_backends_train_together),
        cmocka_unit_test(ranks_that_share_sequences_compute_what_one_process_does),
        cmocka_unit_test(sharing_sequences_twice_gives_the_same_bits),
        cmocka_unit_test(every_api_shares_sequences),
        cmocka_unit_test(a_run_goes_on_with_another_number_of_ranks),
        cmocka_unit_test(ranks_that_do_not_fit_together_are_refused),
        cmocka_unit_test(a_killed_rank_ends_the_team_and_costs_only_the_steps_since_the_checkpoint),
        cmocka_unit_test(a_signal_to_all_saves_once),
        cmocka_unit_test(a_full_disk_at_rank_0_ends_the_team),
        cmocka_unit_test(a_rank_that_is_silent_is_given_up),
    };
    return cmocka_run_group_tests(tests, setup, end_ranks);
}
