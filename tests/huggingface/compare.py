"""Models of each kind and task, trained for some steps and exported by bpt, loaded by transformers: the same tokens, logits, tags and losses.

usage: compare.py PROGRAM FOLDER [CASE..]
"""
import json
import os
import subprocess
import sys

import torch
from transformers import (AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoModelForTokenClassification,
                          AutoTokenizer)

PROGRAM, FOLDER, CHOSEN = sys.argv[1], sys.argv[2], sys.argv[3:]
MOST = 1e-4  # difference of logits and losses

ON = "--backend cpu --threads 1 --quiet"
SMALL = "--layers {layers} --d-model 16 --heads 2 --steps 4 --lr 0.03 --warmup 1"
# Name: task, unit, options of bpt train. Options of the shape come first, so that a case may change them.
CASES = {
    "lm-bpt-byte": ("lm", "byte", "--model bpt --d-ff 24 --k 2 --context 24"),
    "lm-bpt-word": ("lm", "word", "--model bpt --d-ff 24 --k 3 --context 20 --rule reference --lower --rel-levels 2"),
    "lm-bpt-subword": ("lm", "subword", "--model bpt --d-ff 24 --k 1 --context 20 --subwords 60 --no-tied --d-embed 12"),
    "lm-segtree-char": ("lm", "char", "--model segtree --d-ff 24 --context 24 --no-tied --vocab-scope all"),
    "lm-dense-byte": ("lm", "byte", "--model transformer --d-ff 24 --context 64 --max-positions 400"),
    "lm-window-word": ("lm", "word", "--model transformer --d-ff 24 --context 20 --attention window --window 3 --positions relative"),
    "lm-sparse-byte": ("lm", "byte", "--model transformer --d-ff 24 --context 24 --attention sparse --stride 5 --tail 2 "
                       "--positions sinusoidal --embed-scale"),
    "lm-bpt-modern": ("lm", "byte", "--model bpt --d-ff 24 --k 2 --context 24 --positions rotary --norm rms --ffn swiglu"),
    "lm-dense-modern": ("lm", "word", "--model transformer --d-ff 24 --context 20 --positions rotary --norm rms --ffn swiglu"),
    "classify-bpt-modern": ("classify", "word", "--model bpt --d-ff 24 --k 2 --positions rotary --norm rms --ffn swiglu"),
    "classify-dense-rotary": ("classify", "word", "--model transformer --d-ff 24 --positions rotary"),
    "classify-star-rms": ("classify", "word", "--model star --head-dim 6 --max-positions 400 --norm rms"),
    "tag-segtree-modern": ("tag", "word", "--model segtree --d-ff 24 --positions rotary --norm rms --ffn swiglu"),
    "classify-bpt": ("classify", "word", "--model bpt --d-ff 24 --k 2 --lower"),
    "classify-bpt-reference": ("classify", "word", "--model bpt --d-ff 24 --k 2 --rule reference --pool mean"),
    "classify-bpt-causal": ("classify", "word", "--model bpt --d-ff 24 --k 1 --causal --rule reference --truncate 9 --strip-punctuation"),
    "classify-bpt-subword": ("classify", "subword", "--model bpt --d-ff 24 --k 2 --subwords 60 --d-mlp 10"),
    "classify-segtree": ("classify", "word", "--model segtree --d-ff 24"),
    "classify-segtree-max": ("classify", "word", "--model segtree --d-ff 24 --pool max"),
    "classify-segtree-self": ("classify", "word", "--model segtree --d-ff 24 --span-self"),
    "lm-segtree-self": ("lm", "byte", "--model segtree --d-ff 24 --context 24 --span-self"),
    "classify-dense": ("classify", "word", "--model transformer --d-ff 24 --positions relative"),
    "classify-window": ("classify", "word", "--model transformer --d-ff 24 --attention window --window 2 --positions none"),
    "classify-star": ("classify", "word", "--model star --d-mlp 10 --head-dim 6 --max-positions 400"),
    "classify-star-no-ring": ("classify", "word", "--model star --no-ring --pool relay --positions sinusoidal"),
    "classify-star-no-radical": ("classify", "word", "--model star --no-radical --pool mean --d-embed 12 --max-positions 400"),
    "tag-bpt": ("tag", "word", "--model bpt --d-ff 24 --k 2"),
    "tag-segtree-crf": ("tag", "word", "--model segtree --d-ff 24 --crf"),
    "tag-window": ("tag", "word", "--model transformer --d-ff 24 --attention window --window 2 --d-mlp 10 --max-positions 400"),
    "tag-star-crf": ("tag", "word", "--model star --crf --max-positions 400"),
}

WORDS = "Der Hund läuft über die Straße und die Katze schläft , ÉTÉ ! İstanbul ΟΔΟΣ The dog runs 26 (x)".split()
# Texts of several lengths, with words that training does not have. Those of a language model of words and subwords have several lines.
TEXTS = ["Hund", "die Katze", "The dog runs .", "UNSEEN words ,  here and the <unk> there !", " ".join(WORDS), " ".join(WORDS * 2),
         "! , !", "läuft"]


