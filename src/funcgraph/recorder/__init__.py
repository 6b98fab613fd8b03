"""The recorder's side of a session: its directory, draining its rings, its files, its end.

No traced process imports it.
"""
