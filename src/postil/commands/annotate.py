"""``postil annotate``: label text on a local page while a model learns from the answers."""

import secrets
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from postil.commands.labelled import load_labelled, tagger_of, tagger_options
from postil.commands.models import open_model, tagger_of_names
from postil.commands.notices import note
from postil.commands.parser import option, refuse
from postil.commands.reading import options_for_file, reading_options, warn_of_unspaced
from postil.commands.serve import VARIABLE, check_extra, listen, token_of
from postil.errors import ConfigurationError
from postil.features.gazetteer import names_in_files
from postil.models.tagger import Tagger
from postil.text import Reading, read
from postil.text.labels.schemes import convert, recognise

if TYPE_CHECKING:
    from postil.annotation import Annotation, Journal, Labelled

DESCRIPTION = """\
Label text with the keyboard, on a page served on this machine. A model proposes spans, and the page asks only about
those that it is unsure of. After every 20 answers, the model is trained on all of them in the background, and the
sentences that it is least sure of come next. Every answer is saved immediately: you can end or kill the command at any
time and continue later. Needs the extra serve.

  postil annotate raw.txt --labels PER,LOC,ORG -o answers.jsonl      start from scratch
  postil annotate raw.txt --model ner.postil -o answers.jsonl        start from the predictions of a model
  postil annotate raw.txt --train gold.txt -o answers.jsonl          also learn from labelled data
  postil annotate raw.txt --rules rules.toml -o answers.jsonl        start from rules, and change them on the page
  postil annotate raw.txt --gazetteer LOC=places.txt -o answers.jsonl    start from the names of a list
  postil annotate --review doubts.jsonl -o reviewed.jsonl            review the output of `postil doctor --review`
  postil train answers.jsonl -o mine.postil                          train on the answers

POOL may be plain text, JSON Lines, CoNLL columns or any other format that Postil reads, and may be larger than memory.
Labels in it are shown as proposals. The page is reachable from this machine only, with the token in the printed
address.
"""
SHOWN = "-o --model --labels --rules --gazetteer --review --train --every --sure --port --preset --set --from"
OPTIONS = {
    "": [
        option("POOL", "the text to label", nargs="?"),
        # Nothing is replaced: whether the file holds answers is seen when it is opened.
        option(
            "-o --output FILE", "file of answers, to write or to continue", type=Path, required=True, writes="jsonl"
        ),
        option("--model MODEL", "model that makes the first proposals and is trained further"),
        option("--labels C,C", "the classes to label (default: those of the model)"),
        option(
            "--rules FILE",
            "rules that vote on the pool, as in `postil rules`: a model is trained on the votes and the answers",
        ),
        option(
            "--gazetteer FILE …",
            "names to propose until there is a model, one per line: CLASS=FILE, or a file called after its class",
        ),
        option("--review FILE", "review suspected errors of `postil doctor` instead of a pool"),
        option("--train DATA …", "labelled file to train on as well"),
        option("--every N=20", "train after every N answers; 0: never", least=0),
        option("--sure P=0.9", "do not ask about spans that are at least this probable"),
        option("--buffer N=50000", "records to choose from at a time", least=1),
        option("--port PORT=8000", "port to listen on; 0: any free one"),
    ],
    **tagger_options(
        "on the answers; with --model, its preset and settings are the default",
        "cores",
        misaligned="snap",
        overlaps="longest",
    ),
}


