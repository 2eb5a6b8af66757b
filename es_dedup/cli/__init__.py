"""The command line: one module per group of commands. A command is a function: it parses, calls one use case, prints.

Modules:
    main: the application and its global options; ``command``: how a function becomes a command; ``group``: errors,
    exit codes, signals; ``session``: settings, the index, its source indices and queues; ``inputs``: reading and
    counting what was left out; ``targets``: outputs that replace no index and no input; ``output`` and ``progress``: what
    people and machines see.

Traps:
- modules of commands, and heavy packages inside them (numpy, pyarrow, the segmenter), are imported by the command that runs;
- standard output carries results only; notes, failures and progress go to standard error.
"""
