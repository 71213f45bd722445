"""Write small files under the names that commands on the pages use: train.txt, raw.txt, export.json, ner.postil …"""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import postil
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.text import Sentence, write, write_trees

rng = np.random.default_rng(0)
data = [Sentence(list(s.tokens), list(s.labels)) for s in made_up_sentences(500, rng)]
train, test, dev = data[:120], data[120:160], data[160:]
texts = [" ".join(sentence.tokens) for sentence in data[:160]]


def relabelled(sentences: Iterable[Sentence], new: Callable[[str], str]) -> list[Sentence]:
    return [Sentence(list(s.tokens), [new(label) for label in s.labels]) for s in sentences]


def only(name: str) -> list[Sentence]:
    return relabelled(train, lambda label: label if label.endswith(name) else "O")


# columns, and the same in other formats
for name in ("train", "all", "mine", "gold", "wiki"):
    write(train, f"{name}.txt", "conll")
write(dev, "dev.txt", "conll")
for name in ("test.txt", "gold.conll", "first.conll", "second.conll", "predicted.conll"):
    write(test, name, "conll")
for name in ("train.jsonl", "annotated.jsonl", "answers.jsonl"):
    write(train, name, "jsonl")
write(train, "export.json", "label-studio")
write(dev[:60], "dev.json", "label-studio")
write(train, "train.conll", "conll")
Path("big.conll.gz").write_bytes(gzip.compress(Path("train.conll").read_bytes()))

# other labels
write(only("PER"), "persons.txt", "conll")
write(only("LOC"), "places.txt", "conll")
write(only("LOC"), "more.txt", "conll")
write(relabelled(only("ORG"), lambda label: label.replace("ORG", "PRODUCT")), "products.txt", "conll")
write(relabelled(only("PER"), lambda label: label.replace("PER", "politician")), "politics.txt", "conll")
rows = ("".join(f"{token}\t_\t{'UP' if token[0].isupper() else 'LOW'}\n" for token in s.tokens) for s in train)
Path("words.txt").write_text("\n".join(rows), "utf-8")

# a treebank, with raw text
sentences = []
for sentence in train:
    words = [f"{i}\t{token}\t_\tX\tXX" + "\t_" * 5 for i, token in enumerate(sentence.tokens, 1)]
    sentences.append("\n".join([f"# text = {' '.join(sentence.tokens)}", *words]) + "\n")
for name in ("train", "dev", "test", "corpus"):
    Path(f"{name}.conllu").write_text("\n".join(sentences) + "\n", "utf-8")

# trees
for name, count in {"train": 60, "dev": 20, "test": 20, "new": 5}.items():
    write_trees(made_up_trees(count, rng), f"{name}.trees")

# semantic roles
ROLES = "Anna\t-\tB-ARG0\nsold\tsell\tB-V\nthe\t-\tB-ARG1\nmap\t-\tI-ARG1\n\n"
for name in ("train", "dev", "test", "predicates"):
    Path(f"{name}.conll05").write_text(ROLES * 10, "utf-8")

# raw text, tables, lists, rules
for name in ("raw", "pool", "article", "letters", "other", "articles/first", "articles/second"):
    Path(name).parent.mkdir(exist_ok=True)
    Path(f"{name}.txt").write_text("\n".join(texts) + "\n", "utf-8")
for name in ("spans", "dev", "news"):
    records = [json.loads(line) for line in Path("train.jsonl").read_text("utf-8").splitlines()]
    cells = [f'"{one["text"]}","{json.dumps(one["spans"]).replace(chr(34), chr(34) * 2)}"' for one in records]
    Path(f"{name}.csv").write_text("\n".join(["text,spans", *cells]) + "\n", "utf-8")
Path("cities.txt").write_text("Berlin\nLima\nOslo\n", "utf-8")
RULES = """[[rule]]
label = "LOC"
list = "cities.txt"

[[rule]]
label = "PER"
pattern = "( <capital> ) visited|painted"
"""
Path("rules.toml").write_text(RULES, "utf-8")

# models
tagger = postil.Tagger(seed=0).fit([s.tokens for s in data], [s.labels for s in data])
for name in ("ner", "old", "new"):
    tagger.save(f"{name}.postil")
