"""The engine: from words to scores in compiled code, the same that exported models contain (``kernels/engine``).

A fitted network becomes named arrays, which the engine reads in place: tables of word features, the first layer taken
apart by position, the layers after it, the output maps of each head.

    W [x_t-2; …; x_t+2] + b = Σ_k (W_k x_t+k + b_k)

Each term of the first layer depends on one word alone. So a distinct word costs a search for its features and K rows of
H numbers once, and a token costs K additions of such rows (``kernels/windows.c``) and the layers above.

Features of tokens in their sentences, such as extra columns and gazetteers, are computed in Python and added as rows of
their own. The flow graph is the reference. It scores what the engine does not know: the sentence approach, float64, and
everything if nothing was compiled.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.archive import Rows
from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.features.folds import composition
from postil.features.inputs import InputFeatures, Sentences, distinct_numbers, forms_of
from postil.features.vectors import CodedVectors, digit_mark
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatures
from postil.kernels import ACTIVATIONS as FUSED
from postil.kernels.characters import frozen, shapes_of_categories
from postil.kernels.plain_text import SURROGATES, word_cells
from postil.models.config import TaggerConfig
from postil.models.inputs import checked_sentences
from postil.models.networks.encoders import dilations, reach, warn_of_long_sentences
from postil.models.networks.network import EnsembleNetwork, ScoringNetwork, TaggerNetwork, mean_scores, members_of
from postil.network import Activation, Chain, Dropout, LayerNorm, Linear, LookupTables, Residual, Window, WindowAverage
from postil.network.layer import EPSILON
from postil.network.lookup import sums_of_rows
from postil.network.window import LONGEST_VIEW
from postil.text.lines import shortened
from postil.threads import blas_product, one_blas_thread

Sections = dict[str, Array]
ACTIVATION_NAMES = (*FUSED, "tanh", "sigmoid", "softsign", "leaky-relu")
"""The activations of the engine; the kernels' own come first, under their own numbers."""
LINEAR, ACTIVATE, NORMALISE, RESIDUAL = range(4)
"""The layers of the engine after the first one."""
TOKENS_PER_BLOCK = 4096  # scored at once: large enough for matrix products, small enough for the cache
MOST_REACH = 10_000  # words to each side, as in ``kernels/engine/model.c``
WORDS_PER_BLOCK = 8192
"""The same of words in cells. They are scored and then answered, so that their scores stay near the processor."""


def refused(what: str) -> ConfigurationError:
    """The engine, and so an exported model, does not compute this."""
    return ConfigurationError("export", expected="a model that the exported runtime supports", got=what)


