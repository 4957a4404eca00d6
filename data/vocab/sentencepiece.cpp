// SentencePiece for C (sentencepiece.h).
#include "data/vocab/sentencepiece.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

struct bpt_sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
};

extern "C" const bool bpt_sentencepiece_there = true;
extern "C" const char *const bpt_sentencepiece_version = BPT_SENTENCEPIECE_VERSION;

namespace {

using sentencepiece::util::Status;

bool fail(bpt_why_t *why, const char *text) {
    std::snprintf(why->text, sizeof why->text, "%s", text);
    return false;
}

// The library puts the place in its source before a message, "trainer.cc(580) [condition] message", and often gives no message.
bool succeeded(const Status &status, bpt_why_t *why) {
    if (status.ok()) return true;
    const char *text = status.error_message(), *message = std::strstr(text, "] ");
    return fail(why, message ? message + 2 : text);
}

// No exception may reach C.
template <typename Body> bool guarded(bpt_why_t *why, Body body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(why, "out of host memory");
    } catch (const std::exception &e) {
        return fail(why, e.what());
    } catch (...) {
        return fail(why, "an unknown failure");
    }
}

class Sentences : public sentencepiece::SentenceIterator {
  public:
    Sentences(bool (*next)(void *, const char **, size_t *), void *user) : next_(next), user_(user) { Next(); }
    bool done() const override { return done_; }
    const std::string &value() const override { return value_; }
    Status status() const override { return Status(); }
    void Next() override {
        const char *sentence;
        size_t bytes;
        done_ = !next_(user_, &sentence, &bytes);
        if (!done_) value_.assign(sentence, bytes);
    }

  private:
    bool (*next_)(void *, const char **, size_t *);
    void *user_;
    std::string value_;
    bool done_ = false;
};

}  // namespace

bool bpt_sentencepiece_load(const void *model, size_t bytes, bpt_sentencepiece_t **out, bpt_why_t *why) {
    return guarded(why, [&] {
        auto loaded = std::make_unique<bpt_sentencepiece>();
        if (!succeeded(loaded->processor.LoadFromSerializedProto({static_cast<const char *>(model), bytes}), why)) return false;
        *out = loaded.release();
        return true;
    });
}

void bpt_sentencepiece_free(bpt_sentencepiece_t *model) { delete model; }
int bpt_sentencepiece_count(const bpt_sentencepiece_t *model) { return model->processor.GetPieceSize(); }
int bpt_sentencepiece_eos(const bpt_sentencepiece_t *model) { return model->processor.eos_id(); }

bpt_piece_kind_t bpt_sentencepiece_piece(const bpt_sentencepiece_t *model, int id, const char **text, size_t *bytes) {
    const auto &p = model->processor;
    const std::string &piece = p.IdToPiece(id);
    *text = piece.data();
    *bytes = piece.size();
    return p.IsUnknown(id) ? BPT_PIECE_UNKNOWN : p.IsControl(id) ? BPT_PIECE_SIGN : p.IsByte(id) ? BPT_PIECE_BYTE : BPT_PIECE_TEXT;
}

bool bpt_sentencepiece_encode(const bpt_sentencepiece_t *model, const char *text, size_t bytes, bool (*take)(void *, int, size_t),
                              void *user, bpt_why_t *why) {
    return guarded(why, [&] {
        sentencepiece::ImmutableSentencePieceText found;
        if (!succeeded(model->processor.Encode({text, bytes}, found.mutable_proto()), why)) return false;
        for (int i = 0, n = static_cast<int>(found.pieces_size()); i < n; ++i) {
            const auto piece = found.pieces(i);
            if (!take(user, static_cast<int>(piece.id()), piece.end())) break;
        }
        return true;
    });
}

// One thread, no sampling and no folding of characters: the model is a function of the sentences alone, and of none of their characters a
// text loses anything. Every character has a piece.
bool bpt_sentencepiece_train(const char *kind, int pieces, bool (*next)(void *, const char **, size_t *), void *user, char **model,
                             size_t *bytes, bpt_why_t *why) {
    return guarded(why, [&] {
        Sentences sentences(next, user);
        std::string trained;
        if (!succeeded(sentencepiece::SentencePieceTrainer::Train({{"model_type", kind},
                                                                   {"vocab_size", std::to_string(pieces)},
                                                                   {"character_coverage", "1"},
                                                                   {"normalization_rule_name", "identity"},
                                                                   {"unk_id", "0"},
                                                                   {"eos_id", "1"},
                                                                   {"bos_id", "-1"},
                                                                   {"pad_id", "-1"},
                                                                   {"unk_piece", "<unk>"},
                                                                   {"eos_piece", "<eos>"},
                                                                   {"num_threads", "1"},
                                                                   {"max_sentence_length", "1073741824"},
                                                                   {"minloglevel", "2"}},
                                                                  &sentences, &trained),
                       why))
            return false;
        *model = static_cast<char *>(std::malloc(trained.size()));
        if (!*model) return fail(why, "out of host memory");
        std::memcpy(*model, trained.data(), trained.size());
        *bytes = trained.size();
        return true;
    });
}
