"""Contract suites and builders for those who add detectors or indexes."""
