"""The commands, one module each.

A command module has NAME, HELP (one line), DESCRIPTION (optional), add_arguments(parser) and run(args),
which returns the exit status. It raises CommandError for what it cannot do: the user sees one line, perhaps
with lines below it that show the place of the mistake, and exit status 2.
"""
