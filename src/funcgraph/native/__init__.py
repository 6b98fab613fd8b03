"""Native functions of ELF objects: which there are, which can be hooked, and how; from outside."""
