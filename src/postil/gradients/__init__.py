"""The list of checked gradients, and the gradient check of a fitted model."""
