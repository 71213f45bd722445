"""Chunks of a constituent tree: the flat phrases of CoNLL-2000.

A chunk runs from the beginning of a phrase to its head: what comes before the head is inside, what follows forms chunks
of its own.

    NP     ends at its last noun before any postmodifier; a possessive 's begins the next NP
    VP     auxiliaries, negation, adverbs between them, and the verb; a to-infinitive right after it continues the chunk
    PP     the preposition, without its noun phrase; "such as" and "even in" are one
    SBAR   the complementiser
    ADVP, ADJP, PRT, CONJP, INTJ, LST, UCP    their words up to the head; inside another chunk they are part of it

Function tags (NP-SBJ) do not count. Empty elements (-NONE-) are no words.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import final

from postil.text.labels.schemes import Span
from postil.text.trees.tree import Tree

TRACE = "-NONE-"  # label of what the Penn Treebank puts where nothing is said, such as ``*T*-1``
CHUNKS = "chunks"  # the label column of trees that stands for their chunks

_SAME = {"WHNP": "NP", "NX": "NP", "NAC": "NP", "QP": "NP", "WHADVP": "ADVP", "WHADJP": "ADJP", "WHPP": "PP"}
_CHUNKS = {"NP", "VP", "PP", "SBAR", "ADVP", "ADJP", "PRT", "CONJP", "INTJ", "LST", "UCP"}
_NOUNS = {"NN", "NNS", "NNP", "NNPS", "PRP", "WP", "EX", "FW", "CD", "$"}
_VERBS = {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "TO", "BES", "HVS"}
_NEVER_AT_THE_EDGE = {"CC", "POS", "SYM", "HYPH"}
_BEFORE_A_VERB = {"RB", "RBR", "RBS", "ADVP"}
_AFTER_A_NOUN = {"PP", "SBAR", "S", "SBARQ", "SQ", "VP", "PRN", "RRC", "FRAG", "NP"}
_NEVER_BEFORE_A_NOUN = {"PP", "SBAR", "S"}
_CLAUSES = {"S", "SBAR", "VP", "PRN", "PP"}
_ALONE = {"POS": "NP", "RP": "PRT"}  # chunks of words that are in no other


def chunks_of(tree: Tree) -> list[Span]:
    """The chunks of a tree without empty elements as spans over its words, in order."""
    chunker = _Chunker(tree)
    while chunker.todo:
        chunker.step(*chunker.todo.pop())
    return sorted(chunker.chunks, key=lambda span: span.start)


def without_empty_elements(tree: Tree) -> Tree | None:
    """The tree without traces and the phrases that hold nothing else; None if nothing is left."""
    labels: list[str | None] = []
    words: list[str | None] = []
    children: list[tuple[int, ...]] = []
    places: list[int | None] = []  # old node -> new node
    for label, word, old in tree:
        inside = tuple(place for child in old if (place := places[child]) is not None)
        is_kept = bool(inside) if old else label != TRACE
        places.append(len(labels) if is_kept else None)
        if is_kept:
            labels.append(label)
            words.append(word)
            children.append(inside)
    return Tree.unchecked(labels, words, children) if labels else None


@final
class _Chunker:
    def __init__(self, tree: Tree) -> None:
        self.tree, self.spans = tree, tree.spans
        self.kinds: list[str] = []
        for label, word, _ in tree:  # without function tags; of phrases that make the same chunks, one of them
            name = (label or "").partition("-")[0].partition("=")[0].partition("|")[0]
            self.kinds.append(label or "" if word is not None else _SAME.get(name, name))
        self.is_word = [word is not None for word in tree.words]
        self.chunks: list[Span] = []
        self.taken: set[int] = set()
        self.todo = [(len(tree) - 1, "")]  # nodes that are in no chunk yet, each with the kind of its parent

    def step(self, node: int, parent: str) -> None:
        kind, children = self.kinds[node], self.tree.children[node]
        if self.is_word[node]:
            self._word(node, parent)
        elif kind == "VP":
            self._verbs(node)
        elif kind == "NP":
            self._nouns(children)
        else:
            self._others(kind, children)

    def _push(self, children: Sequence[int], parent: str) -> None:
        self.todo += [(child, parent) for child in children]

    def _add(self, kind: str, start: int, end: int) -> None:
        self.chunks.append(Span(kind, start, end))
        self.taken.update(range(start, end))

    def _word(self, node: int, parent: str) -> None:
        """A word beside phrases: a preposition, a verb before its subject, a possessive without a noun."""
        tag, (start, end) = self.kinds[node], self.spans[node]
        kind = _ALONE.get(tag)
        if tag in _VERBS - {"TO"} and parent not in ("NP", "PP"):
            kind = "VP"
        elif parent in ("PP", "SBAR") and tag in ("IN", "TO"):
            kind = parent
        if kind is not None and start not in self.taken:
            self._add(kind, start, end)

    def _nouns(self, children: Sequence[int]) -> None:
        head, has_noun = -1, False
        for place, child in enumerate(children):
            kind = self.kinds[child]
            if self.is_word[child] and _is_inside(kind):
                head, has_noun = place, has_noun or kind in _NOUNS
            elif kind in _AFTER_A_NOUN and head >= 0 and (has_noun or kind in _NEVER_BEFORE_A_NOUN):
                break
        self._push(children[head + 1 :], "NP")
        start: int | None = None  # of the chunk
        for place, child in enumerate(children[: head + 1]):
            inner = self.tree.children[child]
            if self.kinds[child] == "NP" and inner and self.kinds[inner[-1]] == "POS":
                self._push([child], "NP")
                start = self.spans[inner[-1]][0]
            elif self.kinds[child] in _AFTER_A_NOUN and not (
                # Words alone, right before more of the noun phrase and not beside it, are a premodifier.
                all(self.is_word[one] for one in inner)
                and (not self.is_word[children[place + 1]] or _is_inside(self.kinds[children[place + 1]]))
            ):
                self._push([child], "NP")
                start = None
            elif start is None and (not self.is_word[child] or _is_inside(self.kinds[child])):
                start = self.spans[child][0]
        if start is not None:
            self._add("NP", start, self.spans[children[head]][1])

    def _verbs(self, node: int) -> None:
        start, end = self.spans[node][0], -1
        while True:
            children, place, verb = self.tree.children[node], 0, -1
            while place < len(children) and self.kinds[children[place]] in _VERBS | _BEFORE_A_VERB:
                verb = place if self.kinds[children[place]] in _VERBS else verb
                place += 1
            # A verb phrase continues the chunk of the verb before it: a VP, or a clause that begins with to.
            following = children[place] if place < len(children) else None
            if following is not None and self.kinds[following] != "VP":
                inner = self.tree.children[following]
                is_clause = self.kinds[following] == "S" and len(inner) == 1 and self.kinds[inner[0]] == "VP"
                first = self.tree.children[inner[0]] if is_clause else ()
                following = inner[0] if first and self.kinds[first[0]] == "TO" else None
            if following is not None and (verb >= 0 or (end >= 0 and place == 0)):
                end = self.spans[children[verb]][1] if verb >= 0 else end
                self._push(children[place + 1 :], "VP")
                node = following
                continue
            if verb < 0:  # coordinated verb phrases, or no verb at all
                self._push(children, "VP")
                break
            after = [(self.tree.words[child] or "").lower() for child in children[verb + 1 :]]
            verb += len([*takewhile(("not", "n't", "n’t").__contains__, after)])
            end = self.spans[children[verb]][1]
            self._push(children[verb + 1 :], "VP")
            break
        if end > start:
            self._add("VP", start, end)

    def _others(self, kind: str, children: Sequence[int]) -> None:
        """Everything up to the end of the first words of the phrase."""
        words = [place for place, child in enumerate(children) if self.is_word[child] and _is_inside(self.kinds[child])]
        before = [child for child in children[: words[0]] if not self.is_word[child]] if words else []
        if kind not in _CHUNKS or not words or any(self.kinds[child] in _CLAUSES for child in before):
            self._push(children, kind)
            return
        last = first = words[0]
        for place in range(first + 1, len(children)):
            if not self.is_word[children[place]]:
                break
            last = place if _is_inside(self.kinds[children[place]]) else last
        self._push(children[last + 1 :], kind)
        self._add(kind, self.spans[before[0] if before else children[first]][0], self.spans[children[last]][1])


def _is_inside(tag: str) -> bool:
    """Whether a word with this tag can begin or end a chunk: no punctuation, conjunction or hyphen."""
    return tag not in _NEVER_AT_THE_EDGE and (tag[:1].isalpha() or tag == "$")
