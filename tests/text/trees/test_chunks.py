"""Chunks of constituent trees, by the rules of CoNLL-2000, on trees made by hand."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.commands.main import main
from postil.errors import DataError
from postil.text import Tree, read
from postil.text.trees.chunks import chunks_of, without_empty_elements
from postil.text.trees.treebank import parse_tree


def shown(text: str) -> str:
    tree = without_empty_elements(parse_tree(text))
    assert tree is not None
    tokens = tree.tokens
    for label, start, end in chunks_of(tree):
        tokens[start] = f"[{label} {tokens[start]}"
        tokens[end - 1] += "]"
    return " ".join(tokens)


RULES = {
    "an NP ends at its head": (
        "(S (NP-SBJ (NP (DT the) (ADJP (RB very) (JJ old)) (NN man)) (PP (IN in) (NP (NN town)))) (VP (VBD sat)))",
        "[NP the very old man] [PP in] [NP town] [VP sat]",
    ),
    "a possessive begins the next NP": (
        "(NP (NP (DT the) (NN firm) (POS 's)) (JJ new) (NN plan))",
        "[NP the firm] [NP 's new plan]",
    ),
    "a possessive after a PP": (
        "(NP (NP (NP (DT the) (NN king)) (PP (IN of) (NP (NNP Spain))) (POS 's)) (NN hat))",
        "[NP the king] [PP of] [NP Spain] [NP 's hat]",
    ),
    "a possessive without a noun": ("(PP (IN at) (NP (NNP Anna) (POS 's)))", "[PP at] [NP Anna] [NP 's]"),
    "words joined inside a base NP stay together": (
        "(NP (NN research) (, ,) (NN trade) (CC and) (NN development))",
        "[NP research , trade and development]",
    ),
    "joined phrases do not": (
        "(NP (NP (DT a) (NN cat)) (CC and) (NP (DT a) (NN dog)))",
        "[NP a cat] and [NP a dog]",
    ),
    "a participle before its noun": (
        "(NP (DT the) (VP (VBG growing)) (NN demand))",
        "[NP the growing demand]",
    ),
    "a noun phrase before its noun": ("(NP (NP (CD six) (NN month)) (NN delay))", "[NP six month delay]"),
    "an apposition": (
        "(NP (NP (NNP Anna)) (, ,) (NP (DT the) (NN boss)) (, ,))",
        "[NP Anna] , [NP the boss] ,",
    ),
    "a relative clause": (
        "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD came)))))",
        "[NP the man] [NP who] [VP came]",
    ),
    "quotes are outside": ("(NP (`` `) (DT the) (NN end) ('' '))", "` [NP the end] '"),
    "a price": ("(NP (QP ($ $) (CD 5) (CD billion)))", "[NP $ 5 billion]"),
    "auxiliaries, adverbs and the verb": (
        "(S (NP (PRP it)) (VP (MD may) (RB not) (VP (VB have) (ADVP (RB ever)) (VP (VBN been) (VP (VBN seen))))))",
        "[NP it] [VP may not have ever been seen]",
    ),
    "an infinitive continues its verb": (
        "(VP (VBZ is) (VP (VBN expected) (S (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB take) (NP (NN time)))))))",
        "[VP is expected to take] [NP time]",
    ),
    "an infinitive with a subject does not": (
        "(VP (VBP want) (S (NP (PRP him)) (VP (TO to) (VP (VB go)))))",
        "[VP want] [NP him] [VP to go]",
    ),
    "an adverb beside the verb phrase": ("(S (ADVP (RB so)) (VP (VBD left)))", "[ADVP so] [VP left]"),
    "an adverb before the verb": ("(VP (ADVP (RB soon)) (VBD left))", "[VP soon left]"),
    "negation without another verb": (
        "(VP (VBZ is) (RB n't) (ADJP (JJ new) (PP (TO to) (NP (PRP us)))))",
        "[VP is n't] [ADJP new] [PP to] [NP us]",
    ),
    "joined verb phrases": (
        "(VP (MD can) (VP (VP (VB run)) (CC and) (VP (VB hide))))",
        "[VP can run] and [VP hide]",
    ),
    "a question": (
        "(SQ (VBD did) (NP (PRP he)) (VP (VB go) (PRT (RP away))) (. ?))",
        "[VP did] [NP he] [VP go] [PRT away] ?",
    ),
    "prepositions of several words": (
        "(PP (JJ such) (IN as) (NP (NNS cats)))",
        "[PP such as] [NP cats]",
    ),
    "words before a preposition": (
        "(PP (ADVP (RB even)) (IN in) (NP (NN town)))",
        "[PP even in] [NP town]",
    ),
    "two prepositions": (
        "(PP (IN from) (NP (CD one)) (TO to) (NP (CD two)))",
        "[PP from] [NP one] [PP to] [NP two]",
    ),
    "a complementiser": (
        "(VP (VBD said) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD left)))))",
        "[VP said] [SBAR that] [NP he] [VP left]",
    ),
    "words before a complementiser": (
        "(SBAR (RB even) (IN though) (S (NP (PRP he)) (VP (VBD left))))",
        "[SBAR even though] [NP he] [VP left]",
    ),
    "a clause with an adverb": (
        "(SBAR (WHADVP (WRB when)) (S (NP (PRP he)) (VP (VBD left))))",
        "[ADVP when] [NP he] [VP left]",
    ),
    "adjectives and adverbs with what is before them": (
        "(S (VP (VBZ is) (ADJP-PRD (NP (CD 68) (NNS years)) (JJ old))) (ADVP (NP (DT a) (NN year)) (RB ago)))",
        "[VP is] [ADJP 68 years old] [ADVP a year ago]",
    ),
    "the rare ones": (
        "(S (LST (LS 1) (. .)) (INTJ (UH oh)) (NP (NP (NN A)) (CONJP (RB as) (RB well) (IN as)) (NP (NN B))) "
        "(VP (VBP are) (UCP (JJ old) (CC or) (NNS pets))))",
        "[LST 1] . [INTJ oh] [NP A] [CONJP as well as] [NP B] [VP are] [UCP old or pets]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text, chunks", RULES.values(), ids=RULES)
def test_rules(text: str, chunks: str) -> None:
    assert shown(text) == chunks


KINDS = ["S", "NP", "VP", "PP", "SBAR", "ADVP", "ADJP", "PRN", "UCP", "WHNP"]
TAGS = ["NN", "DT", "VBD", "TO", "IN", "RB", "JJ", "CC", "POS", ",", "-NONE-"]
leaves = st.tuples(st.sampled_from(TAGS), st.just("w"))
trees = st.recursive(
    leaves, lambda inside: st.tuples(st.sampled_from(KINDS), st.lists(inside, min_size=1, max_size=4)), max_leaves=25
)


@given(trees)
def test_chunks_of_any_tree_do_not_overlap(nested) -> None:
    def tuples(value):
        return (value[0], *map(tuples, value[1])) if isinstance(value[1], list) else value

    tree = without_empty_elements(Tree.of(tuples(nested)))
    if tree is not None:
        chunks = chunks_of(tree)
        taken = [token for span in chunks for token in range(span.start, span.end)]
        assert len(taken) == len(set(taken)) and all(0 <= token < len(tree.tokens) for token in taken)
        assert all(span.start < span.end for span in chunks)


def test_chunks_are_a_label_column_of_trees(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    paying = "(S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB pay))))"
    text = f"( (S (NP-SBJ (DT The) (NN firm)) (VP (VBD tried) {paying}) (. .)))\n"
    Path("a.mrg").write_text(text + "( (NP (-NONE- *)) )\n")
    assert main(["convert", "a.mrg", "a.conll", "--label-column", "chunks"]) == 0
    lines = [line.split("\t") for line in Path("a.conll").read_text().splitlines() if line]
    assert lines == [
        ["The", "DT", "B-NP"],
        ["firm", "NN", "I-NP"],
        ["tried", "VBD", "B-VP"],
        ["to", "TO", "I-VP"],
        ["pay", "VB", "I-VP"],
        [".", ".", "O"],
    ]
    (sentence,) = read("a.mrg", label="chunks", features=())
    assert sentence.columns is None
    Path("b.trees").write_text("(3 good film)\n")
    with pytest.raises(DataError, match=r"b\.trees, line 1: a word has no part of speech: .*got 'good'"):
        list(read("b.trees", "trees", label="chunks"))
    Path("train.ptb").write_text(text * 20)
    capsys.readouterr()
    words = ["--label-column", "chunks", "--set", "hidden=10", "--set", "epochs=2", "-o", "a.postil"]
    assert main(["train", "train.ptb", *words]) == 0
    assert main(["info", "a.postil"]) == 0
    assert "NP VP" in capsys.readouterr().out
