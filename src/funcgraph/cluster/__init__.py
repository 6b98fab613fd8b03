"""Recording in the workers of a cluster, and collecting their traces: for funcgraph.dask, funcgraph.ray."""
