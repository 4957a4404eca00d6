"""Generation, token by token."""
from __future__ import annotations

import codecs
from typing import Any, Iterator, List, Sequence

import numpy as np

from ._arrays import pointer
from ._library import check, ffi, lib, need
from ._sequences import Sequences


class Generation(Iterator[str]):
    """The iterator of Model.generate: pieces of new text. `tokens` has the numbers of the new tokens so far."""

    def __init__(self, model: Any, prompt: Any, max_tokens: int, options: Any, stop: Sequence[str]) -> None:
        need(max_tokens >= 0, f"max_tokens is {max_tokens}; it must be 0 or more")
        stops = [stop] if isinstance(stop, str) else list(stop)
        need(all(isinstance(s, str) and s for s in stops), "a text to stop at must be a str that is not empty")
        need(len(prompt), "the prompt is empty; a text goes on from at least one token")
        given = Sequences(model, prompt)
        need(given.count == 1, f"a prompt is one text, and these are {given.count}")
        self.tokens: List[int] = []
        self._model, self._left, self._stops = model, max_tokens, stops
        self._text = np.empty(given.total + max_tokens, dtype=np.uint32)
        self._text[:given.total] = given._numbers
        self._count = given.total
        self._logits = np.empty(model.vocabulary, dtype=np.float32)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # may become a text to stop at
        self._generator = self._sampler = None
        self._begin(options)

    def _begin(self, options: Any) -> None:
        sampler, generator = ffi.new("bpt_token_sampler_t **"), ffi.new("bpt_generator_t **")
        with self._model._lock:
            handle = self._model.handle
            check(lib.bpt_token_sampler_create(handle, options, sampler))
            self._sampler = sampler[0]
            try:
                check(lib.bpt_generator_create(handle, len(self._text), 1, generator))
                self._generator = generator[0]
                check(lib.bpt_generator_feed(self._generator, 0, pointer("uint32_t *", self._text), self._count,
                                             pointer("float *", self._logits)))
            except BaseException:
                self._release()
                raise
            self._model._generations.add(self)

    def _release(self) -> None:
        generator, sampler, self._generator, self._sampler = self._generator, self._sampler, None, None
        self._left = 0
        if generator is not None:
            lib.bpt_generator_destroy(generator)
        if sampler is not None:
            lib.bpt_token_sampler_destroy(sampler)

    def close(self) -> None:
        """Ends it, and gives back its memory. A model is not trained while there are generations."""
        with self._model._lock:
            self._release()
            self._model._generations.discard(self)

    def __del__(self) -> None:
        if getattr(self, "_sampler", None) is not None:
            self.close()

    def _draw(self) -> int:
        token = ffi.new("uint32_t *")
        check(lib.bpt_token_sampler_draw(self._sampler, pointer("float *", self._logits), pointer("uint32_t *", self._text), self._count,
                                         len(self.tokens), token))
        self._text[self._count] = token[0]
        self._count += 1
        self._left -= 1
        self.tokens.append(int(token[0]))
        return int(token[0])

    def _next_text(self) -> str:
        with self._model._lock:
            need(self._generator is not None, "the generation or its model is closed")
            if len(self.tokens):  # of the token before: the last one is never asked what follows it
                check(lib.bpt_generator_step(self._generator, pointer("uint32_t *", self._text[self._count - 1:]),
                                             pointer("float *", self._logits)))
            token = self._draw()
            return self._decoder.decode(self._model.text_bytes([token], continues=True), final=not self._left)

    def _cut(self, text: str) -> str:
        """What may be shown, up to the first text to stop at."""
        self._held += text
        ends = [at for at in (self._held.find(s) for s in self._stops) if at >= 0]
        if ends:
            self._left, shown, self._held = 0, self._held[:min(ends)], ""
            return shown
        hold = 0 if not self._left else max((n for s in self._stops for n in range(1, len(s)) if self._held.endswith(s[:n])), default=0)
        shown, self._held = self._held[:len(self._held) - hold], self._held[len(self._held) - hold:]
        return shown

    def __next__(self) -> str:
        while self._left > 0:
            shown = self._cut(self._next_text())
            if not self._left:
                self.close()
            if shown:
                return shown
        self.close()
        raise StopIteration
