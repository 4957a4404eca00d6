// The names of parameters in a model file: the only list. A layer's names follow its prefix.
#ifndef BPT_MODELS_NN_NAMES_H
#define BPT_MODELS_NN_NAMES_H

// ---- Outside the layers
#define BPT_NAME_EMBED "embed.weight"            // [vocab, d_embed]
#define BPT_NAME_EMBED_PROJ "embed_proj.weight"  // [d_model, d_embed], where they differ
#define BPT_NAME_EMBED_PROJ_BIAS "embed_proj.bias"
#define BPT_NAME_POSITIONS "pos_embed.weight"  // [max_positions, d_model]
#define BPT_NAME_EMBED_NORM "embed_norm"
#define BPT_NAME_NGRAM "ngram.weight"            // [ngram_rows, ngram_dim], where n-grams are read
#define BPT_NAME_NGRAM_PROJ "ngram_proj.weight"  // [d_model, ngram_dim]
#define BPT_NAME_INPUT_PROJ "input_proj.weight"  // [d_model, d_input], in place of the embedding where vectors are read
#define BPT_NAME_INPUT_PROJ_BIAS "input_proj.bias"
#define BPT_NAME_HEAD "head.weight"  // [outputs, d_model], unless tied
#define BPT_NAME_HEAD_BIAS "head.bias"
#define BPT_NAME_CRF_TRANSITIONS "crf.transitions"  // [tags, tags], from and to; then start and end, one behind the other
#define BPT_NAME_CRF_START "crf.start"
#define BPT_NAME_CRF_END "crf.end"
#define BPT_NAME_MLP "head.mlp.weight"  // [d_mlp, inputs of the head], where d_mlp > 0
#define BPT_NAME_MLP_BIAS "head.mlp.bias"

// ---- Of the decoder: in front of the names of its embedding and its layers
#define BPT_NAME_DECODER "decoder."

// ---- Of layer %d
#define BPT_NAME_LAYER "layers.%d."
#define BPT_NAME_Q "attn.q_proj.weight"  // [d_model, d_model], one behind the other: bpt_param_t.joined
#define BPT_NAME_K "attn.k_proj.weight"
#define BPT_NAME_V "attn.v_proj.weight"
#define BPT_NAME_OUT "attn.out_proj.weight"
#define BPT_NAME_REL_KEY "attn.rel_key.weight"  // [rows of relative positions, head_dim]
#define BPT_NAME_ATTN_NORM "attn_norm"
#define BPT_NAME_FC1 "ffn.fc1.weight"  // [d_ff, d_model]
#define BPT_NAME_FC1_BIAS "ffn.fc1.bias"
#define BPT_NAME_GATE "ffn.gate.weight"  // [d_ff, d_model], swiglu, which has no biases
#define BPT_NAME_FC2 "ffn.fc2.weight"    // [d_model, d_ff]
#define BPT_NAME_FC2_BIAS "ffn.fc2.bias"
#define BPT_NAME_FFN_NORM "ffn_norm"

// ---- Of matching layer %d, which are as the others and have these beside; those of a decoder have them too
#define BPT_NAME_MATCH "match.%d."
#define BPT_NAME_CROSS_Q "cross.q_proj.weight"  // [d_model, d_model], keys and values one behind the other
#define BPT_NAME_CROSS_K "cross.k_proj.weight"
#define BPT_NAME_CROSS_V "cross.v_proj.weight"
#define BPT_NAME_CROSS_OUT "cross.out_proj.weight"
#define BPT_NAME_CROSS_NORM "cross_norm"
#define BPT_NAME_CROSS "cross."

// ---- Of layer %d of a Tree Transformer (prefix layers.%d.): attention as that of a star below ("attn."), and
#define BPT_NAME_NODE_EMBED "node_embed.weight"  // [symbols of nodes, d_model], outside the layers
#define BPT_NAME_ATTN "attn."
// Behind "attn." of such a layer, and behind "cross." of a layer that reads the nodes of trees beside the tokens
#define BPT_NAME_LEAF_WEIGHT "leaf_weight.weight"  // [heads, d_model]
#define BPT_NAME_LEAF_WEIGHT_BIAS "leaf_weight.bias"
#define BPT_NAME_VERTICAL "vertical.weight"      // [vertical_max, head_dim / 2]
#define BPT_NAME_HORIZONTAL "horizontal.weight"  // [horizontal_max, head_dim / 2]

// ---- Of cycle %d of a Star-Transformer (prefix layers.%d.): attention of the satellites ("ring.") and of the relay ("star."), and what
// follows each. A = heads * head_dim.
#define BPT_NAME_RING "ring."
#define BPT_NAME_STAR "star."
#define BPT_NAME_Q_PROJ "q_proj"  // [A, d_model]; keys and values one behind the other, the biases [A] too
#define BPT_NAME_K_PROJ "k_proj"
#define BPT_NAME_V_PROJ "v_proj"
#define BPT_NAME_OUT_PROJ "out_proj"  // [d_model, A]
#define BPT_NAME_WEIGHT ".weight"
#define BPT_NAME_BIAS ".bias"
#define BPT_NAME_RING_NORM "ring_norm"
#define BPT_NAME_STAR_NORM "star_norm"

// ---- Of a LayerNorm, behind its own name
#define BPT_NAME_NORM_GAMMA ".weight"
#define BPT_NAME_NORM_BETA ".bias"

#endif
