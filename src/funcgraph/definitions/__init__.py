"""Definitions of dynamic events: lines in the kernel's syntax, read into objects, and what is wrong in them.

Nothing here knows the engine: funcgraph.events makes events of definitions.
"""
