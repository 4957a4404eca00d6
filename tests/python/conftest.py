"""Runs that the program trains in a few steps, for all tests of the package."""
import os
import subprocess

import pytest

import bpt


def bpt_program(*arguments, **options):
    return subprocess.run([bpt.program(), *map(str, arguments)], capture_output=True, text=True, check=True, **options).stdout


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A language model of bytes, a classifier, a tagger and a translator."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text("".join(chr(ord("a") + i % 7 + (i // 50) % 3) for i in range(3000)))
    (folder / "examples.tsv").write_text("".join("bad\tawful dull film %d\ngood\tfine warm play of %d\n" % (i % 10, i % 10) for i in range(60)))
    (folder / "tags.conll").write_text("the D\ndog N\nruns V\n\na D\ncat N\nsleeps V\n\n" * 40)
    pairs = folder / "pairs"
    pairs.mkdir()
    for part in ("train", "valid", "test"):
        (pairs / f"{part}.en").write_text("one\ntwo\nthree\n" * 20)
        (pairs / f"{part}.de").write_text("eins\nzwei\ndrei\n" * 20)
    small = ["--layers", 2, "--d-model", 16, "--heads", 2, "--backend", "cpu", "--threads", 1, "--quiet"]
    bpt_program("train", "--data", folder / "text.txt", "--out", folder / "lm", *small, "--k", 2, "--context", 32, "--batch-tokens", 128,
                "--steps", 30, "--lr", 0.01)
    bpt_program("train", "--task", "classify", "--data", folder / "examples.tsv", "--out", folder / "classifier", *small, "--k", 2,
                "--batch-examples", 16, "--steps", 30, "--lr", 0.01)
    bpt_program("train", "--task", "tag", "--data", folder / "tags.conll", "--out", folder / "tagger", *small, "--k", 2, "--batch-examples", 16,
                "--steps", 40, "--lr", 0.01)
    bpt_program("train", "--task", "translate", "--model", "transformer", "--data", pairs, "--source", "en", "--target", "de", "--layers", 1,
                "--d-model", 32, "--heads", 2, "--d-ff", 64, "--max-positions", 16, "--batch-examples", 20, "--lr", 0.005,
                "--warmup", 20, "--steps", 150,
                "--dropout-input", 0, "--dropout-hidden", 0, "--backend", "cpu", "--quiet", "--out", folder / "translator")
    return folder


def pytest_report_header():
    return f"bpt: library {os.environ.get('BPT_LIBRARY', 'of the package')}, program {bpt.program()}"
