"""Parse trees: reading, writing, binary shapes, drawings."""
