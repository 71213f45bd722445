"""A fitted model as the arrays of an exported one: word tables, network, labels, rules of the tokeniser.

Everything that is computed once is computed here: the first layer is taken apart by position, matrices are transposed
as the kernels want them, scores of steps are divided by the temperature.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import postil
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.export.flat_file import integers, strings
from postil.features.vectors import digit_mark
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatures
from postil.kernels import ACTIVATIONS as FUSED
from postil.kernels.characters import frozen
from postil.kernels.matcher import Program
from postil.kernels.orthography import shapes_of_categories
from postil.kernels.plain_sentences import Kind
from postil.kernels.plain_words import KINDS
from postil.models.answers.posteriors import Posteriors
from postil.models.parts import Parts, heads_of
from postil.models.scoring.ensemble_network import members_of
from postil.models.scoring.fast import split_network
from postil.models.scoring.pieces import reach
from postil.models.sentences import takes_characters
from postil.network import Activation, Chain, Dropout, LayerNorm, Linear, Residual, Window
from postil.network.characters import CharacterConvolution
from postil.network.normalisation import EPSILON
from postil.network.precomputed import WindowMap
from postil.text.splitting import sentence_rules, token_rules
from postil.text.splitting.sentence_rules import sentence_patterns
from postil.text.splitting.token_rules import token_patterns

Sections = dict[str, Array]
TAGGER, TREE = 0, 1
"""The numbers of the kinds of models."""
ACTIVATION_NAMES = (*FUSED, "tanh", "sigmoid", "softsign", "leaky-relu")
"""The activations of the runtime; the kernels' own come first, under their own numbers."""
LINEAR, ACTIVATE, NORMALISE, RESIDUAL = range(4)
"""The layers of the runtime after the first one."""
_HALVED = ("table", "vectors")
_TOLD = ("licence", "license", "language")


def tagger_sections(parts: Parts[Any, Any], half: bool = False) -> Sections:
    """The sections of a tagger, with one task or several. With ``half`` the tables of words have half precision."""
    check_supported(parts)
    sections = {
        "kind": integers(TAGGER),
        "about": about(parts, "tagger"),
        **text_sections(),
        **word_sections(parts.features.words),
        **network_sections(parts),
    }
    heads = heads_of(parts)
    sections["heads"] = integers(len(heads))
    for number, (task, head) in enumerate(heads.items()):
        sections |= {f"head{number}/{name}": array for name, array in head_sections(task, head).items()}
    return _halved(sections) if half else sections


def _halved(sections: Sections) -> Sections:
    """The same with half precision in the tables of words and vectors."""
    return {name: array.astype(np.float16) if _is_table(name) else array for name, array in sections.items()}


def _is_table(name: str) -> bool:
    return name.rpartition("/")[2].rstrip("0123456789") in _HALVED


def refused(what: str) -> ConfigurationError:
    return ConfigurationError("export", expected="a model that the exported runtime supports", got=what)


def check_supported(parts: Parts[Any, Any]) -> None:
    """Refuse what the runtime does not compute, in one line that says what it is."""
    config, features = parts.config, parts.features
    if takes_characters(parts):
        raise refused("a model whose tokens are characters")
    if features.columns:
        raise refused("a model that needs extra columns beside each token")
    if features.gazetteer is not None:
        raise refused("a model with gazetteers of whole names (lists of names as features of words are supported)")
    if features.named is not None:
        raise refused("a model of feature dicts")
    if not config.constrained and any(head.labelling.has_spans for head in heads_of(parts).values()):
        raise refused("a model with constrained=False, whose label sequences may be invalid")
    if reach(config) is None:
        raise refused("the encoder 'sentence'")


def about(parts: Parts[Any, Any], kind: str) -> Array:
    """JSON that says what the model is."""
    content: dict[str, Any] = {"postil": postil.__version__, "kind": kind, "unicode": frozen().version_name}
    content |= {name: parts.about[name] for name in _TOLD if name in parts.about}
    return strings([json.dumps(content)])


# ------------------------------------------------------------------------------------------------ text


