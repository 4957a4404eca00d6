// Arithmetic of four rows side by side, and the weights of a softmax.
#define MASKED (-1.0e38f)  // scores of no edge are below

FUNCTION float4 max4(float4 a, float4 b) { return FLOAT4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)); }
FUNCTION float4 add4(float4 a, float4 b) { return FLOAT4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
// exp(score - top), 0 where the score is masked.
FUNCTION float weight_of(float score, float top) { return score > MASKED ? exp(score - top) : 0.0f; }
FUNCTION float4 weights_of(float4 score, float4 top) {
    return FLOAT4(weight_of(score.x, top.x), weight_of(score.y, top.y), weight_of(score.z, top.z), weight_of(score.w, top.w));
}
