"""Models through the package: what the program says of the same runs, training, and what is refused."""
import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import bpt_program

import bpt


def test_generation_streams_what_the_program_writes(runs):
    options = dict(temperature=1.3, top_k=9, top_p=0.9, repeat_penalty=1.1, repeat_window=5, seed=7)
    flags = [x for name, value in options.items() for x in ("--" + name.replace("_", "-"), value)]
    said = bpt_program("generate", runs / "lm", "--prompt", "abc", "--max-tokens", 40, *flags, "--backend", "cpu", "--quiet")
    with bpt.open(runs / "lm") as model:
        generation = model.generate("abc", 40, **options)
        pieces = list(generation)
        assert "".join(pieces) == said and len(pieces) > 20
        assert len(generation.tokens) == 40
        assert "".join(model.generate(model.tokenize("abc"), 40, **options)) == said
        stopped = "".join(model.generate("abc", 40, **options, stop=[said[10:13]]))
        assert stopped == said[:said.index(said[10:13])]
        assert list(model.generate("abc", 0)) == []
        tokens = model.generate("abc", 60, temperature=0, no_repeat=2)
        list(tokens)
        pairs = list(zip([ord("c")] + tokens.tokens, tokens.tokens))
        assert len(set(pairs)) == len(pairs)


def test_generations_end_with_their_model_and_stand_in_the_way_of_training(runs):
    with bpt.open(runs / "lm", trains=True) as model:
        generation = model.generate("abc", 5)
        next(generation)
        batch = bpt.MicroBatch([np.arange(97, 104)])
        with pytest.raises(bpt.Error, match="generators read the parameters"):
            model.train_step(batch, lr=1e-3)
        generation.close()
        model.train_step(batch, lr=1e-3)
        left = model.generate("abc", 5)
    with pytest.raises(StopIteration):
        next(left)
    with pytest.raises(bpt.Error, match="the model is closed"):
        model.generate("abc", 5)


def test_what_a_model_is(runs):
    with bpt.open(runs / "lm") as model:
        assert model.config["model"] == "bpt" and model.config["k"] == 2
        assert (model.vocabulary, model.classes, model.texts, model.inputs, model.width, model.step) == (256, 0, 1, 0, 16, 30)
        assert model.parameters > 1000
        assert model.text(model.tokenize("häuser")) == "häuser"
        assert model.tokenize(b"\xff\x00").tolist() == [255, 0]


def test_classes_are_those_of_the_program(runs):
    lines = ["fine warm play", "awful dull film"]
    said = [json.loads(line) for line in bpt_program("classify", runs / "classifier", "--json", "--backend", "cpu", "--quiet",
                                                     input="\n".join(lines) + "\n").splitlines()]
    with bpt.open(runs / "classifier") as model:
        assert model.labels == ["bad", "good"]
        got = model.classify(lines)
        assert got.labels == [line["label"] for line in said] == ["good", "bad"]
        np.testing.assert_allclose(got.logits, [line["logits"] for line in said], rtol=1e-5)
        np.testing.assert_allclose(got.probabilities.sum(axis=1), 1, rtol=1e-5)
        assert model.classify(lines[0]).labels == ["good"]
        assert model.classify([model.tokenize(x) for x in lines]).labels == got.labels
        states = model.encode(lines, texts=True)
        assert [x.shape for x in states.tokens] == [(3, 16), (3, 16)] and states.texts.shape == (2, 16) and states.relays is None


def test_tags_and_translations(runs):
    with bpt.open(runs / "tagger") as model:
        assert model.tag(["the cat runs", "dog"]) == [["D", "N", "V"], ["N"]]
        assert [x.shape for x in model.tag_logits(["the cat runs", "dog"])] == [(3, 3), (1, 3)]
    with bpt.open(runs / "translator") as model:
        got = model.translate(["two", "", "one"], beam=2)
        assert [t.text for t in got] == ["zwei", "", "eins"] and got[0].score < 0 == got[1].score
        nll, tokens = model.score_translations(["two", "two"], ["zwei", "drei"])
        assert nll[0] < nll[1] and tokens.tolist() == [2, 2]


