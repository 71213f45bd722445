"""What optimisers and schedules are called: settings are checked against these names where nothing is trained."""

OPTIMISER_NAMES = ("adam", "adagrad", "sgd", "sgd-fan-in", "sgd-root-fan-in")
SCHEDULE_NAMES = ("linear", "constant", "inverse-decay")
