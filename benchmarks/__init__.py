"""Measurements that anyone can repeat: `make bench` and `make bench-memory`."""
