"""Write the files of the guide "Several tasks in one model": names and words, to train on and for development."""

import itertools
from pathlib import Path

PEOPLE, VERBS, PLACES = ["Anna", "Boris", "Clara", "Diego"], ["left", "likes", "saw"], ["Oslo", "Lima", "Rome", "Quito"]


def write(name: str, sentences: list[list[str]]) -> None:
    Path(name).write_text("\n".join("".join(f"{line}\n" for line in lines) for lines in sentences), "utf-8")


names, words = [], []
for person, verb, place in itertools.product(PEOPLE, VERBS, PLACES):
    names.append([f"{person}\tB-PER", f"{verb}\tO", f"{place}\tB-LOC"])
    words.append(["they\t_\tPRON", f"{verb}\t_\tVERB", f"{place}\t_\tPROPN"])
for name, sentences in {"names": names, "words": words}.items():
    write(f"{name}.txt", sentences[:36])
    write(f"{name}-dev.txt", sentences[36:])