def test_n_best(runs):
    with bpt.open(runs / "tagger") as model:
        texts = ["the cat runs", "dog"]
        best = model.tag_n_best(texts, 4)
        assert [x[0].tags for x in best] == model.tag(texts) and [len(x) for x in best] == [4, 3]  # three tags: no more for one word
        for several in best:
            sums = [x.log_probability for x in several]
            assert sums == sorted(sums, reverse=True) and sums[0] < 0
        assert abs(sum(np.exp(x.log_probability) for x in best[1]) - 1) < 1e-6
    with bpt.open(runs / "translator") as model:
        texts = ["two", "", "one"]
        best, alone = model.translate_n_best(texts, 2, beam=3), model.translate(texts, beam=3)
        assert [x[0] for x in best] == alone and [len(x) for x in best] == [2, 1, 2] and best[0][1].score < best[0][0].score
        said = bpt_program("translate", runs / "translator", "--beam", 3, "--n-best", 2, "--json", "--backend", "cpu", "--quiet", input="two\n")
        assert all(x.text in said for x in best[0])
        long = model.translate("two", min_tokens=4)[0].text.split()
        assert len(long) >= 4
        once = model.translate("two", min_tokens=4, no_repeat=1)[0].text.split()
        assert len(set(once)) == len(once)


def test_vectors_are_those_of_the_program(runs, tmp_path):
    lines = ["fine warm play", "awful dull film"]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    with bpt.open(runs / "classifier") as model:
        for pool in ("text", "mean", "max", "first", "last"):
            bpt_program("embed", runs / "classifier", tmp_path / "lines", "--pool", pool, "--out", tmp_path / f"{pool}.npy", "--backend", "cpu",
                        "--quiet")
            np.testing.assert_allclose(model.embed(lines, pool), np.load(tmp_path / f"{pool}.npy"), rtol=1e-5, atol=1e-6)
        tokens = model.encode(lines).tokens
        np.testing.assert_allclose(model.embed(lines, "mean"), [x.mean(axis=0) for x in tokens], rtol=1e-4, atol=1e-5)
        assert np.array_equal(model.embed(lines, "last"), [x[-1] for x in tokens])


def test_models_answer_together(runs, tmp_path):
    lines = ["fine warm play", "awful dull film", "dull play"]
    with bpt.open(runs / "classifier", trains=True) as model:
        one = model.classify(lines).probabilities
        for _ in range(3):
            model.train_step(bpt.MicroBatch(lines, labels=[0, 1, 1]), lr=0.02)
        two = model.classify(lines).probabilities
        model.save(tmp_path / "other.safetensors")
    assert np.abs(one - two).max() > 0.01
    with bpt.open(runs / "classifier", others=[tmp_path / "other.safetensors"]) as model:
        np.testing.assert_allclose(model.classify(lines).probabilities, (one + two) / 2, rtol=1e-4)
    with bpt.open(runs / "classifier", others=str(tmp_path / "other.safetensors")) as model:
        np.testing.assert_allclose(model.classify(lines).probabilities, (one + two) / 2, rtol=1e-4)


