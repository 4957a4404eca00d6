// Beam search on a made-up model: the chance of a token depends on the two before it. Against greedy search, and against all texts there
// are.
#include "model_fixture.h"

#include "bpt/rng.h"
#include "models/decode/beam.h"
#include "models/decode/log_sum.h"

enum { VOCAB = 5, END = 1, WIDEST = 64, LONGEST = 6 };

// Logits behind a text of `count` tokens.
static void logits_behind(uint64_t seed, const uint32_t *tokens, int64_t count, float *out) {
    const uint64_t a = count > 0 ? tokens[count - 1] : 9, b = count > 1 ? tokens[count - 2] : 9;
    for (uint32_t v = 0; v < VOCAB; ++v)
        out[v] = (float)(bpt_mix64(seed << 32 | a << 16 | b << 8 | v) % 1000) / 250.0f + (v == END ? 0.25f * (float)count : 0);
}

static double log_chance(uint64_t seed, const uint32_t *tokens, int64_t count, uint32_t token) {
    float z[VOCAB];
    double sum = 0;
    logits_behind(seed, tokens, count, z);
    for (int v = 0; v < VOCAB; ++v) sum += exp((double)z[v]);
    return (double)z[token] - log(sum);
}

// What the decoder would hold in each slot, kept as the forks say: tokens without the opening sign, `held` with it.
typedef struct {
    uint32_t tokens[WIDEST][LONGEST + 1];
    int64_t held[WIDEST];
    int64_t copied;
} sequences_t;

static void give(sequences_t *s, int width, const uint32_t *next, const bpt_fork_t *forks, int64_t n_forks) {
    const sequences_t before = *s;
    for (int64_t i = 0; i < n_forks; ++i) {
        const bpt_fork_t *f = &forks[i];
        assert_true(f->first <= before.held[f->from]);
        // What is not copied must be there already.
        for (int64_t t = 0; t + 1 < f->first; ++t) assert_int_equal(before.tokens[f->to][t], before.tokens[f->from][t]);
        assert_true(f->first <= before.held[f->to]);
        memcpy(s->tokens[f->to], before.tokens[f->from], sizeof s->tokens[0]);
        s->held[f->to] = before.held[f->from];
        s->copied += s->held[f->to] - f->first;
    }
    for (int i = 0; i < width; ++i)
        if (next[i] != BPT_NO_ROW) s->tokens[i][s->held[i] - 1] = next[i], ++s->held[i];
}

// Runs the search; the slots must always hold what the beam believes.
static void search(bpt_beam_t *b, uint64_t seed, int width, int64_t max_length, sequences_t *s) {
    static float logits[WIDEST][VOCAB];
    const float *rows[WIDEST];
    uint32_t next[WIDEST];
    bpt_fork_t forks[WIDEST];
    int64_t n_forks;
    bool done = false;
    *s = (sequences_t){.held = {1}};
    assert_ok(bpt_beam_begin(b, max_length));
    for (int step = 0; !done; ++step) {
        assert_true(step < max_length);
        for (int i = 0; i < width; ++i)
            if (s->held[i]) logits_behind(seed, s->tokens[i], s->held[i] - 1, logits[i]);
        for (int i = 0; i < width; ++i) rows[i] = s->held[i] ? logits[i] : NULL;
        assert_ok(bpt_beam_step(b, rows, next, forks, &n_forks, &done));
        if (!done) give(s, width, next, forks, n_forks);
    }
}

static bpt_beam_t *make(int width, double penalty) {
    const bpt_beam_options_t o = {.width = width, .length_penalty = penalty, .end = END, .forbidden = BPT_NO_ROW, .vocab = VOCAB};
    bpt_beam_t *b;
    assert_ok(bpt_beam_create(&o, &b));
    return b;
}

