"""Fuzzing: generated and damaged input for every reader, parser and stored format; ``make fuzz`` runs the whole budget."""