def test_likelihoods(runs):
    with bpt.open(runs / "lm") as model:
        texts = ["abcdefg", "a", "gfedcba"]
        logits, nll = model.logits(texts), model.score(texts)
        assert [x.shape for x in logits] == [(7, 256), (1, 256), (7, 256)] and [len(x) for x in nll] == [6, 0, 6]
        tokens = model.tokenize(texts[2])
        shares = logits[2] - np.log(np.exp(logits[2]).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(nll[2], -shares[np.arange(6), tokens[1:]], rtol=1e-3, atol=1e-4)


def test_training_on_arrays(runs, tmp_path):
    config = {"model": "bpt", "task": "lm", "layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "k": 2, "rel_levels": 6, "vocab": 256,
              "unit": "byte"}
    text = np.frombuffer(b"the quick brown fox jumps over the lazy dog. " * 20, dtype=np.uint8)
    losses = []
    with bpt.create(config, seed=3, threads=1) as model:
        for step in range(40):
            sequences = [text[(7 * step + 11 * i) % 400:][:33] for i in range(8)]
            done = model.train_step([bpt.MicroBatch(sequences[:4]), bpt.MicroBatch(sequences[4:])], lr=0.01 * min(1, (step + 1) / 10), clip=1)
            assert done.updated and done.grad_norm > 0
            losses.append(done.loss)
        assert losses[0] > 5 and losses[-1] < 0.7 * losses[0]
        model.save_run(tmp_path / "run")
        model.save(tmp_path / "model.safetensors")
        want = model.score(["the quick"])[0]
    for path in (tmp_path / "run", tmp_path / "model.safetensors"):
        with bpt.open(path, threads=1) as model:
            assert np.array_equal(model.score(["the quick"])[0], want)
    assert "step 40" in bpt_program("info", tmp_path / "run") or "40" in bpt_program("info", tmp_path / "run")
    with bpt.open(tmp_path / "run", trains=True, threads=1) as model:
        assert model.step == 40
        assert model.train_step(bpt.MicroBatch([text[:33]]), lr=0.01).loss < losses[0]


def test_training_by_muon(tmp_path):
    config = {"model": "bpt", "task": "lm", "layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "k": 2, "rel_levels": 6, "vocab": 256,
              "unit": "byte"}
    text, losses = np.frombuffer(b"the quick brown fox jumps over the lazy dog. " * 2, dtype=np.uint8), {}
    for name, options in (("adamw", {}), ("muon", {}), ("muon 0.5", {"momentum": 0.5})):
        with bpt.create(config, seed=3, threads=1, optimizer=name.split()[0], weight_decay=0.1, **options) as model:
            losses[name] = [model.train_step(bpt.MicroBatch([text[:33]]), lr=0.01).loss for _ in range(30)]
            model.save_run(tmp_path / name)
        assert losses[name][-1] < 0.8 * losses[name][0]
    assert len({run[-1] for run in losses.values()}) == 3 and len({run[0] for run in losses.values()}) == 1
    with bpt.open(tmp_path / "muon", trains=True, optimizer="muon", threads=1) as model:
        assert model.step == 30
    with pytest.raises(bpt.Error, match="no optimizer is called 'sgd'; there are: adam adamw muon"):
        bpt.create(config, optimizer="sgd")


def test_training_a_classifier(runs):
    with bpt.open(runs / "classifier", trains=True) as model:
        texts = ["fine warm play", "awful dull film"]
        before = model.train_step(bpt.MicroBatch(texts, labels=[1, 0]), lr=0.01).loss
        for _ in range(5):
            after = model.train_step(bpt.MicroBatch(texts, labels=np.array([1, 0])), lr=0.01).loss
        assert after < before
        with pytest.raises(bpt.Error, match=r"class_weights have the shape \[3\]"):
            model.train_step(bpt.MicroBatch(texts, labels=[1, 0]), lr=0.01, class_weights=[1, 1, 1])
        for batch, message in ((bpt.MicroBatch(texts), "is trained on labels"), (bpt.MicroBatch(texts, labels=[1, 2]), "label 1 is 2"),
                               (bpt.MicroBatch(texts, labels=[1]), "1 labels for 2 examples"),
                               (bpt.MicroBatch(texts, labels=[1.5, 0.0]), "labels must be integers")):
            with pytest.raises(bpt.Error, match=message):
                model.train_step(batch, lr=0.01)


def test_weights_of_classes():
    config = {"model": "bpt", "task": "classify", "layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "k": 2, "rel_levels": 6, "vocab": 9,
              "classes": 2}

    def loss(labels, weights):
        with bpt.create(config, seed=3, threads=1) as model:
            return model.train_step(bpt.MicroBatch([[1, 2], [3]], labels=labels), lr=0.01, class_weights=weights).loss

    assert loss([1, 1], [1, 3]) == pytest.approx(3 * loss([1, 1], None), rel=1e-5) and loss([0, 0], [1, 3]) == loss([0, 0], None)


def test_what_is_wrong_is_said_in_one_sentence(runs, tmp_path):
    (tmp_path / "noise.safetensors").write_bytes(b"x" * 100)
    cases = [(lambda: bpt.open(tmp_path / "nothing"), "nothing", "io"),
             (lambda: bpt.open(tmp_path / "noise.safetensors"), "noise.safetensors", "input"),
             (lambda: bpt.open(runs / "lm", backend="abacus"), "backend abacus is not built into this library", "unavailable"),
             (lambda: bpt.open(runs / "lm", precision="f64"), "f32, bf16 and f16 are possible", "usage"),
             (lambda: bpt.open(runs / "lm", checkpoint=77), "77", None),
             (lambda: bpt.open(runs / "lm", colour=1), "there is no option colour", "usage"),
             (lambda: bpt.open(runs / "lm", batch_tokens="many"), "the option batch_tokens is 'many'", "usage"),
             (lambda: bpt.create({"model": "bqt"}), "bqt", "input")]
    with bpt.open(runs / "lm") as model:
        cases += [(lambda: model.classify("abc"), "classif", "usage"), (lambda: model.translate("abc"), "translat", "usage"),
                  (lambda: model.score([[1, 300]]), "token 300; the vocabulary has 256", "usage"),
                  (lambda: model.score([[1, -1]]), "token -1", "usage"), (lambda: model.score([[1.5, 2.5]]), "integers", "usage"),
                  (lambda: model.score([]), "there is no sequence", "usage"), (lambda: model.score([""]), "sequence 0 has no token", "usage"),
                  (lambda: model.score(7), "sequences are int", "usage"), (lambda: model.generate(""), "the prompt is empty", "usage"),
                  (lambda: model.generate("a", temperature=-1), "temperature is -1", "usage"),
                  (lambda: model.train_step(bpt.MicroBatch(["abc"]), lr=1), "not opened for training", "usage"),
                  (lambda: model.train_step(["abc"], lr=1), "give bpt.MicroBatch", "usage"),
                  (lambda: model.tag_n_best("abc", 0), "n is 0; it must be from 1 to 1024", "usage"),
                  (lambda: model.tag_n_best("abc", 1.5), "n is 1.5; a whole number is needed", "usage"),
                  (lambda: model.translate_n_best("abc", 2, colour=1), "there is no option colour", "usage"),
                  (lambda: model.embed("abc", "sum"), "pool is 'sum'; text, mean, max", "usage"),
                  (lambda: model.encode("abc", tokens=False, texts=True), "a state of each text is for models that learn one", "usage")]
        for call, message, status in cases:
            with pytest.raises(bpt.Error, match=message) as caught:
                call()
            assert "\n" not in str(caught.value) and status in (None, caught.value.status), str(caught.value)


def python(code, **environment):
    import os

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_a_library_that_is_missing_is_named():
    done = python("import bpt", BPT_LIBRARY="/nowhere/libbpt.so")
    assert done.returncode == 1
    assert "ImportError: the library named by BPT_LIBRARY cannot be opened" in done.stderr and "/nowhere/libbpt.so" in done.stderr
    done = python("import bpt", BPT_LIBRARY="libm.so.6")
    assert "ImportError: libbpt is older than this package" in done.stderr


def test_a_machine_without_vulkan_is_told_what_helps():
    done = python("import bpt, numpy as np; x = np.zeros((1, 1, 15, 4), np.float32); bpt.attention(x, x, x, graph=bpt.BPT(n=8, k=1), backend='vulkan')",
                  BPT_VULKAN_LIBRARY="/nowhere/libvulkan.so.1")
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert "Error: the Vulkan loader cannot be opened (/nowhere/libvulkan.so.1" in last and "install" in last


def test_the_program():
    done = subprocess.run([sys.executable, "-m", "bpt", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bpt ")
    assert subprocess.run([sys.executable, "-m", "bpt", "trian"], capture_output=True, check=False).returncode == 2
    devices = bpt.devices()
    assert devices and "cpu" in json.dumps(devices)
