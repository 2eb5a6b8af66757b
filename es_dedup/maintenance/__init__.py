"""Attached host indices: attach, backfill, reindex, sweep, audit; long ones as resumable jobs."""