static bpt_beam_t *make_with(int width, int64_t min_tokens, int64_t no_repeat, uint32_t forbidden) {
    const bpt_beam_options_t o = {.width = width,
                                  .length_penalty = 1,
                                  .end = END,
                                  .forbidden = forbidden,
                                  .min_tokens = min_tokens,
                                  .no_repeat = no_repeat,
                                  .vocab = VOCAB};
    bpt_beam_t *b;
    assert_ok(bpt_beam_create(&o, &b));
    return b;
}

static double score_of(uint64_t seed, const bpt_hypothesis_t *h, double penalty) {
    double sum = 0;
    for (int64_t i = 0; i < h->count; ++i) sum += log_chance(seed, h->tokens, i, h->tokens[i]);
    return (sum + log_chance(seed, h->tokens, h->count, END)) / pow((double)(h->count + 1), penalty);
}

static void a_beam_of_one_is_greedy(void **state) {
    (void)state;
    bpt_beam_t *b = make(1, 1);
    sequences_t s;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        uint32_t greedy[LONGEST];
        int64_t count = 0;
        for (; count + 1 < LONGEST; ++count) {
            uint32_t best = 0;
            for (uint32_t v = 1; v < VOCAB; ++v)
                if (log_chance(seed, greedy, count, v) > log_chance(seed, greedy, count, best)) best = v;
            if (best == END) break;
            greedy[count] = best;
        }
        search(b, seed, 1, LONGEST, &s);
        const bpt_hypothesis_t h = bpt_beam_hypothesis(b, 0);
        assert_int_equal(bpt_beam_count(b), 1);
        assert_int_equal(h.count, count);
        assert_memory_equal(h.tokens, greedy, (size_t)count * sizeof *greedy);
        assert_true(fabs(h.score - score_of(seed, &h, 1)) < 1e-5);
    }
    bpt_beam_destroy(b);
}

// The best score of all texts of up to `left` more tokens.
static double best_of_all(uint64_t seed, uint32_t *tokens, int64_t count, double sum, int64_t max_length, double penalty) {
    double best = (sum + log_chance(seed, tokens, count, END)) / pow((double)(count + 1), penalty);
    for (uint32_t v = 0; v < VOCAB && count + 1 < max_length; ++v) {
        if (v == END) continue;
        tokens[count] = v;
        const double of_v = best_of_all(seed, tokens, count + 1, sum + log_chance(seed, tokens, count, v), max_length, penalty);
        if (of_v > best) best = of_v;
    }
    return best;
}

// 4^3 prefixes of three tokens: a beam of 64 loses none of the texts of up to four tokens.
static void a_wide_beam_finds_the_best_of_all_texts(void **state) {
    (void)state;
    static const double penalties[] = {0, 0.6, 1};
    for (size_t p = 0; p < BPT_COUNT(penalties); ++p) {
        bpt_beam_t *b = make(WIDEST, penalties[p]);
        static sequences_t s;
        for (uint64_t seed = 0; seed < 60; ++seed) {
            uint32_t tokens[LONGEST];
            const double best = best_of_all(seed, tokens, 0, 0, 4, penalties[p]);
            search(b, seed, WIDEST, 4, &s);
            const bpt_hypothesis_t h = bpt_beam_hypothesis(b, 0);
            assert_true(fabs(h.score - best) < 1e-5);
            assert_true(fabs(score_of(seed, &h, penalties[p]) - best) < 1e-5);
        }
        bpt_beam_destroy(b);
    }
}

// Whether some n tokens side by side come twice.
static bool repeats(const uint32_t *tokens, int64_t count, int64_t n) {
    for (int64_t i = 0; i + n <= count; ++i)
        for (int64_t j = i + 1; j + n <= count; ++j)
            if (!memcmp(tokens + i, tokens + j, (size_t)n * sizeof *tokens)) return true;
    return false;
}

