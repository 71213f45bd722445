"""Files with a line for each token: CoNLL columns, CoNLL-U, tables, WebAnno."""
