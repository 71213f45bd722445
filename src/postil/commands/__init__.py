"""The command line: every command is two functions, ``add_arguments`` and ``run``."""
