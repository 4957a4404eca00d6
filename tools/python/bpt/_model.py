"""Trained models: opened from runs and model files, used and trained on arrays (the library's <bpt/model.h>)."""
from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import DTYPES, pointer
from ._generate import Generation
from ._library import Error, check, ffi, lib, need, number
from ._sequences import Sequences

PRECISIONS = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


class Classes(NamedTuple):
    """What a classifier says of E texts (or pairs of texts)."""

    labels: List[Union[str, int]]  # of each: the name of the most likely class, its number where it has no name
    probabilities: np.ndarray  # float32 [E, C]
    logits: np.ndarray  # float32 [E, C]


class States(NamedTuple):
    """States behind the last layer; None: not asked for."""

    tokens: Optional[List[np.ndarray]]  # of each sequence float32 [its tokens, width]
    texts: Optional[np.ndarray]  # float32 [B, width]
    relays: Optional[np.ndarray]  # float32 [B, width], of Star-Transformers


class Translation(NamedTuple):
    text: str
    score: float  # log-probability in nats / length ** length_penalty


class Tagging(NamedTuple):
    tags: List[Union[str, int]]  # of each token
    log_probability: float  # in nats


class TrainResult(NamedTuple):
    loss: float  # before the step, in nats a token or example; of models that give numbers the squared error
    grad_norm: float  # before clipping
    updated: bool  # False, f16 only: the scaled gradient was not finite, and nothing was changed


class MicroBatch(NamedTuple):
    """What goes through a model at once while it is trained."""

    sequences: Any  # as of Model.classify; a sequence of m + 1 tokens trains a language model on m
    labels: Any = None  # integers: [E] of classifiers; of taggers one array for each sequence, or all of them joined
    values: Any = None  # float32 [B, C], of models that give numbers
    length: int = 0  # tokens that there is room for in a sequence; 0: what suits. A new pair (length, B) compiles programs


