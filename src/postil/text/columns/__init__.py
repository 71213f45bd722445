"""Files with a line for each token: CoNLL columns, CoNLL-U and those of roles."""
