// Ops of single elements: a tensor is cut into pieces, whatever the number of threads.
#include "backends/cpu/cpu.h"

enum { PIECE = 16384 };

typedef struct {
    int64_t count;
    bpt_cpu_piece_t piece;
    const void *context;
} pieces_t;

static void run_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    p->piece(p->context, i * PIECE, bpt_cpu_min(PIECE, p->count - i * PIECE));
}

void bpt_cpu_in_pieces(const bpt_host_run_t *run, int64_t count, bpt_cpu_piece_t piece, const void *context) {
    bpt_team_for(run->team, bpt_cpu_blocks(count, PIECE), run_piece, &(pieces_t){count, piece, context});
}
