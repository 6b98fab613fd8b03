"""The options and files of an instance, each described once.

Every other room of the package may import this one, and traced processes load it: it imports nothing but
the parts of itself.
"""
