"""Sessions: the directory that a recorder and the traced processes share, and the work of each in it.

Traced processes import config, options and environ. These import only modules that Python has loaded
already.
"""
