"""What the command line can be asked for: one module a command, each with ``run(options) -> exit code``."""
