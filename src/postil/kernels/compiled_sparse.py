"""The kernels of sparse.c under the names and arguments of ``plain_sparse.py``; those of online.c have no twins."""

from postil.kernels.library import call

attribute_scores, attribute_sums, attribute_counts = call.attribute_scores, call.attribute_sums, call.attribute_counts
online_pass, descent_pass = call.online_pass, call.descent_pass
