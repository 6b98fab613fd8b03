"""IPython and Jupyter: the cell magic `%%funcgraph`, and how traces show in a notebook.

IPython is no dependency: what is used of it is that of the running notebook.
"""
