// Bits of the parameter `calls` of the attention kernels, which C reads too (backends/gpu/lower/attention_problem.h).
#define CALL_ROOTS 1u       // the queries are roots, one of each sequence
#define CALL_LEAVES 2u      // the queries are leaves
#define CALL_ZERO_SPANS 4u  // rows of spans are zero and not stored
#define CALL_REL 8u         // with a table of relative positions
#define CALL_LSE 16u        // the log sum exp of the scores is a result
#define CALL_PACKED 32u     // q, k and v lie side by side in one row; else k and v do
