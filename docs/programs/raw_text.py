"""Write the raw text of the guide "Vectors, lists and raw text": raw.txt."""

import random
from pathlib import Path

PLACES, NAMES = "London Paris Rome Oslo".split(), "Anna Peter Maria John".split()
VERBS = ["lives in", "moved to", "visited", "left"]

random.seed(0)
lines = [
    f"{random.choice(NAMES)} {random.choice(VERBS)} {random.choice(PLACES)} in {random.randint(1900, 1999)}.\n"
    for _ in range(4000)
]
Path("raw.txt").write_text("".join(lines), "utf-8")