// The best score of all texts of up to `max_length` tokens, their end included, that are long enough and repeat nothing.
static double best_allowed(uint64_t seed, uint32_t *tokens, int64_t count, double sum, int64_t max_length, int64_t least, int64_t n) {
    bool goes_on = false;
    double best = -INFINITY;
    for (uint32_t v = 0; v < VOCAB && count + 1 < max_length; ++v) {
        tokens[count] = v;
        if (v == END || (n && repeats(tokens, count + 1, n))) continue;
        goes_on = true;
        const double of_v = best_allowed(seed, tokens, count + 1, sum + log_chance(seed, tokens, count, v), max_length, least, n);
        if (of_v > best) best = of_v;
    }
    const double here = (sum + log_chance(seed, tokens, count, END)) / (double)(count + 1);
    return (count >= least || !goes_on) && here > best ? here : best;
}

static void least_lengths_and_repeats_hold_and_lose_nothing_else(void **state) {
    (void)state;
    int changed = 0;
    for (int64_t least = 0; least < 4; ++least)
        for (int64_t n = 0; n < 4; ++n) {
            bpt_beam_t *b = make_with(WIDEST, least, n, BPT_NO_ROW);
            static sequences_t s;
            for (uint64_t seed = 0; seed < 30; ++seed) {
                uint32_t tokens[LONGEST];
                const double best = best_allowed(seed, tokens, 0, 0, 4, least, n);
                search(b, seed, WIDEST, 4, &s);
                const bpt_hypothesis_t h = bpt_beam_hypothesis(b, 0);
                assert_true(fabs(h.score - best) < 1e-5);
                changed += best < best_of_all(seed, tokens, 0, 0, 4, 1) - 1e-6;
                for (int i = 0; i < bpt_beam_count(b); ++i) {
                    const bpt_hypothesis_t other = bpt_beam_hypothesis(b, i);
                    if (n) assert_false(repeats(other.tokens, other.count, n));
                    assert_true(other.count >= least || n == 1);  // with four tokens to choose from, a text has none left behind the fourth
                    assert_true(fabs(other.score - score_of(seed, &other, 1)) < 1e-5);
                }
            }
            bpt_beam_destroy(b);
        }
    assert_true(changed > 50);
}

// Two tokens beside the end and the forbidden ones: behind them nothing is left, so texts end, though they are too short.
static void a_text_with_no_token_left_ends(void **state) {
    (void)state;
    bpt_beam_t *b = make_with(3, 6, 1, 0);
    static sequences_t s;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        search(b, seed, 3, 7, &s);
        assert_true(bpt_beam_count(b) > 0);
        for (int i = 0; i < bpt_beam_count(b); ++i) {
            const bpt_hypothesis_t h = bpt_beam_hypothesis(b, i);
            assert_int_equal(h.count, VOCAB - 2);
            assert_false(repeats(h.tokens, h.count, 1));
            for (int64_t t = 0; t < h.count; ++t) assert_true(h.tokens[t] != 0 && h.tokens[t] != END);
        }
    }
    bpt_beam_destroy(b);
}

static void scores_fall_and_are_those_of_their_texts(void **state) {
    (void)state;
    bpt_beam_t *b = make(4, 1);
    static sequences_t s;
    double narrow = 0, wide = 0;
    bpt_beam_t *one = make(1, 1);
    for (uint64_t seed = 0; seed < 200; ++seed) {
        search(b, seed, 4, LONGEST, &s);
        assert_true(bpt_beam_count(b) >= 1 && bpt_beam_count(b) <= 4);
        for (int i = 0; i < bpt_beam_count(b); ++i) {
            const bpt_hypothesis_t h = bpt_beam_hypothesis(b, i);
            assert_true(h.count < LONGEST);
            assert_true(fabs(h.score - score_of(seed, &h, 1)) < 1e-5);
            if (i) assert_true(h.score <= bpt_beam_hypothesis(b, i - 1).score);
        }
        wide += bpt_beam_hypothesis(b, 0).score;
        search(one, seed, 1, LONGEST, &s);
        narrow += bpt_beam_hypothesis(one, 0).score;
    }
    assert_true(wide > narrow);
    bpt_beam_destroy(b);
    bpt_beam_destroy(one);
}

