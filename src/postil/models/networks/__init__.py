"""From token features to scores: networks, their fast form for tagging, long inputs in pieces."""
