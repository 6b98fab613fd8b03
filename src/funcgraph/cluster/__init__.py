"""Recording in the workers of a cluster, and collecting their traces. funcgraph.dask and funcgraph.ray use it."""
