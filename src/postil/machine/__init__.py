"""What this machine can do: the physical limits that measured speeds are held against."""
