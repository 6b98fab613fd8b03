"""Steering traced processes from outside: what trace-cmd's verbs do, over the files of a tracefs."""