static void a_forbidden_token_is_never_chosen(void **state) {
    (void)state;
    const bpt_beam_options_t o = {.width = 3, .length_penalty = 1, .end = END, .forbidden = 0, .vocab = VOCAB};
    bpt_beam_t *b;
    static sequences_t s;
    assert_ok(bpt_beam_create(&o, &b));
    for (uint64_t seed = 0; seed < 50; ++seed) {
        search(b, seed, 3, LONGEST, &s);
        for (int i = 0; i < bpt_beam_count(b); ++i)
            for (int64_t t = 0; t < bpt_beam_hypothesis(b, i).count; ++t) assert_int_not_equal(bpt_beam_hypothesis(b, i).tokens[t], 0);
    }
    bpt_beam_destroy(b);
}

static void a_logit_that_is_not_finite_is_an_error(void **state) {
    (void)state;
    bpt_beam_t *b = make(1, 1);
    const float logits[VOCAB] = {0, 1, NAN, 2, 3}, *const rows[] = {logits};
    uint32_t next;
    bpt_fork_t fork;
    int64_t forks;
    bool done;
    assert_ok(bpt_beam_begin(b, 5));
    assert_fails(bpt_beam_step(b, rows, &next, &fork, &forks, &done), BPT_ERR_NUMERIC, "not finite");
    bpt_beam_destroy(b);
}

// Against sums in double, whatever is left over behind whole blocks; what is not finite does not pass unseen.
static void sums_of_exponentials_are_right(void **state) {
    (void)state;
    enum { MOST = 1000, BLOCKS = MOST / BPT_LOG_SUM_BLOCK + 1 };
    float x[MOST], largest[BLOCKS];
    for (int64_t n = 1; n <= MOST; n += n < 300 ? 1 : 97) {
        double wanted = 0, most = -INFINITY;
        for (int64_t i = 0; i < n; ++i) {
            x[i] = (float)((double)(bpt_mix64((uint64_t)(n * MOST + i)) % 4000) / 100 - (n % 2 ? 20 : 100));
            most = (double)x[i] > most ? (double)x[i] : most;
        }
        for (int64_t i = 0; i < n; ++i) wanted += exp((double)x[i] - most);
        wanted = most + log(wanted);
        const double got = bpt_log_sum_of_logits(x, n, largest);
        if (!(fabs(got - wanted) < 2e-7 * (1 + fabs(wanted)))) fail_msg("%lld numbers: %.9g, wanted %.9g", (long long)n, got, wanted);
        for (int64_t b = 0; b * BPT_LOG_SUM_BLOCK < n; ++b) {
            float of_block = -INFINITY;
            for (int64_t i = b * BPT_LOG_SUM_BLOCK; i < n && i < (b + 1) * BPT_LOG_SUM_BLOCK; ++i)
                of_block = x[i] > of_block ? x[i] : of_block;
            assert_true(largest[b] == of_block);
        }
        for (int64_t i = 0; i < n; i += 1 + n / 7) {
            const float kept = x[i];
            x[i] = NAN;
            assert_false(isfinite(bpt_log_sum_of_logits(x, n, largest)));
            x[i] = INFINITY;
            assert_false(isfinite(bpt_log_sum_of_logits(x, n, largest)));
            x[i] = -INFINITY;  // forbidden, as long as anything is allowed
            assert_true(n == 1 ? !isfinite(bpt_log_sum_of_logits(x, n, largest)) : bpt_log_sum_of_logits(x, n, largest) < got + 1e-6);
            x[i] = kept;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_exponentials_are_right),
        cmocka_unit_test(a_beam_of_one_is_greedy),
        cmocka_unit_test(a_wide_beam_finds_the_best_of_all_texts),
        cmocka_unit_test(scores_fall_and_are_those_of_their_texts),
        cmocka_unit_test(least_lengths_and_repeats_hold_and_lose_nothing_else),
        cmocka_unit_test(a_text_with_no_token_left_ends),
        cmocka_unit_test(a_forbidden_token_is_never_chosen),
        cmocka_unit_test(a_logit_that_is_not_finite_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
