// The ledger as tables of the page beside it (COMPILERS.md), between its marks.
#ifndef BPT_TOOLS_LEDGER_PAGE_H
#define BPT_TOOLS_LEDGER_PAGE_H

#include "tools/bpt/devices/ledger.h"

// With `renew` the page is written; else *same says whether it has the tables of this ledger. A folder without a page, or a page without
// marks, is left alone.
bpt_status_t cli_ledger_page(const char *ledger_path, const cli_ledger_t *ledger, bool renew, bool *same) BPT_MUST_USE;

#endif
