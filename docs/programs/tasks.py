"""Write the files of the guide "Several tasks in one model": names, words and mail, to train on and for development."""

import itertools
import json
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

mail = []
for number, (street, kind, city) in enumerate(
    itertools.product(["Hill", "Lake", "Mill", "Park"], ["Lane", "Road"], ["Ashford", "Oakdale", "Milltown"]), 1
):
    road = f"{number} {street} {kind}"
    text, first, end = f"Send it to {road}, {city}.", len("Send it to "), len(f"Send it to {road}")
    spans = [[first, len(text) - 1, "ADDRESS"], [first, end, "STREET"], [end + 2, len(text) - 1, "CITY"]]
    mail.append(json.dumps({"text": text, "spans": spans}) + "\n")
    mail.append(json.dumps({"text": f"It is in {city}.", "spans": [[9, 9 + len(city), "CITY"]]}) + "\n")
Path("mail.jsonl").write_text("".join(mail[:36]), "utf-8")
Path("mail-dev.jsonl").write_text("".join(mail[36:]), "utf-8")
