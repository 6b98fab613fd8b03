"""Events as the kernel describes them: `format` files, and the C expressions of their `print fmt`."""
