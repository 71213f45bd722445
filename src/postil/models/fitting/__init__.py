"""From labelled data to a fitted model: features, network and training loop put together."""
