#!/usr/bin/env bash
# Models of one operator and an old opset, brought to a newer one by onnx.version_converter, and both run by onnxruntime on the same numbers.
# Expected: the same results, or an error where the converter cannot keep the meaning. Seen (onnx 1.23.2, onnxruntime 1.32.0):
#   Softmax, LogSoftmax 11 to 13   the same: what the new operator no longer does is put around it
#   Hardmax 11 to 13               the ones stand elsewhere: its default axis has changed in the same way, and nothing is put around it
#   Resize 10 to 11                other numbers, linear ones and nearest ones: the new operator lays its grid otherwise unless attributes say so
#   Upsample 9 to 10               the same; 9 to 11 gives other numbers, as it goes by Resize
# onnx.checker accepts all of them, before and after, the shapes are the same, and nothing is said. An old model that is
# brought up to date for a new runtime gives somewhat worse results for no visible reason.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cat >convert.py <<'P'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, version_converter

x = np.random.default_rng(0).standard_normal((1, 2, 4, 6)).astype(np.float32)
larger, smaller = np.array([1, 1, 1.5, 2], np.float32), np.array([1, 1, 0.5, 0.7], np.float32)
whole = np.array([1, 1, 2, 2], np.float32)


def run(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider']).run(None, {'x': x})[0]


print('onnx', onnx.__version__, 'onnxruntime', onnxruntime.__version__)
for operator, old, new, constants, attributes in [
    ('Softmax', 11, 13, [], {}),
    ('LogSoftmax', 11, 13, [], {}),
    ('Hardmax', 11, 13, [], {}),
    ('Resize', 10, 11, [larger], {'mode': 'linear'}),
    ('Resize', 10, 11, [smaller], {'mode': 'nearest'}),
    ('Upsample', 9, 10, [whole], {'mode': 'linear'}),
    ('Upsample', 9, 11, [whole], {'mode': 'linear'}),
]:
    names = ['c%d' % i for i in range(len(constants))]
    graph = helper.make_graph([helper.make_node(operator, ['x', *names], ['y'], **attributes)], 'one',
                              [helper.make_tensor_value_info('x', TensorProto.FLOAT, list(x.shape))],
                              [helper.make_tensor_value_info('y', TensorProto.FLOAT, [None] * 4)],
                              [numpy_helper.from_array(c, n) for c, n in zip(constants, names)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', old)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    newer = version_converter.convert_version(model, new)
    onnx.checker.check_model(newer, full_check=True)
    before, after = run(model), run(newer)
    what = ' '.join([operator, *attributes.values(), str(old), 'to', str(new)]) + ':'
    same = 'the same' if np.allclose(before, after, atol=1e-6) else 'other, off by %.2f' % np.abs(before - after).max()
    print(what, same, 'and of the same shape' if before.shape == after.shape else 'and of another shape')
P
venv/bin/python convert.py 2>/dev/null | tee said
expect() { grep -qE "^$1 and of the same shape\$" said || { echo "changed: no line \"$1\""; exit 1; }; }
grep -qx "onnx 1.23.2 onnxruntime 1.32.0" said || { echo "changed: another version"; exit 1; }
for what in "Softmax 11 to 13" "LogSoftmax 11 to 13" "Upsample linear 9 to 10"; do expect "$what: the same"; done
for what in "Hardmax 11 to 13" "Resize linear 10 to 11" "Resize nearest 10 to 11" "Upsample linear 9 to 11"; do
  expect "$what: other, off by [0-9.]+"
done
echo "as described at the top of this file"
