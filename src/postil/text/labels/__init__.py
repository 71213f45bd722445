"""Labels of tokens: schemes, what violates them, and annotation that is known in part."""
