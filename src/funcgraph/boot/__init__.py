"""Instances and events from the start of a program: the variable FUNCGRAPH."""
