"""The page that trains: labels, a training run, and a tagger in one HTML file without a server.

``training.mjs`` trains the preset ``fast`` without vectors, by the kernels of the package in WebAssembly (trainer.c).
It gets from here what it cannot know: the settings, the tables of characters, and the rules that cut text.
"""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import postil
from postil import archive, files
from postil.errors import ConfigurationError
from postil.export.flat import check_target, cut_sections, licences, notice, written
from postil.export.web.writing import assembled, binary, shared, source
from postil.kernels.characters import frozen, shapes_of_categories
from postil.models import config
from postil.models.engine import character_sections
from postil.models.tagger import Tagger
from postil.text.splitting.segmenter import ENGLISH, Segmenter

MOST_BYTES = 64 << 20  # of a model file: as in training.mjs.
SEGMENTERS = {"english": ENGLISH, "neutral": Segmenter.from_dict({"rules": "neutral"})}
FIXED = (*config.ARCHITECTURE, "constrained")  # settings that make the network what it is: the page has those of `fast`
SCHEMES = {"bio": "BIIB", "iobes": "BIES", "bilou": "BILU", "bmewo": "BMEW"}
"""Letters of the first, middle, last and only token of a span."""
MOST_CLASSES = 49  # 1 + 4 · 49 labels: what the kernels take at once


def write_trainer(path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> int:
    """Write the page, with a model file that it begins with, if one is given; the number of its bytes."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigurationError("--trainable", expected="a page: -o must end in .html", got=str(target))
    check_target(target)
    content = b"" if model is None else _checked(Path(model))
    page = assembled(
        {"title": "Label, train, tag", **settings()},
        {"wasm": binary("trainer.wasm"), "constants": constants(), "model": content},
        styles=[shared("labelling.css"), source("trainer.css")],
        scripts=[
            *map(shared, ("spans.js", "labelling.js")),
            *map(source, ("runtime.mjs", "training.mjs", "records.mjs", "trainer.js")),
        ],
        note="Everything happens inside this page. What you label never leaves it.",
        version=postil.__version__,
        licences=notice() if model is None else licences(Path(model)),
    ).encode()
    with files.replaced(target) as stream:
        stream.write(page)
    return len(page)


def settings() -> dict[str, Any]:
    """What a training run in JavaScript begins with, as JSON values."""
    estimator = Tagger(preset="fast").get_params()
    names = ("preset", "vectors", "seed", "clusters", "gazetteers", "pretrained")
    return {
        "version": postil.__version__,
        "unicode": frozen().version_name,
        "config": asdict(config.configured("fast", {})),
        "fixed": FIXED,
        "schemes": SCHEMES,
        "mostClasses": MOST_CLASSES,
        "amounts": {name: getattr(config, name) for name in ("EPOCHS", "FULL_EPOCH", "FEW_SENTENCES", "FEWEST_STEPS")},
        "estimator": {name: estimator[name] for name in names},
        "segmentations": [segmenter.to_dict() for segmenter in SEGMENTERS.values()],
    }


def constants() -> bytes:
    """The arrays that all models share: characters, and the rules of each segmenter."""
    rules = {f"{name}/{part}": array for name, of in SEGMENTERS.items() for part, array in cut_sections(of).items()}
    return written({**character_sections(), "words/shapes": shapes_of_categories(), **rules})


def _checked(path: Path) -> bytes:
    """The bytes of a model file that the page can open."""
    estimator = postil.load(path)
    obstacle = _obstacle(estimator)
    if obstacle is not None:
        expected = "a tagger of spans of the preset fast, without vectors"
        raise ConfigurationError("the model of a page that trains", expected=expected, got=obstacle, where=path)
    content = path.read_bytes()
    if len(content) > MOST_BYTES or any(array.dtype == np.float16 for array in archive.load(path)[0].values()):
        expected = f"single precision, and at most {MOST_BYTES >> 20} MB"
        raise ConfigurationError("the model of a page that trains", expected=expected, where=path)
    return content


def _obstacle(estimator: Any) -> str | None:
    """Why the page cannot open a model; None: it can. ``checkedModel`` in training.mjs asks the same of a file."""
    if not isinstance(estimator, Tagger):
        return f"a {estimator.KIND}"
    model, standard = estimator.model, config.configured("fast", {})
    for name in FIXED:
        if getattr(model.config, name) != getattr(standard, name):
            return f"{name}={getattr(model.config, name)}"
    words, codec = model.features.words, model.codec
    others = {
        "vectors": model.network.vectors is not None,
        "lists of words": bool(words.lexicons) or model.features.gazetteer is not None,
        "letters that are folded, as of languages other than English": words.folds is not None,
        "extra columns": bool(model.features.columns),
        "rules": model.voters is not None,
        f"labels of the scheme {codec.scheme}": codec.scheme not in SCHEMES,
        f"{len(codec.classes)} classes": not 1 <= len(codec.classes) <= MOST_CLASSES,
        "other rules for cutting text": model.segmenter not in SEGMENTERS.values(),
    }
    return next((name for name, is_there in others.items() if is_there), None)
