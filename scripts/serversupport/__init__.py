"""Real servers for people, tests and benchmarks: fetching, starting, watching and stopping them.

Only the standard library, so that ``scripts/servers`` works before any environment is made.
"""
