"""Instances of the tracer inside the running program: made, changed and read while it runs.

import funcgraph

with funcgraph.Instance("orders", tracer="function_graph", filter=["shop.*"]) as orders:
    serve()
    print(orders.trace())
"""