def text_sections() -> Sections:
    """What is known of characters, and the programs of the default tokeniser and sentence splitter."""
    tokens = token_patterns(token_rules.DEFAULT).program
    sentences = sentence_patterns(sentence_rules.DEFAULT)
    assert tokens is not None, "the default rules"
    words = sorted((word.encode("utf-8", "surrogatepass"), kind) for word, kind in sentences.words.items())
    final_bytes = np.zeros(256, np.uint8)
    final_bytes[[word[-1] for word, kind in words if kind & Kind.FINAL]] = 1
    return {
        **character_sections(),
        **_program("tokens", tokens, tokens.widths[1][1]),
        **_program("sentences", sentences.program),
        "sentences/line_bytes": sentences.program.first_bytes(0),
        "sentences/final_bytes": final_bytes,
        "sentences/words": np.frombuffer(b"".join(word for word, _ in words), np.uint8),
        "sentences/kinds": np.array([kind for _, kind in words], np.uint8),
        "sentences/ends": np.cumsum([0, *(len(word) for word, _ in words)]).astype(np.int64),
    }


def character_sections() -> Sections:
    """Case, category, digits and whitespace of all characters."""
    known = frozen()
    return {f"characters/{name}": getattr(known, name) for name in ("records", "index", "pages", "spaces")}


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


# ------------------------------------------------------------------------------------------------ words


def word_sections(words: WordFeatures) -> Sections:
    """Columns of features with their vocabularies, lexicons, and the alphabet."""
    vocabularies: list[Vocabulary] = []

    def number(vocabulary: Vocabulary) -> int:
        places = [place for place, other in enumerate(vocabularies) if other is vocabulary]
        if not places:
            vocabularies.append(vocabulary)
        return places[0] if places else len(vocabularies) - 1

    names = {id(vocabulary.table): vocabulary for vocabulary in words.vocabularies.values()}
    columns = [
        (KINDS.index(kind), length, -1 if table is None else number(names[id(table)]))
        for kind, length, table in words.rules.columns
    ]
    mark = words.rules.digit_mark
    sections: Sections = {
        "words/columns": np.array(columns, np.int64).reshape(-1, 3),
        "words/mark": integers(-1 if mark is None else ord(mark)),
        "words/shapes": shapes_of_categories(),
    }
    lexicons = []
    for i, lexicon in enumerate(words.lexicons.values()):
        of_lexicon = digit_mark(lexicon.words)
        lexicons.append((number(lexicon.words), -1 if of_lexicon is None else ord(of_lexicon)))
        sections[f"lexicon{i}/codes"] = lexicon.codes
    sections["lexicons"] = np.array(lexicons, np.int64).reshape(-1, 2)
    if words.alphabet is not None:
        sections["alphabet/codes"] = words.alphabet.codes.astype(np.int32)
        sections["alphabet/ids"] = words.alphabet.ids.astype(np.int32)
    sections["vocabularies"] = integers(len(vocabularies))
    for i, vocabulary in enumerate(vocabularies):
        if vocabulary.table.key is not None:
            raise refused("a vocabulary whose words were chosen to collide")
        arrays = vocabulary.arrays()
        sections |= {f"vocabulary{i}/{name}": arrays[name] for name in ("text", "offsets", "slots")}
    return sections


# ------------------------------------------------------------------------------------------------ network


def network_sections(parts: Parts[Any, Any]) -> Sections:
    """Tables, the first layer by position, and the layers after it, of every member."""
    first_head = next(iter(heads_of(parts).values()))
    members = members_of(first_head.network)
    splits = [split_network(member) for member in members]
    if any(split is None for split in splits) or members[0].dtype != np.float32:
        raise refused("a network that does not begin with a window of words")
    split = splits[0]
    assert split is not None
    if len(heads_of(parts)) > 1 and not split.outputs:
        raise refused("several tasks without a hidden layer")
    K, H = split.first.b.shape
    activation, layers = _fused(list(split.layers))
    steps = _steps(layers)
    around = reach(parts.config)
    sections: Sections = {
        "network": integers(
            len(members), K, H, activation, split.shares is not None, len(steps), around, len(_form_tables(members[0]))
        ),
        "steps": np.array([(kind, function) for kind, function, _ in steps], np.int64).reshape(-1, 2),
    }
    if members[0].vectors is not None:
        sections["vectors"] = np.asarray(members[0].vectors, np.float32)
    for m, (member, one) in enumerate(zip(members, splits, strict=True)):
        assert one is not None
        _, of_member = _fused(list(one.layers))
        for name, array in _member_sections(member, one.first, of_member).items():
            sections[f"member{m}/{name}"] = array
    return sections


def _fused(layers: list[Any]) -> tuple[int, list[Any]]:
    """The activation of the first layer, and the layers after that."""
    layers = [layer for layer in layers if not isinstance(layer, Dropout)]
    if layers and isinstance(layers[0], Activation) and layers[0].function in FUSED:
        return FUSED.index(layers[0].function), layers[1:]
    return FUSED.index("identity"), layers


