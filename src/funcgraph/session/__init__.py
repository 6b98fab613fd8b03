"""Sessions in the traced process: their options, joining and leaving them, recording a block.

The recorder's side is funcgraph.recorder. Traced processes import config, options and environ. These
import only modules that Python has loaded already.
"""
