"""The kernel's tracefs of this process: folders and files over its instances."""
