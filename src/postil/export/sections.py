"""A fitted tagger as the arrays of an exported one: those of the engine, labels, rules of the tokeniser.

Scores of steps are divided by the temperature here, once.
"""

import json
from typing import Any

import numpy as np

import postil
from postil.arrays import Array
from postil.export.flat_file import strings
from postil.kernels.characters import frozen
from postil.kernels.plain_sentences import Kind
from postil.kernels.programs import Program
from postil.models.answers.posteriors import Posteriors
from postil.models.engine import Sections, engine_sections, integers, refused
from postil.models.parts import Parts, heads_of
from postil.models.sentences import takes_characters
from postil.text.splitting import sentence_rules, token_rules
from postil.text.splitting.sentence_rules import sentence_patterns
from postil.text.splitting.token_rules import token_patterns

TAGGER, TREE = 0, 1
"""The numbers of the kinds of models."""
_HALVED = ("table", "vectors")
_TOLD = ("licence", "license", "language")


def tagger_sections(parts: Parts[Any, Any], half: bool = False) -> Sections:
    """The sections of a tagger, with one task or several. With ``half`` the tables of words have half precision."""
    heads = heads_of(parts)
    if takes_characters(parts):
        raise refused("a model whose tokens are characters")
    if parts.features.columns:
        raise refused("a model that needs extra columns beside each token")
    if parts.features.gazetteer is not None:
        raise refused("a model with gazetteers of whole names (lists of names as features of words are supported)")
    if parts.features.named is not None:
        raise refused("a model of feature dicts")
    if not parts.config.constrained and any(head.labelling.has_spans for head in heads.values()):
        raise refused("a model with constrained=False, whose label sequences may be invalid")
    sections = {
        "kind": integers(TAGGER),
        "about": about(parts, "tagger"),
        **text_sections(),
        **engine_sections(parts.features, {task: head.network for task, head in heads.items()}),
    }
    for number, (task, head) in enumerate(heads.items()):
        maps = int(sections[f"head{number}/numbers"][3])
        sections |= {f"head{number}/{name}": array for name, array in label_sections(task, head, maps).items()}
    return _halved(sections) if half else sections


def _halved(sections: Sections) -> Sections:
    """The same with half precision in the tables of words and vectors."""
    return {name: array.astype(np.float16) if _is_table(name) else array for name, array in sections.items()}


def _is_table(name: str) -> bool:
    return name.rpartition("/")[2].rstrip("0123456789") in _HALVED


def about(parts: Parts[Any, Any], kind: str) -> Array:
    """JSON that says what the model is."""
    content: dict[str, Any] = {"postil": postil.__version__, "kind": kind, "unicode": frozen().version_name}
    content |= {name: parts.about[name] for name in _TOLD if name in parts.about}
    return strings([json.dumps(content)])


# ------------------------------------------------------------------------------------------------ text


def text_sections() -> Sections:
    """The programs of the default tokeniser and sentence splitter."""
    tokens = token_patterns(token_rules.DEFAULT).program
    sentences = sentence_patterns(sentence_rules.DEFAULT)
    assert tokens is not None and sentences.program is not None, "the default rules"
    words = sorted((word.encode("utf-8", "surrogatepass"), kind) for word, kind in sentences.words.items())
    final_bytes = np.zeros(256, np.uint8)
    final_bytes[[word[-1] for word, kind in words if kind & Kind.FINAL]] = 1
    return {
        **_program("tokens", tokens, tokens.widths[1][1]),
        **_program("sentences", sentences.program),
        "sentences/line_bytes": sentences.program.first_bytes(0),
        "sentences/final_bytes": final_bytes,
        "sentences/words": np.frombuffer(b"".join(word for word, _ in words), np.uint8),
        "sentences/kinds": np.array([kind for _, kind in words], np.uint8),
        "sentences/ends": np.cumsum([0, *(len(word) for word, _ in words)]).astype(np.int64),
    }


def _program(name: str, program: Program, *numbers: int) -> Sections:
    """A program; its numbers are those of its classes, its entries, and what else is given."""
    classes = int(program.pages.max()) + 1
    return {
        f"{name}/numbers": integers(classes, *program.entries, *numbers),
        f"{name}/code": program.code,
        f"{name}/sets": program.sets,
        f"{name}/index": program.index,
        f"{name}/pages": program.pages,
    }


# ------------------------------------------------------------------------------------------------ labels


def label_sections(task: str, head: Parts[Any, Any], maps: int) -> Sections:
    """The labels and the chain of one task, and how answers are read from its scores."""
    labelling, decoding = head.labelling, head.decoding
    chain, question = Posteriors(head).question()
    assert question.alike is not None, "asked for"
    L, C = len(labelling.labels), len(labelling.classes) if labelling.has_spans else 0
    sections: Sections = {
        "name": strings([task]),
        "numbers": integers(L, C, question.outside, maps, labelling.scheme == "iob1"),
        "reals": np.array([decoding.temperature, decoding.shift], np.float64),
        "labels": strings(labelling.spellings),
        "classes": strings(list(labelling.classes) if C else []),
        "transitions": chain.transitions,
        "start": chain.start,
        "end": chain.end,
        "alike": question.alike,
    }
    optional = {
        "bonus": (question.bonus, np.float64),
        "class_of": (question.classes, np.int64),
        "begins": (question.begins, np.uint8),
        "after": (question.after, np.uint8),
        "lowest": (question.lowest, np.float64),
    }
    sections |= {name: np.asarray(array, kind) for name, (array, kind) in optional.items() if array is not None}
    return sections
