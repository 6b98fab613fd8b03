"""Events: their filters, in the kernel's syntax."""
