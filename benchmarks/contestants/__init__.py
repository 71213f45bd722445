"""One script per tool of ``benchmarks.contest``, each run in an environment of its own."""
