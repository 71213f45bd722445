"""A training from its first event to its last: what ``fit`` does."""

import warnings
from contextlib import ExitStack

from postil.errors import TrainingInterruptedWarning
from postil.models.fitting.fitting import Fitting


def run(fitting: Fitting, *, verbose: bool) -> None:
    """Train until the plan ends, showing the progress if wanted.

    Ctrl-C ends a training early: the best of the epochs that are done is kept, and a warning says so. Before the end of
    the first epoch there is nothing to keep, and the interrupt goes on to the caller.
    """
    try:
        with ExitStack() as stack:
            show = None
            if verbose:
                from postil.models.fitting.display import TrainingDisplay  # rich is loaded only to show something

                show = stack.enter_context(TrainingDisplay(fitting)).show
            for event in fitting:
                if show is not None:
                    show(event)
    except KeyboardInterrupt:
        progress = fitting.training.progress
        if not progress.epoch:
            raise
        fitting.stop()
        kept = f"epoch {progress.best_epoch or progress.epoch} of the {progress.epoch} that were complete"
        warnings.warn(f"the training was interrupted: {kept} is kept", TrainingInterruptedWarning, stacklevel=3)
