"""Made-up labelled data for demos, tests and benchmarks."""
