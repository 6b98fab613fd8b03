"""The buffer of an instance: its records, copied out of the ring, as a trace and as the kernel's pages."""
