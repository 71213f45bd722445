"""What differs between taggers, detectors, tree classifiers and models of several tasks."""
