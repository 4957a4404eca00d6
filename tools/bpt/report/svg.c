// Parts of pictures (see svg.h).
#include "tools/bpt/report/svg.h"

#include <string.h>

#include "data/text/text.h"

static const char *const style =
    "<style>text{font:12px system-ui,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#222}.title{font-weight:600}"
    "path{fill:none;stroke-linejoin:round}.grid{stroke:#e4e4e4}.axis{stroke:#888}.line{stroke-width:2}"
    ".faint{stroke-width:1;opacity:.35}.dash{stroke-width:1.5;stroke-dasharray:5 4}</style>\n";

bpt_status_t svg_open(int width, int height, bpt_strbuf_t *out) {
    return bpt_strbuf_printf(out,
                             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n%s"
                             "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                             width, height, width, height, style);
}

// As XML takes it: names of folders may hold anything.
static bpt_status_t write_escaped(bpt_strbuf_t *out, const char *text) {
    static const char replacement[] = "\xEF\xBF\xBD";  // U+FFFD
    for (int used; *text; text += used) {
        uint32_t c;
        used = bpt_utf8_next(text, strlen(text), &c);
        const char *entity = !used                        ? replacement
                             : c == 0xFFFE || c == 0xFFFF ? replacement
                             : c == '<'                   ? "&lt;"
                             : c == '>'                   ? "&gt;"
                             : c == '&'                   ? "&amp;"
                             : c == '"'                   ? "&quot;"
                             : c < ' '                    ? ""
                                                          : NULL;
        if (!used) used = 1;
        BPT_TRY(bpt_strbuf_append(out, entity ? entity : text, entity ? strlen(entity) : (size_t)used));
    }
    return BPT_OK;
}

bpt_status_t svg_text(bpt_strbuf_t *out, double x, double y, const char *attributes, const char *text) {
    BPT_TRY(bpt_strbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes));
    BPT_TRY(write_escaped(out, text));
    return bpt_strbuf_printf(out, "</text>\n");
}
