"""Benchmarks: speed and agreement beside a peer or a limit. ``python -m benchmarks --help`` lists them."""
