// Whether a launcher has started more processes than MPI sees. The environments are those that Open MPI 4.1 and 5.0, MPICH 5 and SLURM
// make.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "core/ranks/launcher.h"
#include "support/check.h"

enum { MOST = 4 };
typedef struct {
    const char *variables[MOST][2];
    int size;         // that MPI sees
    const char *why;  // part of the refusal, NULL: it goes on
} case_t;

static const case_t cases[] = {
    // Alone, whatever shell it is: those of salloc and sbatch have SLURM_NTASKS, that of srun --pty is a task.
    {{{0}}, 1, NULL},
    {{{"SLURM_NTASKS", "4"}}, 1, NULL},
    {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, 1, NULL},
    {{{"SLURM_NTASKS", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, 1, NULL},
    {{{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}, 1, NULL},
    {{{"PMIX_RANK", "0"}}, 1, NULL},
    {{{"PMI_SIZE", ""}, {"OMPI_COMM_WORLD_SIZE", "many"}, {"PMIX_RANK", "-1"}}, 1, NULL},
    // Launcher and MPI agree.
    {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"PMIX_RANK", "1"}}, 2, NULL},
    {{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}, 2, NULL},
    {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "7"}, {"PMIX_RANK", "7"}}, 8, NULL},
    // Another one around it: a shell in a job, daemons that srun has started, a terminal that mpirun has started.
    {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}}, 2, NULL},
    {{{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}}, 1, NULL},
    {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, 2, NULL},
    // MPI sees less.
    {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, 1, "mpiexec of MPICH or one of its relatives has started 2 processes (PMI_SIZE=2)"},
    {{{"OMPI_COMM_WORLD_SIZE", "3"}}, 1, "mpirun of Open MPI has started 3 processes (OMPI_COMM_WORLD_SIZE=3)"},
    {{{"OMPI_COMM_WORLD_SIZE", "3"}}, 2, "is Some MPI 1.2 here, sees 2"},
    {{{"PMIX_RANK", "2"}}, 1, "a launcher with PMIx has started at least 3 processes (PMIX_RANK=2)"},
    {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}}, 1, "give srun the --mpi=.."},
    {{{"SLURM_PROCID", "1"}}, 1, "srun has started at least 2 processes (SLURM_PROCID=1)"},
    {{{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}}, 1, "srun has started 4 processes"},
    {{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, 1, "(PMI_SIZE=2)"},
    {{{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, 1, "(PMIX_RANK=1)"},
};

static void processes_that_mpi_does_not_see_are_refused(void **state) {
    (void)state;
    static const char *const all[] = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",  "PMI_RANK",     "MV2_COMM_WORLD_SIZE",
                                      "MV2_COMM_WORLD_RANK",  "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "SLURM_PROCID", "SLURM_NTASKS"};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const case_t *c = &cases[i];
        for (size_t v = 0; v < BPT_COUNT(all); ++v) unsetenv(all[v]);
        for (int v = 0; v < MOST && c->variables[v][0]; ++v) setenv(c->variables[v][0], c->variables[v][1], 1);
        const bpt_launchers_t launchers = bpt_launchers_read();
        const bpt_status_t status = bpt_launchers_check(&launchers, c->size, "Some MPI 1.2");
        if (c->why ? status != BPT_ERR_UNAVAILABLE || !strstr(bpt_error_message(), c->why) : status != BPT_OK)
            fail_msg("case %d, status %d: %s", (int)i, (int)status, bpt_error_message());
        bpt_error_clear();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_that_mpi_does_not_see_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
