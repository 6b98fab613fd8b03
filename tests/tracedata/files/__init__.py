"""The files of a trace: writing, reading and recovering them, also when they are damaged."""