class Model:
    """An open model. Made by bpt.open and bpt.create; a context manager, closed at the end of its block.

    Texts may be given as `str`, which the model's vocabulary cuts into tokens, or as arrays of token numbers below `vocabulary`; a list of
    them is B sequences. Classifiers of pairs take pairs. Models that read vectors take arrays float32 [tokens, inputs].
    One thread at a time computes; the interpreter's lock is released meanwhile. A process that forks must open its models afterwards.
    """

    def __init__(self, handle: Any) -> None:
        self._handle: Any = handle
        self._lock = threading.RLock()
        self._generations: "weakref.WeakSet[Generation]" = weakref.WeakSet()

    # ---- life

    def close(self) -> None:
        """Gives back the memory of the device. Generators of the model end."""
        with self._lock:
            for generation in list(self._generations):
                generation.close()
            handle, self._handle = self._handle, None
            if handle is not None:
                lib.bpt_model_close(handle)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @property
    def handle(self) -> Any:
        """The library's `bpt_model_t *`."""
        need(self._handle is not None, "the model is closed")
        return self._handle

    # ---- what it is

    @property
    def config(self) -> Dict[str, Any]:
        """The model part of the run's config.json."""
        return json.loads(ffi.string(lib.bpt_model_config(self.handle)).decode())

    @property
    def vocabulary(self) -> int:
        """V: how many tokens there are; of a translator those of its translations."""
        return int(lib.bpt_model_vocabulary(self.handle))

    @property
    def classes(self) -> int:
        """C: the classes of a classifier, the tags of a tagger, the numbers that a model gives for a text; else 0."""
        return int(lib.bpt_model_classes(self.handle))

    @property
    def labels(self) -> List[Union[str, int]]:
        """The names of the classes or tags; their numbers where they have none."""
        names = [lib.bpt_model_label(self.handle, i) for i in range(self.classes)]
        return [ffi.string(name).decode("utf-8", "replace") if name else i for i, name in enumerate(names)]

    @property
    def texts(self) -> int:
        """Sequences of an example: 2 for a classifier of pairs, else 1."""
        return int(lib.bpt_model_texts(self.handle))

    @property
    def inputs(self) -> int:
        """Numbers of a vector, of models that read vectors; 0: it reads tokens."""
        return int(lib.bpt_model_inputs(self.handle))

    @property
    def width(self) -> int:
        """d: numbers of a state."""
        return int(lib.bpt_model_width(self.handle))

    @property
    def parameters(self) -> int:
        return int(lib.bpt_model_parameters(self.handle))

    @property
    def step(self) -> int:
        """Optimiser steps so far."""
        return int(lib.bpt_model_step(self.handle))

    # ---- texts

    def tokenize(self, text: Union[str, bytes]) -> np.ndarray:
        """The token numbers of a text, uint32 [count]."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        tokens, count = ffi.new("uint32_t **"), ffi.new("int64_t *")
        check(lib.bpt_model_tokenize(self.handle, data, len(data), tokens, count))
        try:
            return np.frombuffer(ffi.buffer(tokens[0], count[0] * 4), dtype=np.uint32).copy()
        finally:
            lib.bpt_free(tokens[0])

    def text_bytes(self, tokens: Any, continues: bool = False) -> bytes:
        """The text of tokens as bytes, which need not be whole characters."""
        numbers = np.ascontiguousarray(tokens, dtype=np.uint32)
        text, count = ffi.new("char **"), ffi.new("size_t *")
        check(lib.bpt_model_text(self.handle, pointer("uint32_t *", numbers), numbers.size, continues, text, count))
        try:
            return bytes(ffi.buffer(text[0], count[0]))
        finally:
            lib.bpt_free(text[0])

    def text(self, tokens: Any, continues: bool = False) -> str:
        """The text of tokens. continues: it follows other text, so that a word begins with a blank."""
        return self.text_bytes(tokens, continues).decode("utf-8", "replace")

    # ---- use

    def logits(self, sequences: Any) -> List[np.ndarray]:
        """What comes next, for language models: of each sequence float32 [its tokens, V], row i of what follows token i."""
        s = Sequences(self, sequences)
        return s.split(self._compute(lib.bpt_model_logits, s, (s.total, self.vocabulary)))

    def classify(self, sequences: Any) -> Classes:
        """The classes of texts or of pairs of texts."""
        s = Sequences(self, sequences)
        logits = self._compute(lib.bpt_model_classify, s, (s.count // self.texts, self.classes))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        names = self.labels
        return Classes([names[i] for i in logits.argmax(axis=1)], weights / weights.sum(axis=1, keepdims=True), logits)

    def tag(self, sequences: Any) -> List[List[Union[str, int]]]:
        """The tag of each token, for taggers: with a CRF those of the most likely sequence of tags."""
        s, names = Sequences(self, sequences), self.labels
        tags = np.empty(s.total, dtype=np.uint32)
        with self._lock:
            check(lib.bpt_model_tag(self.handle, s.struct, pointer("uint32_t *", tags), ffi.NULL))
        return [[names[i] for i in part] for part in s.split(tags)]

    def tag_n_best(self, sequences: Any, n: int) -> List[List[Tagging]]:
        """The n best sequences of tags of each sequence, for taggers, most probable first; fewer where there are no more."""
        s, names = Sequences(self, sequences), self.labels
        need(1 <= number(int, n, "n") <= 1024, f"n is {n}; it must be from 1 to 1024")
        tags, sums = np.empty(s.total * n, dtype=np.uint32), np.empty((s.count, n))
        with self._lock:
            check(lib.bpt_model_tag_n_best(self.handle, s.struct, n, pointer("uint32_t *", tags), pointer("double *", sums)))
        blocks = [block.reshape(n, -1) for block in np.split(tags, np.cumsum([n * len(part) for part in s.split(tags[:s.total])])[:-1])]
        return [[Tagging([names[i] for i in row], float(p)) for row, p in zip(block, sums[b]) if p > -np.inf] for b, block in enumerate(blocks)]

    def tag_logits(self, sequences: Any) -> List[np.ndarray]:
        """The scores of the tags, of each sequence float32 [its tokens, C], without the transitions of a CRF."""
        s = Sequences(self, sequences)
        logits = np.empty((s.total, self.classes), dtype=np.float32)
        with self._lock:
            check(lib.bpt_model_tag(self.handle, s.struct, ffi.NULL, pointer("float *", logits)))
        return s.split(logits)

    def predict(self, sequences: Any) -> np.ndarray:
        """The numbers of each text, for models of task regress: float32 [B, C]."""
        s = Sequences(self, sequences)
        return self._compute(lib.bpt_model_predict, s, (s.count, self.classes))

    def encode(self, sequences: Any, tokens: bool = True, texts: bool = False, relays: bool = False) -> States:
        """States behind the last layer, of tokens, of whole texts (of models that learn them), of the relay nodes of Star-Transformers."""
        s = Sequences(self, sequences)
        shapes = [(s.total, self.width), (s.count, self.width), (s.count, self.width)]
        out = [np.empty(shape, dtype=np.float32) if wanted else None for shape, wanted in zip(shapes, (tokens, texts, relays))]
        with self._lock:
            check(lib.bpt_model_encode(self.handle, s.struct, *(ffi.NULL if x is None else pointer("float *", x) for x in out)))
        return States(None if out[0] is None else s.split(out[0]), out[1], out[2])

    def embed(self, sequences: Any, pool: str = "text") -> np.ndarray:
        """The vector of each sequence, as of `bpt embed`: float32 [B, width].

        Args:
            pool: "text" (what the head reads, of models that learn a state of whole texts), "mean", "max", "first" or "last" (of the states
                of the tokens), "root" or "relay" (the node over the text, of models that have it).
        """
        kind = getattr(lib, f"BPT_POOLED_{str(pool).upper()}", None)
        need(kind is not None, f"pool is {pool!r}; text, mean, max, first, last, root and relay are possible")
        s = Sequences(self, sequences)
        vectors = np.empty((s.count, self.width), dtype=np.float32)
        with self._lock:
            check(lib.bpt_model_embed(self.handle, s.struct, kind, pointer("float *", vectors)))
        return vectors

    def score(self, sequences: Any) -> List[np.ndarray]:
        """How likely sequences are, for language models: of each the negative log-likelihoods in nats of its tokens from the second on."""
        s = Sequences(self, sequences)
        return s.split(self._compute(lib.bpt_model_score, s, (s.total - s.count,)), left_out=1)

    def _compute(self, function: Any, s: Sequences, shape: Tuple[int, ...]) -> np.ndarray:
        out = np.empty(shape, dtype=np.float32)
        with self._lock:
            check(function(self.handle, s.struct, pointer("float *", out)))
        return out

    def generate(self, prompt: Any, max_tokens: int = 256, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                 min_p: float = 0.0, repeat_penalty: float = 1.0, repeat_window: int = 64, no_repeat: int = 0, seed: int = 1,
                 stop: Sequence[str] = ()) -> Generation:
        """Goes on with a prompt: an iterator of pieces of new text, as they come. "".join(model.generate(..)) is the whole text.

        Args:
            prompt: a text, or token numbers; not empty.
            max_tokens: how many new tokens to write.
            temperature, top_k, top_p, min_p, repeat_penalty, repeat_window, no_repeat, seed: as of `bpt generate`, which writes the same text.
            stop: texts at which to end; they are left out.
        """
        options = ffi.new("bpt_sampling_options_t *")
        lib.bpt_sampling_options_set(options)
        options.temperature, options.top_k, options.top_p, options.min_p = temperature, top_k, top_p, min_p
        options.repeat_penalty, options.repeat_window = repeat_penalty, repeat_window
        options.no_repeat, options.seed = no_repeat, seed
        return Generation(self, prompt, max_tokens, options, stop)

    # ---- translation

    def translate(self, texts: Union[str, Sequence[str]], *, beam: int = 5, length_penalty: float = 1.0, max_length_a: float = 1.2,
                  max_length_b: int = 10, no_unknown: bool = False, min_tokens: int = 0, no_repeat: int = 0, batch: int = 16,
                  context_tokens: int = 0) -> List[Translation]:
        """Translates texts of one line each, by beam search as `bpt translate` does it."""
        options = {"beam": beam, "length_penalty": length_penalty, "max_length_a": max_length_a, "max_length_b": max_length_b,
                   "no_unknown": no_unknown, "min_tokens": min_tokens, "no_repeat": no_repeat, "batch": batch,
                   "context_tokens": context_tokens}
        return [best[0] for best in self._translate(texts, 1, options, lambda *a: lib.bpt_model_translate(*a[:3], *a[4:]))]

    def translate_n_best(self, texts: Union[str, Sequence[str]], n: int, **options: Any) -> List[List[Translation]]:
        """The n best translations of each text, n from 1 to the beam, best first; fewer where the search found fewer.

        Args:
            options: as of translate.
        """
        return self._translate(texts, n, options, lib.bpt_model_translate_n_best)

    def _translate(self, texts: Union[str, Sequence[str]], n: int, given: Dict[str, Any], function: Any) -> List[List[Translation]]:
        lines = [texts] if isinstance(texts, str) else list(texts)
        need(lines, "there is no text to translate")
        need(1 <= number(int, n, "n") <= 1024, f"n is {n}; it must be from 1 to the beam")
        sources, keep = self._lines(lines)
        options, out = ffi.new("bpt_translate_options_t *"), ffi.new("bpt_translation_t[]", len(lines) * n)
        lib.bpt_translate_options_set(options)
        for name, value in given.items():
            need(hasattr(options, name), f"there is no option {name}; see help(bpt.Model.translate)")
            setattr(options, name, value)
        try:
            with self._lock:
                check(function(self.handle, sources, len(lines), n, options, out))
            del keep
            made = [Translation(ffi.string(t.text).decode("utf-8", "replace"), t.score) if t.text else None for t in out]
        finally:
            lib.bpt_translations_free(out, len(lines) * n)
        return [[t for t in made[i:i + n] if t] for i in range(0, len(made), n)]

    def score_translations(self, texts: Sequence[str], translations: Sequence[str]) -> Tuple[np.ndarray, np.ndarray]:
        """How likely given translations are: their negative log-likelihoods in nats, float64 [count], and their tokens, int64 [count]."""
        sources, targets = list(texts), list(translations)
        need(len(sources) == len(targets) > 0, f"{len(sources)} texts and {len(targets)} translations; there must be as many of both")
        (a, keep_a), (b, keep_b) = self._lines(sources), self._lines(targets)
        nll, tokens = np.empty(len(sources)), np.empty(len(sources), dtype=np.int64)
        with self._lock:
            check(lib.bpt_model_score_translations(self.handle, a, b, len(sources), pointer("double *", nll), pointer("int64_t *", tokens)))
        del keep_a, keep_b
        return nll, tokens

    @staticmethod
    def _lines(lines: Sequence[str]) -> Tuple[Any, Any]:
        for line in lines:
            need(isinstance(line, str) and "\0" not in line, "a text to translate must be a str without NUL")
        texts = [ffi.new("char[]", line.encode("utf-8", "surrogateescape")) for line in lines]
        return ffi.new("char *[]", texts), texts

    # ---- training

    def train_step(self, micro_batches: Any, *, lr: float, clip: float = 0.0, seed: int = 1, class_weights: Any = None) -> TrainResult:
        """One optimiser step on the mean loss over all micro-batches together; the schedule is the caller's.

        Args:
            micro_batches: a MicroBatch, or a list of them (accumulation).
            lr: learning rate of this step.
            clip: longest gradient; 0: none.
            seed: of dropout, with the number of the step.
            class_weights: [classes], what each class or tag counts in the loss; None: 1 each.
        """
        batches = [micro_batches] if isinstance(micro_batches, MicroBatch) else list(micro_batches)
        need(batches and all(isinstance(b, MicroBatch) for b in batches), "give bpt.MicroBatch(sequences, ..), or a list of them")
        made = [self._micro_batch(b) for b in batches]
        given, options, result = ffi.new("bpt_micro_batch_t[]", len(made)), ffi.new("bpt_train_options_t *"), ffi.new("bpt_train_result_t *")
        for i, (fields, _) in enumerate(made):
            for name, value in fields.items():
                setattr(given[i], name, value)
        lib.bpt_train_options_set(options, lr)
        options.clip, options.seed = clip, seed
        if class_weights is not None:
            weights = np.ascontiguousarray(class_weights, dtype=np.float32)
            need(weights.shape == (self.classes,), f"class_weights have the shape {list(weights.shape)}; {[self.classes]} is needed")
            options.class_weights = pointer("float *", weights)
        with self._lock:
            check(lib.bpt_model_train_step(self.handle, given, len(made), options, result))
        return TrainResult(result.loss, result.grad_norm, bool(result.updated))

    def _micro_batch(self, batch: MicroBatch) -> Tuple[Dict[str, Any], Any]:
        s = Sequences(self, batch.sequences)
        fields: Dict[str, Any] = {"sequences": s.struct[0], "length": batch.length}
        labels = values = None
        if batch.labels is not None:
            parts = batch.labels if isinstance(batch.labels, (list, tuple)) and np.ndim(batch.labels[0]) else [batch.labels]
            labels = np.concatenate([np.asarray(part).reshape(-1) for part in parts])
            need(labels.dtype.kind in "iu" and labels.size and labels.min() >= 0, "labels must be integers, 0 or more")
            need(labels.size in (s.total, s.count // self.texts),
                 f"{labels.size} labels for {s.count // self.texts} examples of {s.total} tokens")
            need(labels.size == (s.total if self.config.get("task") == "tag" else s.count // self.texts),
                 f"{labels.size} labels do not fit the model's task")
            labels = np.ascontiguousarray(labels, dtype=np.uint32)
            fields["labels"] = pointer("uint32_t *", labels)
        if batch.values is not None:
            values = np.ascontiguousarray(batch.values, dtype=np.float32)
            need(values.shape == (s.count, self.classes), f"values have the shape {list(values.shape)}; {[s.count, self.classes]} is needed")
            fields["values"] = pointer("float *", values)
        return fields, (s, labels, values)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes one safetensors file with weights, configuration, vocabulary and labels, as `bpt export` does."""
        with self._lock:
            check(lib.bpt_model_save(self.handle, os.fsencode(path)))

    def save_run(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a checkpoint into a run, which every command of `bpt` reads: a new folder, or the run that the model was opened from."""
        with self._lock:
            check(lib.bpt_model_save_run(self.handle, os.fsencode(path)))

    def recover(self) -> None:
        """After an Error of status "device lost": opens the device again, and loads what was opened or saved last."""
        with self._lock:
            check(lib.bpt_model_recover(self.handle))


def _options(given: Dict[str, Any]) -> Tuple[Any, Any]:
    options, precision, keep = ffi.new("bpt_model_options_t *"), given.pop("precision"), []
    lib.bpt_model_options_set(options)
    need(precision in PRECISIONS, f"precision is {precision!r}; f32, bf16 and f16 are possible")
    options.precision = DTYPES[PRECISIONS[precision]]
    others = given.pop("others", ())
    others = [ffi.new("char[]", os.fsencode(path)) for path in ([others] if isinstance(others, (str, os.PathLike)) else others)]
    if others:
        keep += [others, ffi.new("char *[]", others)]
        setattr(options, "with", keep[-1])
        options.with_count = len(others)
    for name, given_value in given.items():
        if given_value is None:
            continue
        value = given_value
        if isinstance(value, str):
            keep.append(ffi.new("char[]", value.encode()))
            value = keep[-1]
        try:
            setattr(options, name, value)
        except AttributeError:
            raise Error(f"there is no option {name}; see help(bpt.open)") from None
        except (TypeError, OverflowError) as problem:
            raise Error(f"the option {name} is {given_value!r}: {problem}") from None
    return options, keep


def open(path: Union[str, "os.PathLike[str]"], *, backend: str = "cpu", device: int = 0, precision: str = "f32",  # noqa: A001
         threads: int = 0, checkpoint: Union[str, int, None] = None, trains: bool = False,
         others: Sequence[Union[str, "os.PathLike[str]"]] = (), **options: Any) -> Model:
    """Opens a run (a folder that `bpt train` or `bpt import` wrote) or a model file (of `bpt export` or Model.save).

    Args:
        backend, device: "cpu", "opencl", "vulkan", "cuda" or "ref", and the device's number, as `bpt devices` lists them.
        precision: "f32", "bf16" or "f16", of products and of what attention reads.
        threads: of the cpu backend; 0: all.
        checkpoint: of a run: "best", "latest" or a step; default best if there is one, else latest.
        trains: the model is to be trained: a run's state of training is read; of a file it begins at step 0.
        others: runs or model files that answer together with this one, by the mean of their probabilities (`--with` of the program).
        options: batch_tokens, memory_bytes, submit_ms, weights_q8; for training optimizer ("adam", "adamw" or "muon"),
            momentum, beta1, beta2, eps, weight_decay, recompute, freeze_embed, freeze_rel: as in bpt/model.h.

    Raises:
        Error: no such file, a file that is damaged, no such backend or device.
    """
    o, keep = _options({"backend": backend, "device": device, "precision": precision, "threads": threads, "trains": trains, "others": others,
                        "checkpoint": None if checkpoint is None else str(checkpoint), **options})
    out = ffi.new("bpt_model_t **")
    check(lib.bpt_model_open(os.fsencode(path), o, out))
    del keep
    return Model(out[0])


def create(config: Dict[str, Any], seed: int = 1, *, backend: str = "cpu", device: int = 0, precision: str = "f32", threads: int = 0,
           **options: Any) -> Model:
    """A new model, to be trained.

    Args:
        config: the keys of the model part of a run's config.json, such as {"model": "bpt", "task": "lm", "layers": 4, "d_model": 128,
            "d_ff": 512, "heads": 4, "k": 4, "rel_levels": 20, "vocab": 256}, and "unit": how it reads text, "byte" or "ids".
        seed: of the initial values.
        backend, device, precision, threads, options: as of bpt.open.
    """
    o, keep = _options({"backend": backend, "device": device, "precision": precision, "threads": threads, **options})
    out = ffi.new("bpt_model_t **")
    check(lib.bpt_model_create(json.dumps(config).encode(), seed, o, out))
    del keep
    return Model(out[0])
