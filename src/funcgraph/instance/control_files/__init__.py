"""The kernel's files of an instance: what `cat` prints of each, and what `echo` may write."""
