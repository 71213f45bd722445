"""The tagger: labels on words, as whole label sequences with exact probabilities."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Sentences, Token, forms_of
from postil.models.config import TaggerParameters
from postil.models.decoding.codec import Predictions
from postil.models.decoding.constraints import Conditions, Constraints
from postil.models.decoding.distribution import Decoding, check_probability, lowest_probabilities
from postil.models.decoding.posteriors import Threshold
from postil.models.decoding.tagged import Labelling, entities_of, labellings_of, put_labels
from postil.models.inputs import (
    checked_documents,
    checked_for_scores,
    checked_label_sequence,
    checked_sentence,
    listed_sentences,
)
from postil.models.model import FittedModel, Head
from postil.models.networks.network import MAIN, EnsembleNetwork, members_of
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import checked_text, entity, listed_texts, sentences_of, tokens_of
from postil.models.settings import takes
from postil.text import Document, Entity, Sentence, with_marks
from postil.text.labels.partial import Labels

if TYPE_CHECKING:
    from postil.metrics import Evaluation
    from postil.models.decoding.promise import Promise
    from postil.models.decoding.redaction import Redacted
    from postil.models.decoding.tuning import Tuned
    from postil.models.explaining.explanation import Explanation
    from postil.models.fitting.masked_words import EncoderFitting
    from postil.models.voting.files import RuleSource
    from postil.models.voting.reliability import Reliability


@final
class Tagger(SentenceEstimator):
    """Labels words: names, parts of speech, chunks. Follows scikit-learn's estimator rules.

    X is a list of sentences, each a list of tokens (a token is its form, or a tuple of the form and extra columns). y
    is a list of lists of labels. Hyperparameters that are not set have the values of the preset.

    Examples
    --------
    >>> from postil import Tagger
    >>> X = [["Anna", "lives", "in", "Oslo"], ["the", "museums", "of", "Lima"]] * 10
    >>> y = [["B-PER", "O", "O", "B-LOC"], ["O", "O", "O", "B-LOC"]] * 10
    >>> tagger = Tagger(preset="fast", hidden=20, seed=0).fit(X, y)
    >>> tagger.predict([["Anna", "lives", "in", "Lima"]])
    [['B-PER', 'O', 'O', 'B-LOC']]
    >>> tagger.classes_
    ['O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER']
    >>> [(entity.text, entity.label) for entity in tagger.tag("Anna lives in Oslo").entities]
    [('Anna', 'PER'), ('Oslo', 'LOC')]
    """

    @takes(TaggerParameters)
    def __init__(self, **parameters: Any) -> None:
        self._store(parameters)

    # -------------------------------------------------------------------------------------------- its kind of model

    KIND: ClassVar[str] = "tagger"

    def _calibrate_after_fit(self, X: Sentences, y: Labels, *, held_out: bool) -> None:
        if held_out:  # on the training data any model would seem too unsure
            self.calibrate(X, y)
            if self.model.codec.has_spans:
                with suppress(DataError):  # no entities in the held-out data: the bias stays
                    self.tune(X, y, f1=True)

    def pretrain(self, sentences: Sentences, *, verbose: bool = False) -> Self:
        """Learn words and encoder from raw text, as sentences of tokens: hidden words are predicted from the others.

        The tagger then knows no label but O. Save it and name the file (``Tagger(pretrained=…).fit(X, y)``), or start
        from it (``Tagger(…).fit(X, y, warm_start=…)``), with the same preset, vectors and clusters. Members of an
        ensemble learn on as many ``threads``.
        """
        from postil.models.fitting.fitting import run  # training code is loaded only to train

        run(self.pretraining(sentences), verbose=verbose)
        return self

    def pretraining(
        self, sentences: Sentences, *, checkpoint: Path | None = None, resume: bool = False
    ) -> "EncoderFitting":
        """``pretrain`` step by step: see ``fitting``."""
        from postil.models.fitting.masked_words import EncoderFitting  # training code is loaded only to train

        return EncoderFitting(self, sentences, checkpoint=checkpoint, resume=resume)

    # -------------------------------------------------------------------------------------------- the fitted model

    @property
    def classes_(self) -> list[str]:
        """The labels that may occur in answers."""
        return list(self.model.codec.answers)

    @property
    def decoding(self) -> Decoding:
        """How answers are read from the scores: temperature, shift, bias, thresholds. May be replaced."""
        return self.model.decoding

    @decoding.setter
    def decoding(self, decoding: Decoding) -> None:
        lowest_probabilities(decoding.thresholds, self.model.codec)
        self.model.decoding = decoding

    # -------------------------------------------------------------------------------------------- answers

    def predict(self, X: Sentences, *, constraints: Conditions = None, threshold: Threshold = None) -> list[list[str]]:
        """Predict the labels of every sentence, in the scheme of the training data.

        Parameters
        ----------
        X : sequence of sentences
            Each is a sequence of tokens.
        constraints : sequence of Constraints or None, optional
            One or None for each sentence; offsets count tokens.
        threshold : float or dict, optional
            Drop entities less probable than this, for all classes or by class (default: the thresholds of the model).
        """
        X = listed_sentences(X, word_key=self._word_key)
        decoded = self._posteriors.decode(X, threshold=threshold, constraints=constraints, probabilities=False)
        return Predictions(decoded.texts())

    def predict_with_probabilities(
        self, X: Sentences, *, constraints: Conditions = None, threshold: Threshold = None
    ) -> tuple[list[list[str]], list[Array]]:
        """Predict, and return the probability of each token's predicted label, (T,) per sentence."""
        X = listed_sentences(X, word_key=self._word_key)
        decoded = self._posteriors.decode(X, threshold=threshold, constraints=constraints, label_probabilities=True)
        return Predictions(decoded.texts()), decoded.by_sentence()

    def score(self, X: Sentences, y: Labels) -> float:
        """conlleval's F1 for span schemes, otherwise token accuracy; 0 to 1."""
        return self.evaluate(X, y).main_score

    def evaluate(self, X: Sentences, y: Labels) -> "Evaluation":
        """Score ``predict`` on labelled data.

        Tokens with unknown labels (``?``, ``PER|ORG``) do not count.
        """
        from postil.metrics import evaluate  # what only held-out data need is loaded with them

        codec, (X, y) = self.model.codec, checked_for_scores(X, y, self._word_key)
        return evaluate(with_marks(y, X, known=codec.answers), self.predict(X), scheme=codec.scheme)

    def marginals(self, tokens: Sequence[Token], constraints: Constraints | None = None) -> list[dict[str, float]]:
        """Compute the probability of every label at every token, over all label sequences.

        Offsets of constraints count tokens.
        """
        posterior = self._posteriors.of_one(checked_sentence(tokens, self._word_key), constraints)
        marked = posterior.marked_beginnings() if self.model.codec.scheme == "iob1" else None
        labelled: list[dict[str, float]] = self.model.codec.marginals(posterior.marginals(), marked)
        return labelled

    def nbest(
        self, tokens: Sequence[Token], k: int = 5, constraints: Constraints | None = None
    ) -> list[tuple[list[str], float]]:
        """Find the k most probable label sequences with their probabilities, best first; fewer if there are fewer.

        Offsets of constraints count tokens.
        """
        posteriors, tokens = self._posteriors, checked_sentence(tokens, self._word_key)
        at_most = len(self.model.codec.labels) ** min(len(tokens), 64)  # Python's whole numbers do not overflow
        (paths,) = posteriors.of_one(tokens, constraints).ranked(min(k, at_most))
        return [(self.model.codec.texts(labels), probability) for labels, probability in paths]

    def probability(
        self, tokens: Sequence[Token], labels: Sequence[str], constraints: Constraints | None = None
    ) -> float:
        """The probability of a whole label sequence."""
        posteriors, tokens = self._posteriors, checked_sentence(tokens, self._word_key)
        (numbers,) = posteriors.codec.numbers([checked_label_sequence(labels, tokens)])
        return float(posteriors.of_one(tokens, constraints).probabilities_of(numbers)[0])

    def explain(self, tokens: Sequence[Token], start: int, end: int, label: str | None = None) -> "Explanation":
        """Explain an entity: the contribution of each word and feature to the log-odds of "start:end is a ``label``".

        For labels without spans, ``end`` is ``start + 1``. ``label`` is a class, or "O" to ask why the tokens belong to
        no entity; by default the predicted class of these tokens, or their most probable one.
        """
        from postil.models.explaining.explanation import explain_entity

        posteriors, tokens = self._posteriors, checked_sentence(tokens, self._word_key)
        _, lattice = next(posteriors.lattices([tokens]))
        return explain_entity(self.model, tokens, lattice, (start, end), label)

    def spans_above(
        self, tokens: Sequence[Token], lowest: float, constraints: Constraints | None = None
    ) -> list[Entity]:
        """Every span with at least this probability, on the best path or not. Spans may overlap.

        Offsets count tokens.
        """
        tokens = checked_sentence(tokens, self._word_key)
        return self._above([Sentence(forms_of(tokens))], [tokens], lowest, [constraints])[0]

    def entities_above(
        self, sentences: Sequence[Sentence], lowest: float, *, constraints: Conditions = None
    ) -> list[list[Entity]]:
        """``spans_above`` of many sentences. Offsets count characters if a sentence has a text, else tokens."""
        sentences = checked_documents(sentences)
        return self._above(sentences, list(map(tokens_of, sentences)), lowest, constraints)

    def _above(
        self, sentences: Sequence[Sentence], X: Sentences, lowest: float, constraints: Conditions
    ) -> list[list[Entity]]:
        check_probability(lowest, "lowest probability")
        if not lowest > 0:
            raise ConfigurationError("lowest probability", expected="above 0", got=lowest)
        entities: list[list[Entity]] = [[] for _ in sentences]
        for posterior in self._posteriors.of(X, constraints):
            for row, span, probability in posterior.spans_above(lowest):
                i = posterior.which[row]
                entities[i].append(entity(sentences[i], span.label, span.start, span.end, probability))
        return entities

    def tag(self, text: str, *, constraints: Constraints | None = None, threshold: Threshold = None) -> Document:
        """Cut a raw text into tokens and sentences, and label it.

        The ``entities`` of the document have text, label, start, end (in characters) and probability. Offsets of
        constraints count characters; ``threshold`` is that of ``predict``.
        """
        return self._documents([checked_text(text)], threshold, constraints)[0]

    def tag_many(self, texts: Iterable[str], *, threshold: Threshold = None) -> list[Document]:
        """``tag`` for each of many texts: fastest if there are many, or long ones.

        Sentences and entities of a document are made when they are first looked at.
        """
        return self._documents(listed_texts(texts), threshold)

    def annotate(
        self, sentences: Sequence[Sentence], *, constraints: Conditions = None, threshold: Threshold = None
    ) -> Sequence[Sequence[Entity]]:
        """Put labels on the sentences, in place, and return the entities of each with their probabilities.

        Offsets of entities count characters if the sentence has a text, else tokens; those of constraints tokens.
        """
        sentences = checked_documents(sentences)
        decoded = self._posteriors.decode(list(map(tokens_of, sentences)), threshold=threshold, constraints=constraints)
        put_labels(decoded, sentences)
        return entities_of(decoded, sentences)

    def answers(
        self, sentences: Sequence[Sentence], *, constraints: Conditions = None, threshold: Threshold = None
    ) -> Sequence[Labelling]:
        """Labels, entities with their probabilities, and the probability of the label sequence, of each sentence.

        The answer about a sentence is made when it is first looked at.
        """
        sentences = checked_documents(sentences)
        decoded = self._posteriors.decode(list(map(tokens_of, sentences)), threshold=threshold, constraints=constraints)
        return labellings_of(decoded, sentences)

    # -------------------------------------------------------------------------------------------- rules

    def with_rules(
        self,
        rules: "RuleSource | None",
        *,
        unlabelled: Sentences | None = None,
        reliability: "Reliability | None" = None,
    ) -> "Tagger":
        """The same tagger with rules that vote on what it labels, without training it again.

        Every vote adds log P(vote | label) to the scores of its tokens' labels, so that probabilities stay
        probabilities. The network is shared; this tagger stays as it is.

        Parameters
        ----------
        rules : path of a file, Rules, list of rules, or None
            They replace rules that the tagger has. None removes them.
        unlabelled : sequence of token lists, optional
            Raw sentences on which the reliability of new rules is estimated: by what the tagger and the other rules
            say about their votes. Without them, 85 % of the votes of a new rule are assumed to be for the right class.
        reliability : Reliability, optional
            How reliable rules are, such as ``Learned.reliability``. Rules of which it, or else the tagger, knows
            nothing are new.

        ``save`` stores the rules with the model if they are lists and patterns.
        """
        from postil.models.voting.files import rules_of  # few taggers have rules
        from postil.models.voting.reliability import Voters

        self.model.engine()  # which both share
        model, codec = copy(self.model), self.model.codec
        head = replace(self.model.head, voters=None)
        model.heads = {self.model.task: head}
        other = self._with_model(model)
        if rules is None:
            return other
        known = reliability or (self.model.voters.reliability if self.model.voters is not None else None)
        voters = Voters.of(rules_of(rules), codec, known)
        if unlabelled is not None:
            X = [tokens for tokens in listed_sentences(unlabelled, word_key=self._word_key) if len(tokens)]
            judged = voters.judged(*other._posteriors.unaries(X), [forms_of(tokens) for tokens in X], codec)
            voters = Voters(voters.rules, judged.reliability.updated(known))
        head.voters = voters
        return other

    # -------------------------------------------------------------------------------------------- held-out data

    def calibrate(self, X: Sentences, y: Labels) -> Decoding:
        """Fit temperature and shift to held-out data, so that the probabilities are calibrated.

        ``fit`` does this if it has ``dev``.

        Sentences with labels that the model does not have are left out. The result is the decoding of the model with
        the new temperature and shift.
        """
        from postil.models.decoding.tuning import LabelledLattices, calibrated

        data = LabelledLattices.of(self._posteriors, *checked_for_scores(X, y, self._word_key))
        self.model.decoding = calibrated(self.decoding, data)
        return self.decoding

    def tune(
        self,
        X: Sentences,
        y: Labels,
        *,
        recall: float | None = None,
        precision: float | None = None,
        f1: bool = False,
        margin: float = 1.0,
    ) -> "Tuned":
        """Reach a recall (or precision) by giving up as little as possible of the other.

        Recall is raised by a bias, which finds more entities; precision by a threshold for all classes, which drops the
        least probable ones. If the tagger reaches the figure already, nothing changes.

        Parameters
        ----------
        X, y : sequences
            Sentences held out from training.
        recall, precision : float, optional
            The figure to reach, 0 to 1: one of the two, or ``f1``.
        f1 : bool, default=False
            Choose the smallest bias whose F1 is at most ``margin`` below the best, as ``fit`` does with ``dev``.
        margin : float, default=1
            Standard errors by which the figure must be exceeded on these data.

        The result has the chosen setting with its expected precision and recall, the curve, and ``is_met`` if nothing
        changed.
        """
        from postil.models.decoding.tuning import Dial, best_f1, checked_wish, tuned

        figure, wanted = checked_wish(recall, precision, margin, f1=f1)
        dial = Dial.of(self._posteriors, *checked_for_scores(X, y, self._word_key))
        if wanted is None:
            result = best_f1(dial.counts, margin)
        else:
            hint = partial(dial.hint, figure, wanted, margin)
            result = tuned(dial.counts, dial.present(self.decoding), figure, wanted, margin, hint)
        if not result.is_met:
            self.decoding = dial.decoding(result.chosen.bias, result.chosen.threshold, self.decoding)
        return result

    # -------------------------------------------------------------------------------------------- redaction

    def promise(
        self,
        X: Sentences,
        y: Labels,
        *,
        classes: Sequence[str],
        miss: float = 0.01,
        confidence: float = 0.95,
        groups: Sequence[int] | None = None,
    ) -> "Promise":
        """Choose how ``redact`` hides names, so that it misses at most a share of them.

        The promise holds for text like X. It rests on an exact binomial bound and is stored in the model file; only
        ``redact`` depends on it.

        Parameters
        ----------
        X, y : sequences
            Sentences held out from training.
        classes : sequence of str
            The classes of names to hide.
        miss : float, default=0.01
            Share of names that may be missed.
        confidence : float, default=0.95
            Probability with which the promise holds.
        groups : sequence of int, optional
            The document of each sentence: names of one are not independent. Without it, or with fewer than five
            documents, neighbouring sentences stand for documents.

        Too few names are a DataError.
        """
        from postil.models.decoding.redaction import promised

        X, y = checked_for_scores(X, y, self._word_key)
        promise = promised(self.model, X, y, classes, miss, confidence, groups)
        self.decoding = replace(self.decoding, promise=promise)
        return promise

    def redact(self, text: str, *, check: bool = True) -> "Redacted":
        """Hide the names of the promised classes in a text.

        The result has the text with placeholders or pseudonyms, the probability that no name is left, and what to look
        at first. With ``check``, a text unlike the data of the promise is a DataError.
        """
        return self.redact_many([text], check=check)[0]

    def redact_many(self, texts: Iterable[str], *, check: bool = True) -> "list[Redacted]":
        """``redact`` for each of many texts, which are compared with the data of the promise together."""
        from postil.models.decoding.redaction import redacted

        listed = listed_texts(texts)
        return redacted(self.model, [(text, sentences_of(text, self.model.segmenter)) for text in listed], check=check)


