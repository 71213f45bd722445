"""Write the files of the tutorial "Only lists of names": raw.txt, people.txt and places.txt."""

import random
from pathlib import Path

PLACES = ["Lima", "Oslo", "Quito", "New York", "Turin", "Bergen"]
NAMES = ["Anna", "Boris", "Clara", "Diego", "Erik", "Fatima"]
SENTENCES = [
    "{n} lives in {p} .",
    "{n} left {p} early .",
    "The museums of {p} are old .",
    "{n} and {m} met in {p} .",
    "It rained in the hills .",
    "When it rained , {n} called .",
    "{n} sings when the sun is out .",
]

draw = random.Random(0).choice
lines = [draw(SENTENCES).format(n=draw(NAMES), m=draw(NAMES), p=draw(PLACES)) + "\n" for _ in range(400)]
Path("raw.txt").write_text("".join(lines), "utf-8")
Path("people.txt").write_text("Anna\nBoris\nClara\n", "utf-8")
Path("places.txt").write_text("Lima\nOslo\nNew York\n", "utf-8")
