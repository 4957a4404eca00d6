#!/usr/bin/env bash
# One query of two may attend to no key at all (a padded text, a node without neighbours), and the mask says so. Expected: zeros or NaN for it,
# as a softmax over nothing has no value, and the same from a mask of booleans as from one that adds minus infinity. Seen: three answers.
#   JAX 0.10.2, mask of booleans   the mean of all values, of just those that the mask hides, as it puts a large negative number in their place
#   the same by lengths            so too: a text of length 0 gives the mean of its padding
#   JAX, a bias of minus infinity  NaN
#   onnxruntime 1.32.0             zeros, by either mask (operator Attention of opset 24), as ONNX's own reference has it
# Nothing is said. A model that is converted from one to the other changes where such rows are read, as by a mean over all nodes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat >show.py <<'P'
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

print('JAX', jax.__version__, 'onnx', onnx.__version__, 'onnxruntime', onnxruntime.__version__)
query, key = np.ones((1, 2, 1, 4), np.float32), np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 3, 1, 4)
value = np.array([[10] * 4, [20] * 4, [60] * 4], np.float32).reshape(1, 3, 1, 4)
seen = np.array([[True, False, False], [False, False, False]])
added = np.where(seen, 0, -np.inf).astype(np.float32)
def say(name, out): print(name + ':', *(round(float(x), 3) for x in out))
attend = lambda **mask: jax.nn.dot_product_attention(query, key, value, **mask)[0, :, 0, 0]
say('JAX, booleans', attend(mask=jnp.array(seen)[None, None]))
say('JAX, length 0', attend(key_value_seq_lengths=jnp.array([0])))
say('JAX, minus infinity', attend(bias=jnp.array(added)[None, None]))
for name, mask in ('booleans', seen), ('minus infinity', added):
    heads_first = dict(Q=query, K=key, V=value)
    feeds = {k: a.transpose(0, 2, 1, 3).copy() for k, a in heads_first.items()} | {'M': mask}
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for k, a in feeds.items()]
    graph = helper.make_graph([helper.make_node('Attention', list(feeds), ['Y'])], 'attention', inputs,
                              [helper.make_tensor_value_info('Y', TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 24)], ir_version=11)
    say('onnxruntime, ' + name, onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0][0, 0, :, 0])
    say('reference, ' + name, ReferenceEvaluator(model).run(None, feeds)[0][0, 0, :, 0])
P
JAX_PLATFORMS=cpu v/bin/python show.py 2>errors | tee said || { cat errors; exit 2; }
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "JAX, booleans: 10.0 30.0"
expect "JAX, length 0: 30.0 30.0"
expect "JAX, minus infinity: 10.0 nan"
for mask in booleans "minus infinity"; do
  expect "onnxruntime, $mask: 10.0 0.0"
  expect "reference, $mask: 10.0 0.0"
done
echo "as described at the top of this file"
