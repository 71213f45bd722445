"""One flat file of arrays: what the C runtime opens, in place and without a parser.

    header     8 bytes   magic "POSTILX\\0"
               4         version of the format, uint32
               4         number of sections, uint32
               8         size of the whole file in bytes, uint64
               4         CRC-32 of everything after the header, uint32
               36        zeros
    directory  a row of 96 bytes per section: name (48, padded with zeros), type (uint32), dimensions (uint32),
               shape (3 x uint64; unused dimensions are 1), offset and size in bytes (uint64 each)
    sections   arrays in C order, little-endian, each on a multiple of 64 bytes, in the order of the directory

``tagger_sections`` and ``tree_sections`` say which sections a model has; ``kernels/engine/model.c`` reads them.
"""

import copy
import json
import shutil
import struct
import tempfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, final

import numpy as np

import postil
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.export.votes import vote_sections
from postil.features.vectors import CodedVectors
from postil.files import naming
from postil.kernels.characters import CATEGORIES, frozen
from postil.kernels.checking import SECTION_TYPES
from postil.kernels.plain_segmentation import Program, program_of
from postil.models.decoding.posteriors import Posteriors
from postil.models.engine import (
    ACTIVATION_NAMES,
    Sections,
    character_sections,
    engine_sections,
    integers,
    linear_arrays,
    refused,
    vector_sections,
    word_sections,
)
from postil.models.model import FittedModel
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.networks.network import members_of
from postil.models.segmentation import ADDRESS, LearnedCuts
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier
from postil.network.tree import AffineComposition, SumComposition, TensorComposition, TreeLSTM
from postil.reports.card import card_of
from postil.samples.corpora import made_up_sentences
from postil.text import Segmenter
from postil.text.splitting.rules import sentence_patterns, token_patterns

MAGIC = b"POSTILX\0"
VERSION = 1
ALIGNMENT = 64
_HEADER = struct.Struct("<8sIIQI36x")
_ROW = struct.Struct("<48sII3QQQ")
_MOST_DIMENSIONS = 3


def written(sections: Mapping[str, Array]) -> bytes:
    """The file that holds these arrays."""
    rows, body = [], bytearray()
    first = _HEADER.size + _ROW.size * len(sections)
    for name, array in sections.items():
        if len(name) >= 48 or array.dtype.name not in SECTION_TYPES or not 1 <= array.ndim <= _MOST_DIMENSIONS:
            expected = "a short name and an array of 1 to 3 dimensions"
            raise ConfigurationError(f"section {name!r}", expected=expected, got=str(array.dtype))
        body += bytes(-(first + len(body)) % ALIGNMENT)
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        shape = [*array.shape, *[1] * (_MOST_DIMENSIONS - array.ndim)]
        place = first + len(body)
        kind = SECTION_TYPES[array.dtype.name]
        rows.append(_ROW.pack(name.encode("ascii"), kind, array.ndim, *shape, place, len(content)))
        body += content
    after = b"".join(rows) + body
    return _HEADER.pack(MAGIC, VERSION, len(rows), _HEADER.size + len(after), zlib.crc32(after)) + after


def strings(values: list[str]) -> Array:
    """Strings as one array of bytes, each with a zero after it, as C wants them."""
    return np.frombuffer(b"".join(value.encode("utf-8", "surrogatepass") + b"\0" for value in values), np.uint8)


# ------------------------------------------------------------------------------------------------ sections of a tagger


TAGGER, TREE = 0, 1  # the numbers of the kinds of models
_HALVED = ("table", "vectors")
_SHARED = ("characters", "tokens", "sentences")  # sections that a tagger inside a model takes from it, or does not need
_TOLD = ("licence", "license", "language")


def tagger_sections(parts: FittedModel, half: bool = False) -> Sections:
    """The sections of a tagger, with one task or several. With ``half`` the tables of words have half precision."""
    heads = parts.by_task()
    if parts.features.columns:
        raise refused("a model that needs extra columns for each token")
    if parts.features.gazetteer is not None:
        raise refused("a model with gazetteers of whole names (lists of names as features of words are supported)")
    if parts.features.named is not None:
        raise refused("a model of feature dicts")
    if not parts.config.constrained and any(head.codec.has_spans for head in heads.values()):
        raise refused("a model with constrained=False, whose label sequences may be invalid")
    sections = {
        "kind": integers(TAGGER),
        "about": about(parts, "tagger"),
        **cut_sections(parts.segmenter),
        **engine_sections(parts.features, {task: head.network for task, head in heads.items()}),
    }
    for number, (task, head) in enumerate(heads.items()):
        maps = int(sections[f"head{number}/numbers"][3])
        of_head = {**label_sections(task, head, maps), **vote_sections(head)}
        sections |= {f"head{number}/{name}": array for name, array in of_head.items()}
    if half:
        tables = [name for name in sections if name.rpartition("/")[2].rstrip("0123456789") in _HALVED]
        sections |= {name: sections[name].astype(np.float16) for name in tables}
    return sections


