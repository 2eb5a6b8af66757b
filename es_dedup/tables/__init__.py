"""Near-duplicates among the rows of a list, a dictionary or a table, in one call.

Main names: ``deduplicate`` takes the rows, ``DeduplicationResult`` is what it returns; ``kinds`` reads rows of each kind.
"""
