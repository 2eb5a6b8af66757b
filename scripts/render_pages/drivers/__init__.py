"""Scripts that run inside the environment of a program: a site as JSON on standard input, its pages as JSON lines."""
