"""Sessions: the directory a recorder and the traced processes share, and who does what in it.

What a traced process imports of this package (config, options, environ) imports nothing that is not loaded
already.
"""
