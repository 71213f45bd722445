"""Write the files of the tutorial "Start without labels"."""

import json
from pathlib import Path

import numpy as np

from postil.samples.corpora import made_up_sentences

RULES = r"""[[rule]]
name = "places"
label = "LOC"
list = "places.txt"

[[rule]]
name = "titles"
label = "PER"
pattern = "Mr|Mrs|Dr ( <capital>{1,2} )"

[[rule]]
name = "companies"
label = "ORG"
pattern = "<capital>{1,2} Foods|Steel|Electric|Foundation"
"""

sentences = made_up_sentences(2300, np.random.default_rng(5))
records = [json.dumps({"tokens": list(s.tokens), "labels": list(s.labels)}) + "\n" for s in sentences]
Path("raw.txt").write_text("".join(" ".join(s.tokens) + "\n" for s in sentences[:2000]), "utf-8")
Path("places.txt").write_text("Berlin\nLima\nOslo\nTunis\nQuito\nTurin\nBergen\nPorto\nParis\n", "utf-8")
Path("rules.toml").write_text(RULES, "utf-8")
for name, part in {"answers": records[:100], "dev": records[2000:2150], "test": records[2150:]}.items():
    Path(f"{name}.jsonl").write_text("".join(part), "utf-8")
