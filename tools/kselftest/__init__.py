"""`make kselftest`: the kernel's own selftests of ftrace, on a mount of a prepared program."""
