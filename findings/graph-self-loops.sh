#!/usr/bin/env bash
# An undirected graph in which each node also has an edge to itself, as graph networks add them so that a node sees itself. Expected: libraries
# agree on what such a graph is: the same matrix of the graph, the same normalised matrix (that of graph convolutions is one less the
# normalised Laplacian), the same PageRank. Seen for a node with four others around it, all with loops:
#   NetworkX 3.6.1     a loop is one entry of 1     normalised: loops of 1/5 and 1/2            PageRank of the middle 0.3625
#   igraph 1.0.0       a loop is one entry of 2     normalised: loops of 1/3 and 2/3            PageRank 0.3133
#   SciPy 1.17.1       (given NetworkX's matrix)    normalised: no loops, as if there were none (as its documentation says)
#   NetworKit 11.3                                                                              PageRank 0.3625
# So a convolution over the Laplacian of one library is another model than over that of the next, and with SciPy's, adding loops changes nothing.
# With a node that has no edge at all, the PageRank of NetworKit sums to 0.86, as it has no rule for it unless asked; the others sum to 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install networkx==3.6.1 igraph==1.0.0 scipy==1.17.1 networkit==11.3 numpy==2.4.6
cat >loops.py <<'P'
from importlib.metadata import version

import igraph
import networkit
import networkx
import numpy as np
import scipy.sparse.csgraph

print(*(f'{name} {version(name)}' for name in ('networkx', 'igraph', 'scipy', 'networkit')))
star = [(0, i) for i in range(1, 5)]


def graphs(edges, nodes):
    one, two, three = networkx.Graph(), igraph.Graph(n=nodes, edges=edges), networkit.Graph(nodes)
    one.add_nodes_from(range(nodes))
    one.add_edges_from(edges)
    for edge in edges:
        three.addEdge(*edge)
    return one, two, three


def ranks(one, two, three):
    return {'NetworkX': list(networkx.pagerank(one, tol=1e-12, max_iter=1000).values()), 'igraph': two.pagerank(),
            'NetworKit': networkit.centrality.PageRank(three, 0.85, 1e-12).run().scores()}


one, two, three = graphs(star + [(i, i) for i in range(5)], 5)
matrix = networkx.to_scipy_sparse_array(one, dtype=float)
print('loops in the matrix: NetworkX', matrix.diagonal(), 'igraph', np.diag(two.get_adjacency().data))
normalised = {'NetworkX': networkx.normalized_laplacian_matrix(one).toarray(), 'igraph': np.array(two.laplacian(normalized='symmetric')),
              'SciPy': scipy.sparse.csgraph.laplacian(matrix, normed=True).toarray()}
for name, laplacian in normalised.items():
    print(name, 'normalised', *('%.3f' % x for x in (1 - laplacian[0, 0], -laplacian[0, 1], 1 - laplacian[1, 1])))
for name, rank in ranks(one, two, three).items():
    print(name, 'PageRank with loops', *('%.4f' % x for x in rank[:2]), 'sum %.2f' % sum(rank))
for name, rank in ranks(*graphs(star, 5)).items():
    print(name, 'PageRank without loops', *('%.4f' % x for x in rank[:2]), 'sum %.2f' % sum(rank))
for name, rank in ranks(*graphs(star, 6)).items():
    print(name, 'PageRank with a node without edges', *('%.4f' % x for x in rank[:2]), 'sum %.2f' % sum(rank))
P
v/bin/python loops.py | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "networkx 3.6.1 igraph 1.0.0 scipy 1.17.1 networkit 11.3"
expect "loops in the matrix: NetworkX [1. 1. 1. 1. 1.] igraph [2 2 2 2 2]"
expect "NetworkX normalised 0.200 0.316 0.500"
expect "igraph normalised 0.333 0.236 0.667"
expect "SciPy normalised 0.000 0.500 0.000"
expect "NetworkX PageRank with loops 0.3625 0.1594 sum 1.00"
expect "igraph PageRank with loops 0.3133 0.1717 sum 1.00"
expect "NetworKit PageRank with loops 0.3625 0.1594 sum 1.00"
for name in NetworkX igraph NetworKit; do expect "$name PageRank without loops 0.4757 0.1311 sum 1.00"; done
for name in NetworkX igraph; do expect "$name PageRank with a node without edges 0.4618 0.1273 sum 1.00"; done
expect "NetworKit PageRank with a node without edges 0.3964 0.1092 sum 0.86"
echo "as described at the top of this file"
