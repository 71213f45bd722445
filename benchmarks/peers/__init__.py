"""What runs inside the peers' own environments."""
