"""The page in which a browser shows traces: its files, and what is put into one that needs no server."""