def whole_tokens(estimator: Any) -> Any:
    """The estimator without its table of multiword tokens, which exports do not have: ``du`` is one word there."""
    learned = getattr(getattr(estimator.model, "segmentation", None), "learned", None)
    if not isinstance(learned, LearnedCuts) or learned.splits is None:
        return estimator
    plain = copy.deepcopy(estimator)
    cuts = LearnedCuts(learned.tagger, learned.reach, learned.settings()["crossed"], ends=learned.ends)
    plain.model.segmentation = Segmenter(learned=cuts)
    return plain


def about(parts: FittedModel, kind: str) -> Array:
    """JSON that says what the model is."""
    content: dict[str, Any] = {"postil": postil.__version__, "kind": kind, "unicode": frozen().version_name}
    content |= {name: parts.about[name] for name in _TOLD if name in parts.about}
    return strings([json.dumps(content)])


# ------------------------------------------------------------------------------------------------ text


BY_RULES, INTO_CHARACTERS, BY_TAGGER = range(3)  # how the runtime cuts raw text


def cut_sections(segmenter: Segmenter) -> Sections:
    """How raw text is cut. A segmenter that was learned is an exported model inside the model."""
    if segmenter.characters:
        return {"cuts": integers(INTO_CHARACTERS)}
    learned = segmenter.learned
    if learned is None:
        return _rule_sections(segmenter)
    assert isinstance(learned, LearnedCuts), "the only kind"
    program = program_of([ADDRESS.pattern], frozen())
    assert program is not None, "make rules has written it"
    sections = {"cuts": integers(BY_TAGGER, learned.reach), **_program("cuts/address", program)}
    for name, tagger in (("tagger", learned.tagger), ("ends", learned.ends)):
        if tagger is not None:
            every = tagger_sections(tagger.model)
            own = {part: array for part, array in every.items() if part.partition("/")[0] not in _SHARED}
            sections[f"cuts/{name}"] = np.frombuffer(written(own), np.uint8)
    if learned.crossed is not None:
        crossed = np.zeros((32, 32), np.uint8)
        for pair in learned.crossed:
            before, after = pair.split()
            crossed[CATEGORIES.index(before), CATEGORIES.index(after)] = 1
        sections["cuts/crossed"] = crossed
    return sections


def _rule_sections(segmenter: Segmenter) -> Sections:
    """The programs of a tokeniser and a sentence splitter."""
    patterns, sentences = token_patterns(segmenter.rules), sentence_patterns(segmenter.sentence_rules)
    tokens = program_of([patterns.token, patterns.depends], patterns.characters)
    if tokens is None or sentences.program is None:
        raise refused(f"a model with the segmentation {segmenter} (the default rules and hyphens='keep' are supported)")
    arrays = {f"sentences/{name}": array for name, array in sentences.arrays(sentences.program).items()}
    numbers = _program("tokens", tokens, tokens.widths[1][1])
    return {**numbers, **_program("sentences", sentences.program), **arrays}


def _program(name: str, program: Program, *numbers: int) -> Sections:
    """A program; its numbers are those of its classes, its entries, and what else is given."""
    classes = int(program.pages.max()) + 1
    arrays = {f"{name}/{array}": getattr(program, array) for array in ("code", "sets", "index", "pages")}
    return {f"{name}/numbers": integers(classes, *program.entries, *numbers), **arrays}


# ------------------------------------------------------------------------------------------------ labels


