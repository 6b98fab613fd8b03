"""tracefs of running processes as a folder, by FUSE: `funcgraph mount`, docs/guides/mount.md."""
