#!/usr/bin/env bash
# A thousand tokens sampled by jax.random.categorical from 32,000 that are equally likely, the logits in bfloat16, as models compute them. Expected:
# tokens from all over the vocabulary, as in float32. Seen (JAX 0.10.2, on the processor): all thousand are among the first thousand tokens,
# half of them among the first hundred; the other 31,000 never come. With float16 they are among the first quarter. The random numbers
# have the type of the logits, of which bfloat16 has 128, so that many tokens share the largest, and the first of them wins: tokens
# are ordered by frequency, and frequent ones come too often. mode="high", which the documentation gives for float32 and probabilities
# below 1e-7, makes it better and not right: two of three come from the first half. random.bernoulli is true 7 times too often for a
# probability of 0.001 in bfloat16, and of 100,000 numbers of random.normal none is beyond 2.9 in bfloat16, and 4.5 in float32. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat >sample.py <<'P'
import jax
import jax.numpy as jnp
import numpy as np

tokens, draws, key = 32000, 1000, jax.random.key(0)
say = lambda *what: print('JAX', jax.__version__, *what)
for kind in jnp.float32, jnp.float16, jnp.bfloat16:
    for mode in 'low', 'high':  # the default is low
        logits, parts = jnp.zeros(tokens, kind), []
        for part in jax.random.split(key, 10):
            parts.append(np.asarray(jax.random.categorical(part, logits, shape=(draws // 10,), mode=mode)))
        drawn = np.concatenate(parts)
        say(jnp.dtype(kind).name, mode, 'of the first half: %.1f' % np.mean(drawn < tokens // 2), 'below 1000:', np.sum(drawn < 1000),
            'median', round(float(np.median(drawn))), 'largest', drawn.max())
for kind in jnp.float32, jnp.float16, jnp.bfloat16:
    true = float(jax.random.bernoulli(key, jnp.asarray(0.001, kind), (1000000,)).mean())
    normal = np.abs(np.asarray(jax.random.normal(key, (100000,), kind)).astype(np.float32)).max()
    say(jnp.dtype(kind).name, 'true for 0.001: %.4f' % true, 'largest of normal numbers %.1f' % normal)
P
JAX_PLATFORMS=cpu venv/bin/python sample.py | tee said
expect() { grep -qE "^JAX 0.10.2 $1\$" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "float32 low of the first half: 0.5 below 1000: [1-9]?[0-9] median 1[5-6][0-9]{3} largest 3[0-9]{4}"
expect "float32 high of the first half: 0.5 below 1000: [1-9]?[0-9] median 1[5-6][0-9]{3} largest 3[0-9]{4}"
expect "float16 low of the first half: 1.0 below 1000: [0-9]{3} median [0-9]{3} largest [5-9][0-9]{3}"
expect "float16 high of the first half: 0.5 below 1000: .*"
expect "bfloat16 low of the first half: 1.0 below 1000: 1000 median [0-9]{2} largest [0-9]{3}"
expect "bfloat16 high of the first half: 0.[67] below 1000: .*"
expect "float32 true for 0.001: 0.0010 largest of normal numbers 4.5"
expect "float16 true for 0.001: 0.00.* largest of normal numbers 3.5"
expect "bfloat16 true for 0.001: 0.007[0-9] largest of normal numbers 2.9"
echo "as described at the top of this file"
