"""Control from inside a program: what a person starts, stops and reads there."""
