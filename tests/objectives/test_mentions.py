"""Mentions of which at least one occurrence is an entity, against enumeration of all labellings."""

import itertools

import numpy as np
import pytest

from postil.arrays import offsets_from_lengths
from postil.errors import ConfigurationError
from postil.objectives import ChainScores, EntityLabels, Lattice, Mention, given_mentions
from postil.objectives.crf import expected_counts
from postil.text.labels.schemes import spans_from_labels, transition_mask

SCHEMES = {"bio": ["O", "B-X", "I-X", "B-Y", "I-Y"], "iobes": ["O", "B-X", "I-X", "E-X", "S-X"]}
ENTITIES = {
    "bio": [EntityLabels.bio(5, begin=1, inside=2), EntityLabels.bio(5, begin=3, inside=4)],
    "iobes": [EntityLabels.iobes(5, begin=1, inside=2, end=3, single=4)],
}


def random_lattice(scheme, lengths, rng):
    mask = transition_mask(SCHEMES[scheme], scheme)
    tables = {"transitions": rng.normal(size=(5, 5)), "start": rng.normal(size=5), "end": rng.normal(size=5)}
    masks = {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}
    chain = ChainScores.under_mask(5, **tables, **masks)
    return Lattice.over(rng.normal(size=(sum(lengths), 5)), offsets_from_lengths(lengths), chain)


def enumerated(lattice, mentions, scheme):
    """Log of the expected weight, and expected labels and steps of each sentence, by going through all labellings."""
    chain, labels = lattice.chain, SCHEMES[scheme]
    of_sentences = []
    for first, end in itertools.pairwise(lattice.offsets):
        unary, paths = lattice.unary[first:end], []
        for path in itertools.product(range(5), repeat=len(unary)):
            score = chain.start[path[0]] + chain.end[path[-1]] + sum(unary[t, y] for t, y in enumerate(path))
            score += sum(chain.transitions[i, j] for i, j in itertools.pairwise(path))
            if np.isfinite(score):
                spans = {
                    (s.start, s.end, "XY".index(s.label)) for s in spans_from_labels([labels[y] for y in path], scheme)
                }
                paths.append((np.exp(score), path, spans))
        of_sentences.append(paths)
    total = weighted = 0.0
    counts = [np.zeros((len(paths[0][1]), 5)) for paths in of_sentences]
    steps = [np.zeros((5, 5)) for _ in of_sentences]
    for chosen in itertools.product(*of_sentences):
        weight = np.prod([path[0] for path in chosen])
        total += weight
        for mention in mentions:
            is_there = any((start, end, mention.kind) in chosen[s][2] for s, start, end in mention.spans)
            weight *= 1.0 if is_there else mention.doubt
        weighted += weight
        for (_, path, _), of_tokens, of_steps in zip(chosen, counts, steps, strict=True):
            of_tokens[np.arange(len(path)), path] += weight
            for i, j in itertools.pairwise(path):
                of_steps[i, j] += weight
    return np.log(weighted / total), [c / weighted for c in counts], [s / weighted for s in steps]


CASES = {
    "one word, one sentence": [Mention([(0, 0, 1), (0, 2, 3)], 0)],
    "two words": [Mention([(0, 0, 2), (1, 1, 3)], 0)],
    "doubt": [Mention([(0, 0, 2), (1, 0, 1)], 0, 0.25)],
    "more probable without": [Mention([(0, 0, 1)], 0, 2.0)],
    "two that share a sentence": [Mention([(0, 0, 1), (1, 0, 1)], 0), Mention([(1, 1, 3), (1, 0, 1)], 0, 0.1)],
    "two apart": [Mention([(0, 1, 2)], 0, 0.3), Mention([(1, 1, 2)], 0, 0.4)],
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("case", CASES)
def test_weight_and_counts_are_those_of_enumeration(case, scheme):
    mentions = CASES[case]
    if scheme == "bio":  # the last one is of another class
        mentions = [*mentions[:-1], mentions[-1]._replace(kind=1)]
    lattice = random_lattice(scheme, [3, 3], np.random.default_rng(5))
    total, changes = given_mentions(lattice, mentions, ENTITIES[scheme])
    log_weight, counts, steps = enumerated(lattice, mentions, scheme)
    assert total == pytest.approx(log_weight)
    for sentence, (of_tokens, of_steps) in enumerate(zip(counts, steps, strict=True)):
        before = expected_counts(lattice.selected(np.array([sentence]))[0])
        unary, transitions = changes.get(sentence, (0.0, 0.0))
        assert before.unary + unary == pytest.approx(of_tokens)
        assert before.transitions + transitions == pytest.approx(of_steps)


def test_each_of_many_mentions_in_one_sentence_becomes_more_probable():
    """More than are expanded together: no longer exact, but every token has a distribution over its labels."""
    lattice = random_lattice("iobes", [12], np.random.default_rng(6))
    mentions = [Mention([(0, t, t + 1), (0, t + 1, t + 2)], 0, 0.01) for t in range(0, 12, 2)]
    total, changes = given_mentions(lattice, mentions, ENTITIES["iobes"])
    before = expected_counts(lattice).unary
    after = before + changes[0].unary
    assert total < 0 and after.sum(axis=1) == pytest.approx(1) and (after > -1e-12).all()
    for t in range(0, 12, 2):
        assert after[t : t + 2, 4].sum() > before[t : t + 2, 4].sum()


def test_an_impossible_mention_is_one_clear_error():
    lattice = random_lattice("iobes", [3], np.random.default_rng(7)).restricted(np.tile([True] * 4 + [False], (3, 1)))
    with pytest.raises(ConfigurationError, match="at least one occurrence that the labels allow"):
        given_mentions(lattice, [Mention([(0, 0, 1)], 0)], ENTITIES["iobes"])
    total, changes = given_mentions(lattice, [Mention([(0, 0, 1)], 0, 0.5)], ENTITIES["iobes"])
    assert total == pytest.approx(np.log(0.5)) and changes[0].unary == pytest.approx(0, abs=1e-12)


def test_a_mention_that_must_be_there_changes_nothing():
    lattice = random_lattice("iobes", [3], np.random.default_rng(8))
    only = np.ones((3, 5), bool)
    only[1] = [False] * 4 + [True]
    total, changes = given_mentions(lattice.restricted(only), [Mention([(0, 1, 2)], 0)], ENTITIES["iobes"])
    assert total == pytest.approx(0) and changes[0].unary == pytest.approx(0, abs=1e-12)