def bpt(*arguments):
    """What the program writes."""
    line = [PROGRAM]
    for argument in arguments:
        line += argument if isinstance(argument, list) else argument.split()
    done = subprocess.run(line, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "replace")


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def words_of(i, n):
    return [WORDS[(i * 7 + j * j + j) % len(WORDS)] for j in range(n)]


def data_of(task):
    """A file to train on; all words but those of the texts above that are said to be unseen."""
    lines = range(60)
    if task == "lm":
        return write("lm.txt", "".join(" ".join(words_of(i, 3 + i % 9)) + "\n" for i in lines) + " ".join(TEXTS[-2:]) + " . \t<unk>\n"
                     + "UNSEENwordherandthu \n" * 3)
    if task == "classify":
        return write("classify.tsv", "".join(f"{'neg' if i % 3 else 'pos'}\t{' '.join(words_of(i, 1 + i % 11))}\n" for i in lines))
    return write("tag.txt", "".join("".join(f"{w}\t{'BIO'[(i + len(w)) % 3]}\n" for w in words_of(i, 2 + i % 7)) + "\n" for i in lines))


class Checks:
    """The largest difference of a case, and what failed."""

    def __init__(self, name):
        self.name, self.largest, self.failed, self.counted = name, 0.0, [], 0

    def near(self, what, mine, theirs):
        mine, theirs = torch.as_tensor(mine).double(), torch.as_tensor(theirs).double()
        self.counted += mine.numel()
        if mine.shape != theirs.shape:
            self.failed.append(f"{what}: {list(mine.shape)} and {list(theirs.shape)}")
            return
        difference = (mine - theirs).abs().max().item()
        self.largest = max(self.largest, difference)
        if not difference <= MOST:
            self.failed.append(f"{what}: {difference:.3g}")

    def same(self, what, mine, theirs):
        self.counted += 1
        if mine != theirs:
            self.failed.append(f"{what}: {mine!r} and {theirs!r}")


def batches(tokenizer, texts):
    """All texts in one batch, padded on the right and on the left."""
    for side in ("right", "left"):
        tokenizer.padding_side = side
        yield side, tokenizer(texts, padding=True, truncation=True, return_tensors="pt")


def rows(values, mask):
    return [value[m] for value, m in zip(values, mask.bool())]


def check_lm(check, run, model, tokenizer, unit):
    texts = [t for t in TEXTS] if unit in ("byte", "char") else TEXTS + ["die Katze\n\nThe dog\n"]
    if unit == "char":
        texts = [t.replace("<", "(").replace(">", ")").replace("\t", " ") for t in texts]
    for text in texts[2:5]:
        out = os.path.join(FOLDER, "logits.json")
        generate = ["generate", run, "--max-tokens", "5", "--temperature", "0", "--logits-out", out]
        written = bpt(generate + ["--prompt", text], ON)
        with open(out) as file:
            theirs = json.load(file)
        ids = tokenizer(text, return_tensors="pt")
        bpt(generate + ["--unit", "ids", "--prompt", " ".join(map(str, ids.input_ids[0].tolist()))], ON)
        with open(out) as file:
            check.same(f"tokens of {text!r}", json.load(file), theirs)
        with torch.no_grad():
            made = model.generate(**ids, max_new_tokens=5, do_sample=False)
            logits = model(made).logits[0]
        first = ids.input_ids.shape[1]
        check.near("logits", logits[first - 1 : -1], theirs)
        if unit != "subword":  # whose first blank bpt writes where a word begins
            check.same("text", tokenizer.decode(made[0, first:]).strip("\n "), written.strip("\n "))
        check.same("length", len(made[0]), first + 5)
    encoded = [tokenizer(text).input_ids for text in texts]
    lines = write("lines.txt", "".join(" ".join(map(str, ids)) + "\n" for ids in encoded if len(ids) > 1))
    out = os.path.join(FOLDER, "nll.json")
    bpt(["eval", run, "--data", lines, "--unit", "ids", "--nll-out", out], ON)
    with open(out) as file:
        theirs = json.load(file)
    for side, batch in batches(tokenizer, texts):
        with torch.no_grad():
            logits = model(**batch).logits
        mine = [-row.log_softmax(-1)[:-1].gather(1, torch.tensor(ids)[1:, None])[:, 0]
                for row, ids in zip(rows(logits, batch.attention_mask), encoded) if len(ids) > 1]
        check.near(f"nll, padded on the {side}", torch.cat(mine), theirs)
    batch = tokenizer(texts[4], return_tensors="pt")
    with torch.no_grad():
        loss = model(**batch, labels=batch.input_ids).loss
        check.near("loss", loss, torch.nn.functional.cross_entropy(model(**batch).logits[0, :-1], batch.input_ids[0, 1:]))