def run(arguments: Namespace) -> int:
    if (arguments.pool is None) == (arguments.review is None):
        arguments.usage_error("POOL and --review exclude each other" if arguments.pool else "POOL is needed")
    check_extra()
    _check(arguments)
    from postil.annotation import Journal
    from postil.server import ServerSettings, create_annotator

    token = token_of(None) or secrets.token_urlsafe(24)
    settings = ServerSettings(port=arguments.port, token=token)
    tagger = None
    if arguments.model is not None:
        model = open_model(arguments.model)
        tagger = tagger_of_names(model)
        if tagger is None:
            raise ConfigurationError("--model", expected="must be a tagger of spans", got=f"a {model.KIND}")
        if tagger.model.features.columns or tagger.model.config.word_key is not None:
            raise ConfigurationError("--model", expected="must need words alone", got="a model with extra features")
    pool, known = arguments.pool, tagger and tagger.model.segmenter
    options = reading_options(arguments, known) if known else options_for_file(arguments, pool)
    options["features"] = ()
    with read(arguments.pool or arguments.review, **options) as reading, Journal(arguments.output) as journal:
        warn_of_unspaced(reading, options["segmenter"])
        if journal.torn is not None:
            note(journal.torn)
        annotation = _annotation(arguments, reading, tagger, journal)
        app = create_annotator(annotation, settings, is_review=arguments.review is not None)
        secret = f"/#token={token}" if token_of(None) is None else f" (the token is in {VARIABLE})"
        listen(app, settings, lambda address: [f"annotating at {address}{secret} (Ctrl-C ends it)"])
        done = annotation.progress()
    note(f"{arguments.output}: {done['answered']:,} answered, {done['skipped']:,} skipped, {done['spans']:,} spans")
    return 0


def _check(arguments: Namespace) -> None:
    if not 0 < arguments.sure <= 1:
        raise ConfigurationError("sure", expected="must be above 0 and at most 1", got=arguments.sure)
    if arguments.review is not None:
        refuse(arguments, "--review has its own proposals", "rules", "gazetteer", "model", "train", "source_format")
    if arguments.rules is not None:
        refuse(arguments, "a model or a list can be one of the rules", "model", "gazetteer")
        if not arguments.every:
            raise ConfigurationError("--every", expected="must be at least 1 with --rules", got=0)
    elif arguments.model is not None:
        refuse(arguments, "the model makes the proposals", "gazetteer")


def _annotation(arguments: Namespace, reading: Reading, tagger: Tagger | None, journal: "Journal") -> "Annotation":
    from postil.annotation import REVIEWED, Annotation, EditedRules, Pool, checked_class, key_of, rules_of_names

    labelled = _labelled(arguments)
    is_learning = arguments.every and not arguments.review
    names = [
        (checked_class(label or of_line), name)
        for label, path in map(_class_and_file, arguments.gazetteer)
        for of_line, name in names_in_files([path])
    ]
    return Annotation(
        Pool(
            reading,
            window=arguments.buffer,
            name=Path(reading.name).name,
            identity=REVIEWED if arguments.review is not None else None,
        ),
        journal,
        tagger=tagger,
        estimator=_estimator(arguments, tagger) if is_learning else None,
        classes=[checked_class(name) for name in (arguments.labels or "").split(",") if name],
        labelled=labelled,
        every=arguments.every or 1,
        sure=arguments.sure,
        rules=None if arguments.rules is None else EditedRules(Path(arguments.rules)),
        names=rules_of_names(names) if names else None,
        known=frozenset(key_of(tokens) for tokens in labelled[0]) if labelled is not None else frozenset(),
    )


def _class_and_file(word: str) -> tuple[str, str]:
    """CLASS=FILE, or a file alone."""
    label, equals, path = word.partition("=")
    return (label, path) if equals and not Path(word).exists() else ("", word)


def _estimator(arguments: Namespace, known: Tagger | None) -> Tagger:
    """The estimator to train on the answers."""
    tagger = tagger_of(arguments, known).set_params(threads=arguments.threads)
    if arguments.rules is not None and tagger.config.objective != "crf":
        raise ConfigurationError("--rules", expected="needs a preset with the objective crf", got=tagger.preset)
    return tagger


def _labelled(arguments: Namespace) -> "Labelled | None":
    """The files of --train: words, and labels in BIO."""
    if not arguments.train:
        return None
    files = load_labelled(arguments.train, arguments)
    labels = [labels for file in files for labels in file.labels]
    scheme = recognise(labels)
    if scheme == "none":
        raise ConfigurationError("--train", expected="must have labels of spans, such as B-PER", where=files[0].path)
    X = [tokens for file in files for tokens in file.tokens]
    return X, labels if scheme == "bio" else [convert(one, scheme, "bio") for one in labels]
