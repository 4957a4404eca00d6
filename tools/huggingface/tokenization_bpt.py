"""The tokens of bpt: bytes, characters, words, or the subwords of a SentencePiece model (which needs the package sentencepiece).

A text becomes the numbers that bpt gives it. Texts of a batch are padded by a token that is none of the model's, and are to be given to the
model with their `attention_mask`. Nothing in a text stands for that token.
"""
import os
import re
import shutil
import unicodedata

from transformers import PreTrainedTokenizer

try:
    import sentencepiece
except ImportError:
    sentencepiece = None

PAD = "<no token>"  # no token of a text has a blank in it
ESCAPE = re.compile(rb"\\(n|t|\\|x[0-9A-Fa-f]{2})")
WORD = re.compile(r"[^ \t-\r]+")  # what stands between ASCII blanks
MOST_BYTES = 65536  # of words that SentencePiece reads together


def read_vocabulary(path, unit):
    """The tokens of vocab.txt: one a line, with the escapes \\n \\t \\\\ \\xHH. A byte is the character of its number."""
    signs = {b"n": b"\n", b"t": b"\t", b"\\": b"\\"}
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")[:-1]
    tokens = [ESCAPE.sub(lambda m: signs.get(m[1]) or bytes([int(m[1][1:], 16)]), line) for line in lines]
    return [token.decode("latin-1" if unit == "byte" else "utf-8") for token in tokens]


class Subwords:
    """A SentencePiece model, and the sign for line ends: its own, the piece <eos>, or one more behind its pieces."""

    def __init__(self, path):
        if sentencepiece is None:
            raise ImportError("this tokenizer reads subwords, which need the package sentencepiece: pip install sentencepiece")
        self.model = sentencepiece.SentencePieceProcessor(model_file=path)
        self.tokens = [self.model.id_to_piece(i) for i in range(self.model.get_piece_size())]
        self.unknown, self.eos = self.model.unk_id(), self.model.eos_id()
        if self.eos < 0:
            self.eos = self.tokens.index("<eos>") if "<eos>" in self.tokens else len(self.tokens)
        if self.eos == len(self.tokens):
            self.tokens.append("<eos>")
        # A sign that no model has a piece for is read as the unknown one.
        self.sign = "\u2585" if self.model.encode("\u2585")[-1:] == [self.unknown] else self.tokens[self.unknown]

    def encode(self, words):
        """Pieces of a line's words."""
        pieces, text, size = [], [], 0
        for word in words + [None]:
            bytes_of_word = len(word.encode()) if word is not None else 0
            if text and (word is None or size + 1 + bytes_of_word > MOST_BYTES):
                pieces += self.model.encode(" ".join(text)) or [self.unknown]
                text, size = [], 0
            if word is not None:
                size += bytes_of_word + (1 if text else 0)
                text.append(self.sign if word == self.tokens[self.unknown] else word)
        return [self.tokens[i] for i in pieces]

    def decode(self, tokens):
        """The text of pieces: a blank for each U+2581 that does not begin a line."""
        out = b""
        for token in tokens:
            i = self.model.piece_to_id(token)
            if token == self.tokens[self.eos]:
                out += b"\n"
            elif self.model.is_byte(i):
                out += bytes([int(token[1:-1], 16)])
            elif not self.model.is_control(i):
                first = not out or out.endswith(b"\n")
                out += (token[1:] if first and token.startswith("\u2581") else token).replace("\u2581", " ").encode()
        return out.decode("utf-8", "replace")


class BptTokenizer(PreTrainedTokenizer):
    """unit: byte, char, word or subword. lower: words are folded. line_ends: <eos> stands for each end of a line, as language models of
    words and subwords read it; else lines are nothing but blanks. strip_punctuation: words of nothing but punctuation are left out."""

    vocab_files_names = {"vocab_file": "vocab.txt", "subword_file": "subword.model"}
    model_input_names = ["input_ids", "attention_mask"]

    def __init__(self, vocab_file=None, subword_file=None, unit="word", lower=False, line_ends=False, strip_punctuation=False, **kwargs):
        self.unit, self.lower, self.line_ends, self.strip_punctuation = unit, lower, line_ends, strip_punctuation
        self.file = subword_file if unit == "subword" else vocab_file
        self.subwords = Subwords(self.file) if unit == "subword" else None
        self.tokens = self.subwords.tokens if self.subwords else read_vocabulary(self.file, unit)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.unknown = self.subwords.unknown if self.subwords else 0 if unit == "word" else None
        kwargs.update(pad_token=PAD, split_special_tokens=True)
        kwargs.setdefault("clean_up_tokenization_spaces", False)
        super().__init__(unit=unit, lower=lower, line_ends=line_ends, strip_punctuation=strip_punctuation, **kwargs)

    @property
    def vocab_size(self):
        return len(self.tokens)

    def get_vocab(self):
        return {**self.ids, **self._added_tokens_encoder}

    def _words(self, line):
        words = WORD.findall(line)
        if self.strip_punctuation:
            words = [word for word in words if not all(unicodedata.category(c)[0] in "PS" for c in word)] or words
        return ["".join(c.lower()[0] for c in word) for word in words] if self.lower else words  # character by character, as bpt does

    def _tokenize(self, text, **kwargs):
        if self.unit == "byte":
            return list(text.encode().decode("latin-1"))
        if self.unit == "char":
            return list(text)
        out = []
        for number, line in enumerate(text.split("\n") if self.line_ends else [text]):
            if number:
                out.append("<eos>" if self.unit == "word" else self.tokens[self.subwords.eos])
            words = self._words(line)
            out += self.subwords.encode(words) if self.subwords else words
        return out

    def _convert_token_to_id(self, token):
        i = self.ids.get(token, self.unknown)
        if i is None:
            raise ValueError(f"{token!r} is not in the vocabulary, which has no token for what is unknown")
        return i

    def _convert_id_to_token(self, index):
        return self.tokens[index]

    def convert_tokens_to_string(self, tokens):
        """The text, as bpt writes it: no blank at the beginning of a line."""
        if self.subwords:
            return self.subwords.decode(tokens)
        if self.unit == "byte":
            return "".join(tokens).encode("latin-1").decode("utf-8", "replace")
        if self.unit == "char":
            return "".join(tokens)
        lines = [[]]
        for token in tokens:
            if token == "<eos>":
                lines.append([])
            else:
                lines[-1].append(token)
        return "\n".join(" ".join(line) for line in lines)

    def build_inputs_with_special_tokens(self, token_ids_0, token_ids_1=None):
        if token_ids_1:
            raise ValueError("models of bpt that transformers knows read one text, not two")
        return token_ids_0

    def save_vocabulary(self, save_directory, filename_prefix=None):
        name = os.path.basename(self.file)
        path = os.path.join(save_directory, f"{filename_prefix}-{name}" if filename_prefix else name)
        if os.path.abspath(path) != os.path.abspath(self.file):
            shutil.copyfile(self.file, path)
        return (path,)
