"""Control from inside a program: what is traced in it is started, changed and read there."""
