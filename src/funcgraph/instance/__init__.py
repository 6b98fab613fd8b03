"""Instances: tracers inside the running program, which it makes, changes and reads while it runs.

import funcgraph

with funcgraph.Instance("orders", tracer="function_graph", filter=["shop.*"]) as orders:
    serve()
    print(orders.trace())
"""
