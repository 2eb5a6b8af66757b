"""Attached source indices: attach, backfill, reindex, recluster, audit; long ones as resumable jobs."""
