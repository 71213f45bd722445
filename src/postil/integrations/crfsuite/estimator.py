"""``CRF``: the estimator of sklearn-crfsuite, with its parameters, methods and attributes."""

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, not_fitted
from postil.integrations.crfsuite.metrics import flat_accuracy_score
from postil.integrations.crfsuite.model import Model
from postil.integrations.crfsuite.tagger import Tagger
from postil.integrations.crfsuite.trainer import FEATURES, LinePerIterationTrainer, TrainingLog
from postil.models.settings import Declared

_PARAMETERS = {
    **FEATURES,
    **{name: name for name in ("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta")},
    **{name: name for name in ("linesearch", "max_linesearch")},
    **{f"calibration.{name}": f"calibration_{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
    "type": "pa_type",
    **{name: name for name in ("c", "error_sensitive", "averaging", "variance", "gamma")},
}


class ModelFile:
    """The file a model is in: a given one, or a temporary one that goes with the estimator."""

    def __init__(self, filename: str | os.PathLike[str] | None = None, keep_tempfiles: bool = False) -> None:
        self.name = None if filename is None else os.fspath(filename)
        self.auto, self.keep_tempfiles = filename is None, keep_tempfiles

    @property
    def content(self) -> bytes | None:
        if self.name is None or not Path(self.name).exists():
            return None
        return Path(self.name).read_bytes()

    def refresh(self) -> str:
        """A name to write a new model to; the last temporary file is deleted."""
        self.cleanup()
        if self.name is None:
            handle, self.name = tempfile.mkstemp(".crfsuite", "model")
            os.close(handle)
        return self.name

    def cleanup(self) -> None:
        """Delete the temporary file."""
        if self.auto and self.name is not None and not self.keep_tempfiles:
            Path(self.name).unlink(missing_ok=True)
            self.name = None

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError, TypeError):  # half made, or the interpreter is ending
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        return {**state, "name": None, "content": self.content} if self.auto else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("content", None)
        self.__dict__.update(state)
        if content is not None:
            Path(self.refresh()).write_bytes(content)


def _learned(doc: str, of: Callable[[Model], Any]) -> Any:
    """A property of an estimator's model; None before ``fit``."""
    return property(lambda crf: None if crf.tagger_ is None else of(crf.tagger_.model), doc=doc)


@dataclass(eq=False, repr=False)
class CRF(Declared):
    """A conditional random field over hand-made features, trained as CRFsuite trains it.

    ``X`` is a list of sequences of feature dicts, ``y`` a list of sequences of labels. Parameters that are None have
    the algorithm's default; ``threads`` None means all cores, and changes no result.

    >>> X = [[{"word": "Rome"}, {"word": "is"}], [{"word": "is"}, {"word": "Rome"}]]
    >>> crf = CRF(c2=0.1).fit(X, [["LOC", "O"], ["O", "LOC"]])
    >>> crf.predict_single([{"word": "Rome"}])
    ['LOC']
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | os.PathLike[str] | None = None
    keep_tempfiles: bool = False
    trainer_cls: Any = None
    _: KW_ONLY
    threads: int | None = None

    def __post_init__(self) -> None:
        if "eli5" in sys.modules and importlib.util.find_spec("sklearn_crfsuite") is not None:  # which it explains
            from eli5.explain import explain_weights
            from eli5.sklearn_crfsuite.explain_weights import explain_weights_sklearn_crfsuite

            explain_weights.register(CRF, explain_weights_sklearn_crfsuite)
        self.modelfile = ModelFile(self.model_filename, self.keep_tempfiles)
        self.training_log_: TrainingLog | None = None
        self._tagger: Tagger | None = None

    # -------------------------------------------------------------------------------------------- estimator rules

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        # No classifier: folds are not stratified by labels, which are sequences here.
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(two_d_array=False))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None}

    # -------------------------------------------------------------------------------------------- fit and predict

    def fit(self, X: Iterable[Any], y: Iterable[Any], X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train a model. With held-out data every iteration is evaluated on it; nothing else depends on it."""
        if (X_dev is None) != (y_dev is None):
            raise ConfigurationError("X_dev and y_dev", expected="must be passed together")
        self._tagger = None
        chosen = {name: getattr(self, ours) for name, ours in _PARAMETERS.items()}
        trainer = (self.trainer_cls or LinePerIterationTrainer)(
            algorithm=self.algorithm,
            params={name: value for name, value in chosen.items() if value is not None},
            verbose=self.verbose,
        )
        trainer.threads = self.threads
        for group, xs, ys in ((0, X, y), (1, X_dev, y_dev)):
            if xs is None:
                continue
            xs, ys = list(xs), list(ys)
            if len(xs) != len(ys):
                expected = f"{len(xs)} sequences of labels"
                raise ConfigurationError("X and y differ in length", expected=expected, got=len(ys))
            for xseq, yseq in zip(xs, ys, strict=True):
                trainer.append(xseq, yseq, group)
        trainer.train(self.modelfile.refresh(), holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        return self

    def predict(self, X: Iterable[Any]) -> Array:
        """The most probable labels: an array of lists, or one of two dimensions if all sequences have one length."""
        return np.array([self.predict_single(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """The most probable labels of one sequence."""
        return self._fitted().answer(xseq).labels

    def predict_marginals(self, X: Iterable[Any]) -> Array:
        """For every item of every sequence the probability of every label."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For every item of one sequence the probability of every label."""
        return self._fitted().answer(xseq).marginals()

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """The accuracy over all items."""
        return float(flat_accuracy_score(list(y), self.predict(X)))

    def _fitted(self) -> Model:
        tagger = self.tagger_
        if tagger is None:
            raise not_fitted("CRF is not fitted yet: call fit first")
        return tagger.model

    # -------------------------------------------------------------------------------------------- what was learned

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before ``fit``."""
        tagger, name = self._tagger, self.modelfile.name
        if tagger is None and name is not None:
            tagger = Tagger()
            tagger.open(name)
            self._tagger = tagger
        return tagger

    classes_ = _learned("The labels, in the order of their first occurrence.", lambda model: [*model.labels])
    size_ = _learned("The size of the model's file in bytes.", lambda model: len(model.content))
    num_attributes_ = _learned("The number of attributes_.", lambda model: len(model.weights.attributes))
    attributes_ = _learned("The attributes with a weight that is not 0.", lambda model: [*model.weights.attributes])
    state_features_ = _learned("{(attribute, label): weight}", lambda model: model.weights.state_features())
    transition_features_ = _learned("{(label, next label): weight}", lambda model: model.weights.transition_features())