def _form_tables(member: Any) -> list[Array]:
    """The table (V, D) of each learnt feature of words."""
    tables = member.form_tables
    if tables is None:
        return []
    parameter_of = [i for i, group in enumerate(tables.groups) for _ in group]
    return [
        tables.tables[parameter_of[f]].value[tables.starts[f] : tables.starts[f] + V]
        for f, (V, _) in enumerate(tables.sizes)
    ]


def _member_sections(member: Any, first: WindowMap, layers: list[Any]) -> Sections:
    sections = {f"table{f}": table for f, table in enumerate(_form_tables(member))}
    if member.characters is not None:
        sections |= _filter_sections(member.characters)
    sections |= {
        "first/W": first.W.reshape(first.width, -1).T,
        "first/b": first.b.reshape(-1),
        "first/padding": first.padding.reshape(-1),
    }
    for s, (_, _, arrays) in enumerate(_steps(layers)):
        sections |= {f"step{s}/{name}": array for name, array in arrays.items()}
    return sections


def _filter_sections(layer: CharacterConvolution) -> Sections:
    """What each character adds to the filters at each position; row 0 is that of places beyond the word."""
    W, D, size = layer.linear.W.value, layer.table.value.shape[1], layer.window.size
    by_position = W.reshape(len(W), size, D).transpose(1, 0, 2).reshape(size * len(W), D)
    vectors = np.concatenate([layer.window.padding.value[None], layer.table.value])
    return {"characters/rows": vectors @ by_position.T, "characters/b": layer.linear.bias()}


def _steps(layers: Sequence[Any]) -> list[tuple[int, int, Mapping[str, Array]]]:
    """Layers after the first as the runtime knows them: kind, activation, arrays."""
    steps: list[tuple[int, int, Mapping[str, Array]]] = []
    layers = [layer for layer in layers if not isinstance(layer, Dropout)]
    while layers:
        first, *rest = layers
        identity = ACTIVATION_NAMES.index("identity")
        match first:
            case Linear():
                steps.append((LINEAR, identity, linear_arrays(first)))
            case Activation(function=function):
                steps.append((ACTIVATE, ACTIVATION_NAMES.index(function), {}))
            case LayerNorm():
                steps.append((NORMALISE, identity, _norm_arrays(first)))
            case Residual(layer=Chain(layers=inner)):
                steps.append(_residual(inner))
            case _:
                raise refused(f"a layer {type(first).__name__}")
        layers = rest
    return steps


def _residual(inner: Sequence[Any]) -> tuple[int, int, Mapping[str, Array]]:
    match [layer for layer in inner if not isinstance(layer, Dropout)]:
        case [LayerNorm() as norm, Window() as window, Linear() as linear, Activation(function=function)]:
            arrays = {**_norm_arrays(norm), "padding": window.padding.value, **linear_arrays(linear)}
            return RESIDUAL, ACTIVATION_NAMES.index(function), arrays
    raise refused("a residual layer of another kind")


def linear_arrays(linear: Linear) -> Sections:
    W = linear.W.value
    return {"W": W.T, "b": np.zeros(len(W), W.dtype) if linear.b is None else linear.b.value}


def _norm_arrays(norm: LayerNorm) -> Sections:
    assert EPSILON == 1e-5, "the runtime has the same number"
    return {"gain": norm.gain.value, "bias": norm.bias.value}


# ------------------------------------------------------------------------------------------------ labels


def head_sections(task: str, head: Parts[Any, Any]) -> Sections:
    """The output maps of one task, its labels and chain, and how answers are read from them."""
    labelling, decoding = head.labelling, head.decoding
    chain, question = Posteriors(head).question()
    assert question.alike is not None, "asked for"
    L, C = len(labelling.labels), len(labelling.classes) if labelling.has_spans else 0
    members = members_of(head.network)
    split = split_network(members[0])
    assert split is not None
    sections: Sections = {
        "name": strings([task]),
        "numbers": integers(L, C, question.outside, len(split.outputs), labelling.scheme == "iob1"),
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
    for m, member in enumerate(members):
        one = split_network(member)
        for i, output in enumerate(one.outputs if one is not None else ()):
            sections |= {f"member{m}/map{i}/{name}": array for name, array in linear_arrays(output).items()}
    return sections
