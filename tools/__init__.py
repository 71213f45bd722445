"""What writes the tables of the package: run from a checkout, not installed."""