def integers(*values: Any) -> Array:
    return np.array(values, np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Words(Sequence[list[str]]):
    """B sentences of N words, which stand in a text. They become strings when they are looked at."""

    text: bytes  # UTF-8
    cells: Array  # (N, 2) first byte and end of each word
    offsets: Array  # (B + 1,) of the sentences among the words

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        first, end = self.offsets[i], self.offsets[i + 1]
        return [str(self.text[low:high], "utf-8", SURROGATES) for low, high in self.cells[first:end].tolist()]


# ----------------------------------------------------------------------------------------------------------- the engine


@final
class Engine:
    """The scores (N, L) of each head for sentences; made from networks that no longer change.

    The heads of a model share all but their output maps. ``chains`` says what the labels of a tagger score besides
    their tokens. Safe for any number of threads; a word's row does not depend on who asked for what before.
    """

    def __init__(self, features: InputFeatures, heads: Mapping[str, ScoringNetwork | EnsembleNetwork]) -> None:
        self.features, self.heads = features, dict(heads)
        networks: list[Any] = list(self.heads.values())
        self.config: TaggerConfig = networks[0].config
        self.chains = {
            task: head.chain() for task, head in self.heads.items() if isinstance(head, TaggerNetwork | EnsembleNetwork)
        }
        self.questions: dict[Any, Any] = {}  # what answers are read with, see `Posteriors`
        self._parameters = [p for network in networks for p in network.parameters().values()]
        self._values = [parameter.value for parameter in self._parameters]  # every array that scores depend on
        self._vectors: Any = networks[0].vectors  # an array, Rows of a file, or CodedVectors
        self._compiled: Any = None  # then the flow graph has to do the work
        if not kernels.IN_USE.startswith("plain"):
            from postil.kernels.compiled_engine import CompiledEngine  # nothing of it is there without a compiler

            is_lent = isinstance(self._vectors, Rows) and self._vectors.dtype == np.float32
            vectors, touched = self._vectors.lent() if is_lent else (None, None)
            self._members = members_of(networks[0])
            with suppress(ConfigurationError):
                sections = engine_sections(self.features, self.heads, vectors)
                self._splits = [split_network(member) for member in self._members]
                self._extra_tables = [_tables(member.extra_tables) for member in self._members]
                self._extra_weights = [_extra_weights(*pair) for pair in zip(self._members, self._splits, strict=True)]
                widths = [members_of(head)[0].outputs[0].W.shape[0] for head in networks]
                self._compiled = CompiledEngine(sections, widths, blas_product(), touched)
        in_sentences = bool(features.columns) or features.gazetteer is not None or features.named is not None
        self.takes_cells = self._compiled is not None and not in_sentences
        """Whether the engine runs and scores depend on nothing but the words, which then need not be strings."""

    def is_current(self, features: InputFeatures, heads: Mapping[str, Any]) -> bool:
        """Whether the networks still are what they were: the same arrays, and none can have been written to."""
        if features is not self.features or len(heads) != len(self.heads):
            return False
        if any(self.heads.get(task) is not network for task, network in heads.items()):
            return False
        for parameter, before in zip(self._parameters, self._values, strict=True):
            if parameter.value is not before or before.flags.writeable:
                return False
        vectors = next(iter(heads.values())).vectors
        return vectors is self._vectors and (vectors is None or not vectors.flags.writeable)

    def scored(
        self, X: Sentences, tasks: Sequence[str], *, in_order: bool = False
    ) -> Iterator[tuple[Sequence[int], dict[str, Array], Array]]:
        """Blocks of sentences: their places in X, the scores (N, L) by task, their offsets.

        The sentences of a block have similar lengths, as recursions in NumPy need them, or come ``in_order``, as
        `Words` do if the engine takes cells.
        """
        if isinstance(X, Words) and self.takes_cells:
            first, B = 0, len(X)
            if len(X.cells) > LONGEST_VIEW:
                warn_of_long_sentences(self.config, np.diff(X.offsets).tolist())
            elif B and (whole := self._of_cells(X.text, X.cells, X.offsets, tasks)) is not None:  # soon done
                yield range(B), whole, X.offsets
                return
            with one_blas_thread():
                while first < B:
                    reached = int(np.searchsorted(X.offsets, X.offsets[first] + WORDS_PER_BLOCK, side="right")) - 1
                    end = max(reached, first + 1)
                    low, high = int(X.offsets[first]), int(X.offsets[end])
                    offsets = X.offsets[first : end + 1] - low
                    scores = self._of_cells(X.text, X.cells[low:high], offsets, tasks)
                    if scores is None:
                        scores = self._by_graph([X[i] for i in range(first, end)], tasks)
                    yield range(first, end), scores, offsets
                    first = end
            return
        for i, tokens in enumerate(X):  # the commonest mistake, and the characters of the text would be tagged
            if isinstance(tokens, str):
                raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")
        lengths = [len(tokens) for tokens in X]
        warn_of_long_sentences(self.config, lengths)
        with one_blas_thread():  # for what is done with the scores as well
            for which in blocks(lengths, in_order=in_order):
                try:
                    scores, offsets = self.scores([X[i] for i in which], tasks)
                except (TypeError, AttributeError, LookupError):
                    checked_sentences(X)  # names the invalid token; any other failure is a defect
                    raise
                yield which, scores, offsets

    def scores(self, sentences: Sentences, tasks: Sequence[str]) -> tuple[dict[str, Array], Array]:
        """By task (N, L), and the offsets (B + 1,)."""
        offsets = offsets_from_lengths([len(tokens) for tokens in sentences])
        if self._compiled is None:
            return self._by_graph(sentences, tasks), offsets
        tokens: list[Any] = list(chain.from_iterable(sentences))
        extra = None
        if self._members[0].extra_tables is not None:
            extra = self._extra_rows(self.features.extra(sentences, len(tokens)))
        found = self._of_cells(*cells_of(tokens), offsets, tasks, extra)
        if found is None:
            return self._by_graph(sentences, tasks), offsets
        if self.features.named is not None:
            attributes = self.features.named.of(sentences)
            for task in tasks:
                weights = [member.named.value for member in members_of(self.heads[task])]
                found[task] += mean_scores([sums_of_rows(of_member, attributes) for of_member in weights])
        return found, offsets

    def _extra_rows(self, extra: Array) -> tuple[Array, Array]:
        """What token features (N, E) add to the first layer: a row for each value, and those of each token, (E, N)."""
        K, H = self._splits[0].b.shape
        rows = [np.zeros((1, K, len(self._members), H), np.float32)]  # by position, as of words
        ids, count = np.empty(extra.shape[::-1], np.int64), 1
        for e, (V, _) in enumerate(self._members[0].extra_tables.sizes):
            used, places = distinct_numbers(extra[:, e], V)
            ids[e] = count + places
            rows.append(np.empty((len(used), *rows[0].shape[1:]), np.float32))
            for m, (tables, weights) in enumerate(zip(self._extra_tables, self._extra_weights, strict=True)):
                rows[-1][:, :, m] = np.dot(tables[e][used], weights[e]).reshape(-1, K, H)
            count += len(used)
        return np.concatenate(rows).reshape(count, -1), ids

    def _of_cells(
        self, text: bytes, cells: Array, offsets: Array, tasks: Sequence[str], extra: tuple[Array, Array] | None = None
    ) -> dict[str, Array] | None:
        names = list(self.heads)
        with one_blas_thread():
            scores = self._compiled.scores(text, cells, offsets, [names.index(task) for task in tasks], extra)
        if isinstance(self._vectors, Rows):
            self._vectors.check_lent()
        return None if scores is None else dict(zip(tasks, scores, strict=True))

    def _by_graph(self, sentences: Sentences, tasks: Sequence[str]) -> dict[str, Array]:
        inputs = self.features.inputs(sentences)
        with one_blas_thread():
            return {task: self.heads[task].unary(inputs) for task in tasks}


def blocks(lengths: Sequence[int], size: int = TOKENS_PER_BLOCK, *, in_order: bool = False) -> Iterator[list[int]]:
    """Places of sentences, by length unless ``in_order``, in blocks of at most ``size`` tokens.

    A longer sentence is a block alone.
    """
    block: list[int] = []
    tokens = 0
    places = range(len(lengths))
    for i in places if in_order else sorted(places, key=lengths.__getitem__):
        if block and tokens + lengths[i] > size:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += lengths[i]
    if block:
        yield block


def cells_of(tokens: list[Any]) -> tuple[bytes, Array]:
    """A text in UTF-8 that holds the forms of tokens, and the cell (N, 2) of each."""
    try:
        joined = "\n".join(tokens)
    except TypeError:  # some tokens have extra columns, which this model does not look at
        tokens = forms_of(tokens)
        joined = "\n".join(tokens)
    try:
        text = joined.encode()
    except UnicodeEncodeError:
        return word_cells(tokens)
    breaks = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    if len(breaks) != len(tokens) - 1:
        return word_cells(tokens)  # a token has a line break, or there are none
    cells = np.empty((len(tokens), 2), np.int64)
    cells[0, 0], cells[1:, 0], cells[:-1, 1], cells[-1, 1] = 0, breaks + 1, breaks, len(text)
    return text, cells


# ------------------------------------------------------------------------------------------------------ the first layer


class SplitNetwork(NamedTuple):
    """A network as a linear map of windows, and what comes after it.

    Z_t = Σ_k (W_k x_t+k + b_k) over K positions around t, with ``padding`` for positions beyond the sentence.
    """

    W: Array  # (K, H, D)
    b: Array  # (K, H)
    padding: Array  # (K, H) the whole term of a position beyond the sentence
    layers: Sequence[Any] = ()  # on the sums of the first map
    outputs: Sequence[Linear] = ()  # of the layers; none if the sums are the scores themselves
    is_mean: bool = False  # the sums are divided by the number of words in the window


def split_network(network: ScoringNetwork) -> SplitNetwork:
    """The network taken apart after its first linear map, with which it must begin."""
    encoder, outputs = network.encoder, network.outputs
    match encoder.layers if isinstance(encoder, Chain) else None:
        case [Window() as window, Linear() as linear, *layers]:
            W = linear.W.value.reshape(len(linear.W.value), window.size, -1).transpose(1, 0, 2)
            b = np.zeros(W.shape[:2], W.dtype)
            if linear.b is not None:  # added once, at the middle position
                b[len(b) // 2] = linear.b.value
            return SplitNetwork(W, b, np.ascontiguousarray(W) @ window.padding.value + b, layers, outputs)
        case []:  # one linear layer per position, nothing beyond the sentence (C2)
            maps, is_mean = [outputs[1], outputs[0], outputs[2]] if len(outputs) == 3 else outputs, False
        case _ if isinstance(encoder, WindowAverage) and len(outputs) == 1:
            # A map of the mean of a window is the mean of the maps. The bias is added once, in equal parts.
            maps, is_mean = [outputs[0]] * encoder.size, True
        case _:
            raise refused("a network that does not begin with a window of words")
    W = np.stack([linear.W.value for linear in maps])
    b = np.stack([np.zeros(W.shape[1], W.dtype) if linear.b is None else linear.b.value for linear in maps])
    return SplitNetwork(W, b, np.zeros_like(b), is_mean=is_mean)


# ------------------------------------------------------------------------------------------------------------- sections


def engine_sections(
    features: InputFeatures, heads: Mapping[str, ScoringNetwork | EnsembleNetwork], vectors: Array | None = None
) -> Sections:
    """The arrays of words, network and output maps; an error for what the engine does not compute.

    ``vectors``: those of the network, where they are not to be compared with their checksums.
    """
    first = next(iter(heads.values()))
    if not first.form_dim:
        raise refused("a model without features of words")
    around = reach(first.config)
    if around is None:
        raise refused(f"the encoder {first.config.encoder!r}")
    if around > MOST_REACH:
        raise refused(f"a network that sees {around:,} words to each side")
    members = members_of(first)
    if members[0].dtype != np.float32:
        raise refused("a network of float64")
    splits = [split_network(member) for member in members]
    if len(heads) > 1 and not splits[0].outputs:
        raise refused("several tasks without a hidden layer")
    sections: Sections = {**character_sections(), **word_sections(features.words)}
    # Tables, the first layer by position, and the layers after it, of every member.
    K, H = splits[0].b.shape
    activation, layers = _fused(splits[0].layers)
    steps = _steps(layers)
    sections |= {
        "network": integers(
            len(members), K, H, activation, splits[0].is_mean, len(steps), around, len(_tables(members[0].form_tables))
        ),
        "steps": np.array([(kind, function) for kind, function, _ in steps], np.int64).reshape(-1, 2),
    }
    if members[0].config.encoder == "dilated":
        of_layers = iter(dilations(members[0].config))
        sections["dilations"] = integers(*(next(of_layers) if kind == RESIDUAL else 1 for kind, _, _ in steps))
    sections |= vector_sections(members[0].vectors if vectors is None else vectors)
    for m, (member, one) in enumerate(zip(members, splits, strict=True)):
        _, of_member = _fused(one.layers)
        found = {f"table{f}": table for f, table in enumerate(_tables(member.form_tables))}
        if member.characters is not None:
            # The contribution of each character to the filters at each position; row 0 is for places beyond the word.
            letters, size = member.characters, member.characters.window.size
            F, D = len(letters.linear.W.value), letters.table.value.shape[1]
            by_position = letters.linear.W.value.reshape(F, size, D).transpose(1, 0, 2).reshape(size * F, D)
            vectors = np.concatenate([letters.window.padding.value[None], letters.table.value])
            found |= {"characters/rows": vectors @ by_position.T, "characters/b": letters.linear.bias()}
        of_words = np.ascontiguousarray(one.W[:, :, : member.form_dim].transpose(2, 0, 1)).reshape(member.form_dim, -1)
        found |= {"first/W": of_words, "first/b": one.b.reshape(-1), "first/padding": one.padding.reshape(-1)}
        for s, (_, _, arrays) in enumerate(_steps(of_member)):
            found |= {f"step{s}/{name}": array for name, array in arrays.items()}
        sections |= {f"member{m}/{name}": array for name, array in found.items()}
    sections["heads"] = integers(len(heads))
    for number, head in enumerate(heads.values()):
        maps, members = len(splits[0].outputs), members_of(head)
        # labels, classes, the label O, maps of each member, IOB1
        sections[f"head{number}/numbers"] = integers(members[0].outputs[0].W.shape[0], 0, -1, maps, 0)
        for m, member in enumerate(members if maps else ()):
            for i, output in enumerate(member.outputs):
                for name, array in linear_arrays(output).items():
                    sections[f"head{number}/member{m}/map{i}/{name}"] = array
    return sections


def character_sections() -> Sections:
    """Case, category, digits and whitespace of all characters."""
    known = frozen()
    return {f"characters/{name}": getattr(known, name) for name in ("records", "index", "pages", "spaces")}


def word_sections(words: WordFeatures) -> Sections:
    """Columns of features with their vocabularies, lexicons, and the alphabet."""
    vocabularies: dict[int, Vocabulary] = {}  # by identity

    def number(vocabulary: Vocabulary) -> int:
        vocabularies.setdefault(id(vocabulary), vocabulary)
        return list(vocabularies).index(id(vocabulary))

    names = {id(vocabulary.table): vocabulary for vocabulary in words.vocabularies.values()}
    columns = [
        (column.number, column.length, -1 if column.table is None else number(names[id(column.table)]))
        for column in words.rules.columns
    ]
    mark = words.rules.digit_mark
    sections: Sections = {
        "words/columns": np.array(columns, np.int64).reshape(-1, 3),
        "words/mark": integers(-1 if mark is None else ord(mark)),
        "words/shapes": shapes_of_categories(),
    }
    if words.folds is not None:
        names_of_tables = ("folds/decomposed", "folds/classes", "folds/composed")
        sections |= {"folds": words.folds.table, **dict(zip(names_of_tables, composition(), strict=True))}
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
    for i, vocabulary in enumerate(vocabularies.values()):
        sections |= {f"vocabulary{i}/{name}": getattr(vocabulary.table, name) for name in ("text", "offsets", "slots")}
    return sections


def vector_sections(vectors: Any) -> Sections:
    """The fixed vectors, if there are any: a table, or codes."""
    if isinstance(vectors, CodedVectors):
        sections: Sections = {}
        for name, (codes, _), pieces in zip(("first", "rest"), vectors.parts, vectors.pieces, strict=False):
            sections |= {f"vectors/{name}/codes": codes, f"vectors/{name}/pieces": pieces.reshape(-1, pieces.shape[2])}
        return sections
    return {} if vectors is None else {"vectors": np.asarray(vectors, np.float32)}


def _fused(layers: Sequence[Any]) -> tuple[int, list[Any]]:
    """The activation of the first layer, and the layers after that."""
    layers = [layer for layer in layers if not isinstance(layer, Dropout)]
    if layers and isinstance(layers[0], Activation) and layers[0].function in FUSED:
        return FUSED.index(layers[0].function), layers[1:]
    return FUSED.index("identity"), layers


def _tables(tables: LookupTables | None) -> list[Array]:
    """The table (V, D) of each learned feature of words, or of tokens in their sentences."""
    if tables is None:
        return []
    parameter_of = [i for i, group in enumerate(tables.groups) for _ in group]
    return [
        tables.tables[parameter_of[f]].value[tables.starts[f] : tables.starts[f] + V]
        for f, (V, _) in enumerate(tables.sizes)
    ]


def _extra_weights(member: ScoringNetwork, split: SplitNetwork) -> list[Array]:
    """The part (D, K · H) of the first layer of each feature of tokens in their sentences."""
    column, weights = member.form_dim, []
    for _, D in [] if member.extra_tables is None else member.extra_tables.sizes:
        weights.append(np.ascontiguousarray(split.W[:, :, column : column + D].transpose(2, 0, 1)).reshape(D, -1))
        column += D
    return weights


def _steps(layers: Sequence[Any]) -> list[tuple[int, int, Mapping[str, Array]]]:
    """Layers after the first, for the engine: kind, activation, arrays."""
    steps: list[tuple[int, int, Mapping[str, Array]]] = []
    identity = ACTIVATION_NAMES.index("identity")
    for layer in layers:
        match layer:
            case Dropout():
                pass
            case Linear():
                steps.append((LINEAR, identity, linear_arrays(layer)))
            case Activation(function=function):
                steps.append((ACTIVATE, ACTIVATION_NAMES.index(function), {}))
            case LayerNorm():
                steps.append((NORMALISE, identity, _norm_arrays(layer)))
            case Residual(layer=Chain(layers=inner)):
                match [one for one in inner if not isinstance(one, Dropout)]:
                    case [LayerNorm() as norm, Window() as window, Linear() as linear, Activation(function=function)]:
                        arrays = {**_norm_arrays(norm), "padding": window.padding.value, **linear_arrays(linear)}
                        steps.append((RESIDUAL, ACTIVATION_NAMES.index(function), arrays))
                    case _:
                        raise refused("a residual layer of another kind")
            case _:
                raise refused(f"a layer {type(layer).__name__}")
    return steps


def linear_arrays(linear: Linear) -> Sections:
    W = linear.W.value
    return {"W": W.T, "b": np.zeros(len(W), W.dtype) if linear.b is None else linear.b.value}


def _norm_arrays(norm: LayerNorm) -> Sections:
    assert EPSILON == 1e-5, "the runtime has the same number"
    return {"gain": norm.gain.value, "bias": norm.bias.value}