def label_sections(task: str, head: FittedModel, maps: int) -> Sections:
    """The labels and the chain of one task, and how answers are read from its scores."""
    codec, decoding = head.codec, head.decoding
    chain, question = Posteriors(head).question()
    assert question.alike is not None, "asked for"
    L, C = len(codec.labels), len(codec.classes) if codec.has_spans else 0
    sections: Sections = {
        "name": strings([task]),
        "numbers": integers(L, C, question.outside, maps, codec.scheme == "iob1"),
        "reals": np.array([decoding.temperature, decoding.shift], np.float64),
        "labels": strings(codec.spellings),
        "classes": strings(list(codec.classes) if C else []),
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


# -------------------------------------------------------------------------------- sections of a tree classifier


SUMS, PAIRS, TENSOR, CELLS = range(4)  # how the runtime composes phrases


def tree_sections(parts: FittedModel) -> Sections:
    """The sections of a tree classifier."""
    network, config, labels = parts.network, parts.config, parts.codec
    if network.dtype != np.float32:
        raise refused(f"numbers of the type {network.dtype}")
    how, composition = _composition(network.composition)
    function = ACTIVATION_NAMES.index("tanh" if how == CELLS else network.composition.activation)
    D, H = network.composition.leaf_dim if network.leaf_map is None else network.leaf_map.W.shape[1], config.hidden
    sections: Sections = {
        "kind": integers(TREE),
        "about": about(parts, "tree classifier"),
        **character_sections(),
        **word_sections(parts.features.words),
        "tree": integers(how, D, H, len(labels.labels), function, config.binarise == "right"),
        "tree/labels": strings(labels.labels),
        "tree/at_root": np.array([label in labels.at_roots for label in labels.labels], np.uint8),
        **composition,
    }
    for prefix, layer in (("tree/output", network.output), ("tree/leaves", network.leaf_map)):
        if layer is not None:
            sections |= {f"{prefix}/{name}": array for name, array in linear_arrays(layer).items()}
    if network.table is not None:
        sections["tree/table"] = network.table.table.value
    return sections | vector_sections(network.vectors)


def _composition(layer: Any) -> tuple[int, Sections]:
    """How phrases are composed, and the arrays for that."""
    match layer:
        case SumComposition():
            return SUMS, {"tree/phrases/W": layer.W.value.T, "tree/phrases/b": np.zeros(layer.hidden, np.float32)}
        case AffineComposition() | TensorComposition():
            phrases = {"tree/phrases/W": layer.W.value.T, "tree/phrases/b": layer.b.value}
            if isinstance(layer, AffineComposition):
                return PAIRS, phrases
            by_first = layer.V.value.transpose(0, 2, 1)  # (2 D, 2 D, D): the sums over the last part run in rows
            return TENSOR, {**phrases, "tree/tensor": np.ascontiguousarray(by_first).reshape(len(by_first), -1)}
        case TreeLSTM():
            words = {"tree/words/W": layer.W.value.T, "tree/words/b": layer.b.value}
            return CELLS, {**words, "tree/phrases/W": layer.U.value.T, "tree/phrases/b": layer.d.value}
    raise refused(f"a composition {type(layer).__name__}")


# ------------------------------------------------------------------------------------------------ the file


def exported(model: Any, half: bool = False) -> bytes:
    """The exported model of an estimator. Anything that the runtime does not support is an error.

    With ``half`` the tables of words and vectors have half precision: a smaller file, and probabilities that differ in
    the third digit.
    """
    if isinstance(model, Tagger | MultiTaskTagger):
        return written(tagger_sections(model.model, half))
    if isinstance(model, TreeClassifier):
        if half:
            raise refused("half precision of a tree classifier")
        return written(tree_sections(model.model))
    raise refused(f"a model of the kind {type(model).__name__}")


# ------------------------------------------------------------------------------------------------ half precision


SAMPLED = 300  # sentences for each kind of model on which it is tried if the user names none


@final
@dataclass(frozen=True, kw_only=True)
class Rounding:
    """The effect of half precision on some sentences."""

    tokens: int
    labels: int  # tokens whose label differs, of all tasks
    probability: float  # the largest difference of the probability of a label

    def __str__(self) -> str:
        return (
            f"half precision changes {self.labels} of {self.tokens:,} labels, "
            f"and probabilities by at most {self.probability:.1g}"
        )


def halved(model: Any) -> Any:
    """A copy of a tagger whose tables of words and vectors are rounded to half precision, as they are exported."""
    model = copy.deepcopy(model)
    done: dict[int, tuple[Any, Array]] = {}  # members and tasks share arrays: each is rounded once

    def rounded(array: Any) -> Array:
        """An array in half precision, and that of rows which are still in the model file."""
        if id(array) not in done:
            result = np.asarray(array).astype(np.float16).astype(np.float32)
            result.flags.writeable = False
            done[id(array)] = array, result  # also the first one: nothing else gets its id
            done[id(result)] = result, result
        return done[id(array)][1]

    for head in model.model.heads.values():
        for network in (head.network, *members_of(head.network)):
            if network.vectors is not None and not isinstance(network.vectors, CodedVectors):
                network.vectors = rounded(network.vectors)
        for member in members_of(head.network):
            for parameter in member.form_tables.tables if member.form_tables is not None else ():
                parameter.value = rounded(parameter.value)
    return model


def change(model: Any, other: Any, sentences: Sequence[Sequence[str]]) -> Rounding:
    """Compare the answers of two models."""
    tokens, labels, largest = 0, 0, 0.0
    for one, two in zip(model.by_task().values(), other.by_task().values(), strict=True):
        answers = *one.predict_with_probabilities(sentences), *two.predict_with_probabilities(sentences)
        for y, p, z, q in zip(*answers, strict=True):
            tokens += len(y)
            labels += sum(a != b for a, b in zip(y, z, strict=True))
            largest = max([largest, *(abs(a - b) for a, b, c, d in zip(p, q, y, z, strict=True) if c == d)])
    return Rounding(tokens=tokens, labels=labels, probability=largest)


def sample(model: Any) -> list[list[str]]:
    """Sentences to try a model on: made-up English ones, and words of its vocabulary in any order."""
    rng = np.random.default_rng(0)
    sentences = [list(sentence.tokens) for sentence in made_up_sentences(SAMPLED, rng)]
    vocabularies = model.model.features.words.vocabularies.values()
    words = max(([*vocabulary] for vocabulary in vocabularies), key=len, default=[])
    words = [word for word in words if word]
    if words:
        sentences += [[words[i] for i in rng.integers(len(words), size=15)] for _ in range(SAMPLED)]
    return sentences


# ------------------------------------------------------------------------------------------------ folders


def check_target(path: Path, *marks: str) -> None:
    """Reject a target whose folder does not exist, and with ``marks`` what is not a folder of an earlier export."""
    expected = got = ""
    if not path.absolute().parent.is_dir():
        expected, got = "must be in an existing folder", f"no {path.parent}"
    elif marks and path.is_dir() and any(path.iterdir()) and not all((path / name).is_file() for name in marks):
        expected, got = "must be a new folder or an earlier export", "other files"
    elif marks and path.exists() and not path.is_dir():
        expected, got = "must be a folder", "a file"
    if expected:
        raise ConfigurationError("output", expected=expected, got=got, where=path)


def write_folder(path: Path, contents: Mapping[str, bytes], dropped: Collection[str] | None = None) -> None:
    """Write files next to a folder, then replace it.

    Files of others in the folder go with it; if ``dropped`` is given, they stay, but for those.
    """
    parent = path.absolute().parent
    with naming(path), tempfile.TemporaryDirectory(prefix=f".{path.name}.", suffix=".partial", dir=parent) as beside:
        made = Path(beside) / "made"
        made.mkdir()
        for name, content in contents.items():
            (made / name).write_bytes(content)
        if path.exists():
            for entry in path.iterdir() if dropped is not None else ():
                if entry.name not in contents and entry.name not in (dropped or ()):
                    shutil.move(entry, made / entry.name)
            shutil.move(path, Path(beside) / "earlier")
        made.replace(path)


# ------------------------------------------------------------------------------------------------ licences


FILE = "LICENSES.txt"
ATTRIBUTIONS = "ATTRIBUTIONS.md"  # A file next to a model that its card may refer to: whose data it was made from


def notice() -> str:
    """The licences of Postil and of everything that it contains."""
    return (files("postil.export") / "NOTICE.txt").read_text(encoding="utf8")


def licences(path: Path | None) -> str:
    """The licence of a model file as its card states it, its sources and attributions, then the notice of Postil."""
    card = None if path is None else card_of(path, path.stem)
    licence = None if card is None else card.texts.get("licence")
    lines = ["The model", "", "No model card states a licence. Ask whoever trained the model."]
    if path is not None and card is not None and licence is not None:
        lines = [f"The model: {card.title}", "", f"Licence: {licence}"]
        for table in card.tables:
            if "licence" in table.columns:
                rows = [" | ".join(map(str, row)) for row in (table.columns, *table.rows)]
                lines += ["", table.title, "", *rows]
        attributions = path.with_name(ATTRIBUTIONS)
        if ATTRIBUTIONS in licence and attributions.is_file():
            lines += ["", attributions.read_text(encoding="utf8").strip()]
    return "\n".join([*lines, "", "=" * 100, notice()])
