#!/usr/bin/env python3
"""Sends the curves of runs to TensorBoard or trackio, once or while they train.

    send_metrics.py tensorboard FOLDER RUN..     pip install tensorboard;  then: tensorboard --logdir FOLDER
    send_metrics.py trackio PROJECT RUN..        pip install trackio;      then: trackio show --project PROJECT

Each RUN is a folder of `bpt train`. Its metrics.jsonl has a line for each log of the training and each evaluation, whose names get the part
of the data in front, such as valid/loss. With --follow the script goes on with what is added, until Ctrl-C.
"""
import json
import sys
import time
from pathlib import Path

arguments = [a for a in sys.argv[1:] if a != "--follow"]
if len(arguments) < 3 or arguments[0] not in ("tensorboard", "trackio"):
    sys.exit(__doc__)
kind, place, runs = arguments[0], arguments[1], [Path(a) for a in arguments[2:]]
for run in runs:
    if not (run / "metrics.jsonl").is_file():
        sys.exit(f"send_metrics: {run} is no run of `bpt train`: it has no metrics.jsonl")


def sender(name):
    """A function (numbers by name, step), and one that ends the sending."""
    if kind == "tensorboard":
        from tensorboard.summary import Writer

        writer = Writer(str(Path(place) / name))
        return lambda numbers, step: [writer.add_scalar(key, value, step) for key, value in numbers.items()], writer.close
    import trackio

    tracked = trackio.init(project=place, name=name)
    return lambda numbers, step: tracked.log(numbers, step=step), tracked.finish


def lines(file, follow):
    """Complete lines; a run that trains may have written half of one."""
    text = ""
    while True:
        text += file.readline()
        if text.endswith("\n"):
            yield text
            text = ""
        elif follow:
            time.sleep(1)
        else:
            return


def send(run, follow):
    log, finish = sender(run.resolve().name)
    count = 0
    with open(run / "metrics.jsonl", encoding="utf-8") as file:
        for line in lines(file, follow):
            numbers = json.loads(line)
            part, step = numbers.pop("eval", "train"), numbers.pop("step")
            log({f"{part}/{name}": value for name, value in numbers.items() if isinstance(value, (int, float))}, step)
            count += 1
    finish()
    print(f"{run}: {count} lines")


if "--follow" in sys.argv and len(runs) > 1:
    sys.exit("send_metrics: --follow is for one run; start the script once for each")
try:
    for run in runs:
        send(run, "--follow" in sys.argv)
except ImportError:
    sys.exit(f"send_metrics: Python's package {kind} was not found; install it: pip install {kind}")
except KeyboardInterrupt:
    sys.exit(130)