# ---------------------------------------------------------------------------------------- Several fitted taggers as one


def Ensemble(taggers: Sequence[Tagger]) -> Tagger:
    """One tagger from several that were trained with the same settings on the same data, with different seeds.

    Their scores are averaged before forward-backward, so the result is a tagger like any other: it has exact
    probabilities and one file. It costs as much to tag with as all its members together. Calibrate it on held-out data
    (``calibrate``): the temperatures of the members are not those of their mean.

    ``Tagger(ensemble=3).fit(X, y)`` and ``postil train --set ensemble=3`` train the members side by side.
    """
    if len(taggers) < 2:
        raise ConfigurationError("members of an ensemble", expected="at least 2 fitted taggers", got=len(taggers))
    models = [tagger.model for tagger in taggers]
    first, segmenter, config = models[0], models[0].segmenter, replace(models[0].config, ensemble=1)
    ours, vectors = first.features.arrays(), first.network.vectors
    for other in models[1:]:
        theirs = other.features.arrays()
        same = ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
        tables = [() if one is None else one for one in (vectors, other.network.vectors)]
        conditions = [
            (config == replace(other.config, ensemble=1), "the same settings", "different ones"),
            (first.codec.as_json() == other.codec.as_json(), "the same labels", "different ones"),
            (segmenter == other.segmenter, f"the segmentation {segmenter}", str(other.segmenter)),
            (same and np.array_equal(tables[0], tables[1]), "the same words and features", "different training data"),
        ]
        for is_met, expected, got in conditions:
            if not is_met:
                raise ConfigurationError("members of an ensemble", expected=expected, got=got)
    members = [copy(member) for one in models for member in members_of(one.network)]
    config = replace(config, ensemble=len(members))
    for member in members:  # copies that share the parameters: the taggers stay as they are
        member.config, member.vectors = config, members[0].vectors
    ensemble = Tagger(**{**taggers[0].get_params(), "ensemble": len(members)})
    network = EnsembleNetwork(members)
    ensemble._model = FittedModel(
        config=config,
        features=first.features,
        network=network,
        heads={MAIN: Head(codec=first.codec, network=network, voters=first.voters)},
        about={**first.about, "seeds": [one.about.get("seed") for one in models]},
        segmentation=first.segmentation,
    )
    return ensemble
