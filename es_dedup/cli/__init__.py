"""The command line: one module per group of commands, each a thin envelope around one use case.

Modules:
    main: the application and its global options; ``group``: errors, exit codes, signals; ``session``: settings and
    the index; ``inputs``: reading and counting what was left out; ``output`` and ``progress``: what people and
    machines see.

Traps:
- heavy packages (numpy, pyarrow, the segmenter) are imported inside commands, so that ``--help`` stays fast;
- standard output carries results only; notes, failures and progress go to standard error.
"""
