"""What every adapter of a port must do, as suites of tests: inherit one, say how to open the adapter, run pytest."""
