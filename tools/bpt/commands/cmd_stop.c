// `bpt stop`: asks the trainer of a run to stop. Knows no device and no team: a file in the run is all that passes between the two.
#include "bpt/log.h"
#include "models/train/run_dir.h"
#include "tools/bpt/options/command.h"

static bpt_status_t run_stop(cli_options_t *o) {
    bpt_run_t *run;
    BPT_TRY(bpt_run_open(o->arguments[0], &run));
    const bpt_status_t status = bpt_run_ask_to_stop(run);
    const char *path = bpt_run_path(run);
    if (status == BPT_OK)
        bpt_info("%s is asked to stop: its trainer finishes the step at hand and saves; go on later with bpt train --resume --out %s", path,
                 path);
    bpt_run_close(run);
    return status;
}

const cli_command_t cli_command_stop = {
    .bit = CLI_STOP,
    .name = "stop",
    .arguments = "RUN",
    .purpose = "end a training after the step at hand, saved",
    .description =
        "Writes a file `stop` into the run directory. The trainer looks for it before each step and within evaluations: it finishes the "
        "step at hand, saves, removes the file and exits with status 130, as after Ctrl-C; `bpt train --resume` then continues exactly "
        "from there. It does not matter who started the trainer, or on which machine: of a team (--team mpi) all processes stop after "
        "the same step, and no launcher ends them before they have saved, as mpirun does after Ctrl-C. Anything that makes the file does "
        "the same. SIGUSR1 to the trainer, or to any process of a team, does too. `bpt stop` itself does not wait for the end.",
    .examples = "  bpt stop run\n  touch run/stop\n  kill -USR1 $(cat run/.lock)\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_stop,
};
