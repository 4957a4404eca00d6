// What export and import share: the metadata of a model file beyond `format` and `config` is `unit` (byte, char, word, subword, ids),
// `lower` (true, false), `eval_context` (a number), `vocab` and `labels` (the text of vocab.txt and labels.txt), `subword_model` (the bytes
// of subword.model in base64). All may be absent.
#ifndef BPT_TOOLS_TRANSFER_H
#define BPT_TOOLS_TRANSFER_H

enum { CLI_MAX_SIDE_FILE_BYTES = 64 << 20 };

#endif
