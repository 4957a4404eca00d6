// A graph made ready for a device: scheduled, its memory planned, recorded once and replayed. It is one list of work, or several where the
// host has something to do in between.
#ifndef BPT_PROGRAM_H
#define BPT_PROGRAM_H

#include <stdio.h>

#include "bpt/graph.h"
#include "bpt/line.h"

BPT_BEGIN_DECLS

struct bpt_device;
struct bpt_buffer;
typedef struct bpt_plan bpt_plan_t;
typedef struct bpt_program bpt_program_t;

// Device memory for temporaries, shared by programs that never run at the same time (length buckets, evaluation). It grows to
// the largest of them; programs record again by themselves when it has moved.
typedef struct bpt_workspace bpt_workspace_t;
BPT_API bpt_status_t bpt_workspace_create(struct bpt_device *device, bpt_workspace_t **out) BPT_MUST_USE;
BPT_API void bpt_workspace_destroy(bpt_workspace_t *workspace);  // after its programs
BPT_API size_t bpt_workspace_bytes(const bpt_workspace_t *workspace);

// ---- Planning: order, barriers and memory, without touching device memory (also for --dry-run) ---------------------
typedef struct {
    size_t workspace_bytes;  // temporaries and scratch, shared by liveness
    size_t input_bytes;
    size_t offload_bytes;   // on disk
    size_t unshared_bytes;  // what temporaries and scratch would take without sharing
    int32_t n_ops, n_barriers;
    double flops, bytes_moved;  // of one run
} bpt_plan_summary_t;

BPT_API bpt_status_t bpt_plan_create(struct bpt_device *device, const bpt_graph_t *graph, bpt_plan_t **out) BPT_MUST_USE;
BPT_API void bpt_plan_destroy(bpt_plan_t *plan);
BPT_API bpt_plan_summary_t bpt_plan_summary(const bpt_plan_t *plan);
// The map: one line per storage with offset, size, first and last op, and what lies in it.
BPT_API bpt_status_t bpt_plan_print(const bpt_plan_t *plan, const bpt_graph_t *graph, FILE *out) BPT_MUST_USE;

// ---- Programs -------------------------------------------------------------------------------------------------------
// Takes ownership of the graph, also on failure. states[i] is the buffer of state number i (not owned; must outlive the
// program). All ops that the device lacks are named in one error.
BPT_API bpt_status_t bpt_program_compile(bpt_graph_t *graph, bpt_workspace_t *workspace, struct bpt_buffer *const *states, int n_states,
                                         bpt_program_t **out) BPT_MUST_USE;
BPT_API void bpt_program_destroy(bpt_program_t *program);
BPT_API bpt_plan_summary_t bpt_program_summary(const bpt_program_t *program);
// Writes a whole INPUT value; reads a whole INPUT, STATE, kept TEMP or a VIEW of one (after a run). BPT_NO_VALUE: nothing.
BPT_API bpt_status_t bpt_program_write(bpt_program_t *program, bpt_value_t value, const void *data) BPT_MUST_USE;
BPT_API bpt_status_t bpt_program_read(bpt_program_t *program, bpt_value_t value, void *data) BPT_MUST_USE;
// Where bpt_program_read would read, valid until any program of the workspace runs again; NULL: not in the memory of the host.
BPT_API const void *bpt_program_view(const bpt_program_t *program, bpt_value_t value);
BPT_API bpt_status_t bpt_program_run(bpt_program_t *program) BPT_MUST_USE;  // submits and waits
// The same, and calls `final` with the number of each mark (bpt_graph_mark) as soon as the marked value is final. It may read and write
// states; the rest of the program runs when it has returned. A failure of `final` ends the run.
BPT_API bpt_status_t bpt_program_run_marked(bpt_program_t *program, bpt_status_t (*final)(void *user, int mark), void *user) BPT_MUST_USE;
BPT_API int bpt_program_segments(const bpt_program_t *program);  // into how many lists its marks cut it

// How a program exchanges rows with other processes (ops.h, exchange): `give` are the rows that go away, `take` is to be filled, both with
// rows of row_bytes; back: of the gradient, which goes the other way. All programs that take part run their exchanges in the same order.
typedef bpt_status_t (*bpt_exchange_fn_t)(void *user, bool back, size_t row_bytes, const void *give, void *take);
// Before the first run of a program that has exchanges; `user` must outlive the program.
BPT_API void bpt_program_on_exchange(bpt_program_t *program, bpt_exchange_fn_t exchange, void *user);

// Where values of a program wait on disk (bpt_graph_offload): before its first run. Programs that never run at the same time may share a
// file, which must outlive them. Fails where the disk has no room.
struct bpt_spill;
BPT_API bpt_status_t bpt_program_on_offload(bpt_program_t *program, struct bpt_spill *spill) BPT_MUST_USE;

// One line per recorded op of the last run, for `bpt bench ops`. Timing is on after bpt_program_time(true).
typedef struct {
    const char *op;
    char detail[64];  // shapes
    double seconds, flops, bytes;
} bpt_op_timing_t;
BPT_API bpt_status_t bpt_program_time(bpt_program_t *program, bpt_timing_t what) BPT_MUST_USE;
BPT_API bpt_status_t bpt_program_timings(bpt_program_t *program, bpt_op_timing_t *timings, int capacity, int *count) BPT_MUST_USE;
// The last run as events, in the order of their times; `op` counts as in timings. As in bpt_backend_t; between two lists nothing is told.
BPT_API bpt_status_t bpt_program_events(bpt_program_t *program, bpt_list_event_t *events, int capacity, int *count) BPT_MUST_USE;
// How many ops are recorded, and the line of one of them, numbered as timings are. Once the tables of attention are written, its line has
// as many edges a query as they have on average. *has false: an op that the host does, of which `line` has
// the name alone.
BPT_API int bpt_program_ops(const bpt_program_t *program);
BPT_API bpt_status_t bpt_program_line(bpt_program_t *program, int op, bpt_op_line_t *line, bool *has) BPT_MUST_USE;

BPT_END_DECLS

#endif