def check_classify(check, run, model, tokenizer, unit):
    answers = [json.loads(line) for line in bpt(["classify", run, write("texts.txt", "\n".join(TEXTS) + "\n"), "--json"], ON).splitlines()]
    theirs = [answer["logits"] for answer in answers]
    ids = [" ".join(map(str, i)) for i in tokenizer(TEXTS, truncation=True).input_ids]
    by_ids = bpt(["classify", run, write("ids.txt", "\n".join(ids) + "\n"), "--json", "--unit", "ids"], ON).splitlines()
    check.same("tokens", [json.loads(line)["logits"] for line in by_ids], theirs)
    for side, batch in batches(tokenizer, TEXTS):
        with torch.no_grad():
            logits = model(**batch).logits
        check.near(f"logits, padded on the {side}", logits, theirs)
        check.same("labels", [model.config.id2label[i] for i in logits.argmax(-1).tolist()], [answer["label"] for answer in answers])
    with torch.no_grad():
        check.near("one text", model(**tokenizer(TEXTS[3], truncation=True, return_tensors="pt")).logits[0], theirs[3])


def check_tag(check, run, model, tokenizer, unit):
    texts = [text.split() for text in TEXTS]
    path = write("tokens.txt", "".join(" ".join(text) + "\n" for text in texts))
    answers = [json.loads(line) for line in bpt(["tag", run, path, "--json"], ON).splitlines()]
    tags = [sorted(model.config.label2id)[i % 3] for i in range(100)]
    golden = write("golden.txt", "".join("".join(f"{w}\t{t}\n" for w, t in zip(text, tags)) + "\n" for text in texts))
    out = os.path.join(FOLDER, "nll.json")
    bpt(["eval", run, "--data", golden, "--nll-out", out], ON)
    with open(out) as file:
        nll = json.load(file)
    numbers = torch.tensor([model.config.label2id[tag] for tag in tags])
    for side in ("right", "left"):
        tokenizer.padding_side = side
        batch = tokenizer(texts, is_split_into_words=True, padding=True, return_tensors="pt")
        labels = torch.full_like(batch.input_ids, -100)
        for row, mask in zip(labels, batch.attention_mask.bool()):
            row[mask] = numbers[: int(mask.sum())]
        with torch.no_grad():
            result = model(**batch, labels=labels)
            best = model.best_tags(result.logits, batch.attention_mask)
        check.near(f"logits, padded on the {side}", torch.cat(rows(result.logits, batch.attention_mask)), sum((a["logits"] for a in answers), []))
        check.same("tags", [[model.config.id2label[i] for i in row.tolist()] for row in rows(best, batch.attention_mask)],
                   [a["tags"] for a in answers])
        check.near("loss", result.loss, sum(nll) / len(nll))


MODELS = {"lm": (AutoModelForCausalLM, check_lm), "classify": (AutoModelForSequenceClassification, check_classify),
          "tag": (AutoModelForTokenClassification, check_tag)}


def run_case(name, task, unit, options, layers):
    run, folder = os.path.join(FOLDER, name), os.path.join(FOLDER, f"{name}-hf")
    bpt(["train", "--task", task, "--unit", unit, "--data", data_of(task), "--out", run], SMALL.format(layers=layers), options, ON)
    bpt(["export", run, "--checkpoint", "latest", "--format", "hf", "--out", folder], "--quiet")
    check = Checks(name)
    kind, compare = MODELS[task]
    model, info = kind.from_pretrained(folder, trust_remote_code=True, output_loading_info=True)
    check.same("keys", [info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")], [set(), set(), set()])
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    compare(check, run, model.eval(), tokenizer, unit)
    if name.endswith("-bpt"):  # saved and loaded again, and without its head
        again = os.path.join(FOLDER, "again")
        model.save_pretrained(again)
        tokenizer.save_pretrained(again)
        other = kind.from_pretrained(again, trust_remote_code=True).eval()
        ids = AutoTokenizer.from_pretrained(again, trust_remote_code=True)(TEXTS[4], return_tensors="pt")
        plain = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
        with torch.no_grad():
            check.same("saved again", other(**ids).logits.tolist(), model(**ids).logits.tolist())
            check.same("without a head", plain(**ids).last_hidden_state.tolist(), model.encode(**ids)[0].tolist())
    return check


def main():
    torch.manual_seed(0)
    failed = 0
    for number, (name, (task, unit, options)) in enumerate(CASES.items()):
        if CHOSEN and name not in CHOSEN:
            continue
        check = run_case(name, task, unit, options, 1 + number % 3)
        failed += bool(check.failed)
        print(f"{name}: {check.counted} numbers, largest difference {check.largest:.2g}{'' if not check.failed else ', FAILED'}", flush=True)
        for line in check.failed:
            print(f"  {line[:400]}", flush=True)
    print(f"{failed} of the cases failed" if failed else "all cases passed")
    sys.exit(bool(failed))


main()
