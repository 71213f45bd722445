"""``postil tag``: label text of any size, streamed, in the order of the input."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from glob import glob
from itertools import accumulate
from math import exp
from pathlib import Path
from typing import Any, BinaryIO, cast, final

from postil.commands import models
from postil.commands.notices import note, progress_line
from postil.commands.output import CSV, PARQUET, check_output, output_format
from postil.commands.parser import OVERWRITE, option, typed_name
from postil.commands.reading import (
    CHARACTERS,
    model_script,
    reading_arguments,
    reading_options,
    warn_of_language,
    warn_of_script,
    warn_of_unspaced,
)
from postil.errors import ConfigurationError, DataError
from postil.files import replaced
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.distribution import check_probability
from postil.tagging import TaggingOptions, label
from postil.tagging.bulk import check_threads, in_order
from postil.tagging.options import TAGGER_OPTIONS, chosen, threshold_of
from postil.text import ReadOptions, Segmenter, Sentence
from postil.text.formats import Reading, format_of, read
from postil.text.output import packed, write_text
from postil.text.trees.tree import SHAPES

DESCRIPTION = """\
Label text. Reads files, a folder or standard input; writes to standard output or -o PATH. The ending of PATH decides
the format (.jsonl .conll .conllu .csv .parquet .html) unless --to does. Inputs may be larger than memory.

  postil tag "Angela Merkel met Tim Cook in Cupertino."   the installed English model (package postil-english)
  postil tag ner.postil --text "Museums in Paris are amazing."
  postil tag ner.postil article.txt -o answers.jsonl --probabilities
  postil tag ner.postil articles/ -o answers.jsonl      a folder; every line has its file as "source"
  postil tag ner.postil articles/ -o answers/           one file for each file
  cat tokens.txt | postil tag ner.postil --from tokens > tagged.conll
  postil tag ner.postil test.conll --keep-gold | conlleval -d '\\t'     gold and predicted labels side by side
  postil tag pos.postil corpus.conllu --to conllu > tagged.conllu      fills one column, keeps all others
  postil tag ner.postil records.jsonl --to jsonl --nbest 3
  postil tag ner.postil article.txt --threshold 0.5 --threshold LOC=0.8
  postil tag ner.postil --text "Museums in Paris are amazing." --require 11:16=LOC
  postil tag ner.postil article.txt --rules rules.toml  lists and patterns vote, without training
  postil tag ner.postil news.parquet --column text -o tagged/         a folder of Parquet files with the entities added
  postil tag sentiment.postil new.trees                 a tree classifier: trees in, labelled trees out
  postil tag redact.postil letters.txt --to redacted -o letters.redacted.txt      hide names: see postil tune --miss
  postil tag ner.postil 'data/*.parquet' --column text --engine ray -o tagged    on all cores, or on a Ray cluster

The first argument is the MODEL if it is the name of an installed model or a model file. Otherwise the installed English
model is used. Any other argument is a file, a folder, or, if it contains a space, a text. On a terminal, the entities
of plain text are shown in colour with their probabilities; --to conll prints columns instead.

Plain text is split into sentences and tokens. With --from tokens, each line is a sentence with spaces between tokens.
With --from characters, every character of plain text is a token: for Chinese, Japanese, Thai and other text without
spaces. A model that was trained on characters splits text into characters automatically.

CoNLL output has one token per line, with its label after a tab; --probabilities inserts a column with the probability
of the label before it. JSON Lines output has one object per text, with spans: start, end, label. --probabilities adds
to each span the probability that exactly this span is an entity of this class. Models whose labels have no spans, such
as parts of speech, write tokens: start, end, label and, with --probabilities, the probability of the label. For JSON
Lines input, there is one output line for every record, in the same order, even if its text is empty.

CoNLL-U output for CoNLL-U input is the input with --label-column filled in (default: upos; misc:NER for spans).

An input object may contain constraints: {"require": [[11, 16, "LOC"]], "forbid": [[0, 7]], "allow": [[11, 16, ["LOC",
"O"]]]}. Offsets count characters, or tokens if the object lists its tokens. Probabilities are then conditional on the
constraints.

A model that detects one label has scores instead of probabilities: --scores. In JSON Lines, the score of a span is the
lowest score of its tokens.

In tables (Parquet or CSV), the text is in --column. All columns are kept, and the results are added as columns of lists
(--parts). -o FOLDER writes one Parquet file per row group, and the same command continues an interrupted job;
-o FILE.parquet writes a single file, and so does -o FILE.csv, with the lists as JSON. All need the extra arrow.

A model of semantic roles writes CoNLL-2005 columns or JSON Lines, one object per sentence; on a terminal and a page,
every predicate has a row. Predicates are found, or taken from an input in CoNLL-2005 columns.

A tree classifier labels every phrase. For a sentence without a tree, --tree sets the shape of the tree. JSON Lines
output has one object per sentence with its label and probabilities; --probabilities adds those of all phrases.
"""
SHOWN = (
    "--text -o --from --to --probabilities --nbest --threshold --require --forbid --column --task --threads --overwrite"
)
PAGE, REDACTED = "html", "redacted"
_FORMATS = ["conll", "conllu", "conll05", "jsonl", CSV, "trees", PARQUET, PAGE, REDACTED]
_STYLES = ["placeholders", "pseudonyms", "html"]
_RAY = "--engine ray"
_SPAN, _LABELLED_SPAN = "START:END or START:END=CLASS", "START:END=LABEL,…"
OPTIONS = {
    "": [
        option("[MODEL] [TEXT | FILE… | FOLDER]", models.WORDS_HELP.format("label"), nargs="*", dest="words"),
        option("--text TEXT", "label this text"),
        option("-o --output PATH", "file or folder to write (default: standard output)"),
        option(
            "--to FORMAT",
            f"format of the output: {', '.join(_FORMATS)} (default: from the ending of -o; else conll)",
            choices=_FORMATS,
        ),
        option("--keep-gold", "conll: write the labels of the input before the predicted ones"),
        option("--tree", "tree classifiers: shape of the tree over a sentence", choices=list(SHAPES)),
        option("--probabilities", "add the probability of each label or entity"),
        option("--scores", "add the score of each token (detectors)"),
        option(
            "--task NAME …",
            "multi-task models: predict only this task (repeatable; default: all, each in a column or layer)",
        ),
        option("--nbest K", "jsonl: add the K best labellings of each sentence", type=int),
        option("--threads N=1", "number of cores to use; does not change the result"),
        OVERWRITE,
    ],
    "predictions of taggers": [
        option(
            "--threshold [CLASS=]P …",
            "drop entities whose probability is below P, for one class or for all (repeatable)",
        ),
        option(
            "--all-above P",
            "jsonl: add every span with a probability of at least P as spans_above, in the best labelling or not",
            type=float,
        ),
        option(
            "--require START:END[=CLASS] …", "these characters of the text are an entity (of this class) (repeatable)"
        ),
        option(
            "--forbid START:END[=CLASS] …",
            "exactly these characters of the text are not an entity (of this class) (repeatable)",
        ),
        option(
            "--allow START:END=LABEL,… …",
            "the words in these characters have one of these labels or classes (repeatable)",
        ),
        option(
            "--require-names CLASS=FILE …",
            "every name in FILE (one per line) is an entity of CLASS wherever it occurs (repeatable)",
            dest="gazetteer_constraint",
        ),
        option(
            "--rules FILE", "let these rules vote, in place of those in the model: see `postil rules --help`", type=Path
        ),
        option("--no-rules", "ignore the rules in the model"),
    ],
    "redaction: --to redacted, with a model from postil tune --miss": [
        option("--classes CLASS,…", "classes that the model must promise to hide (default: those it promises)"),
        option("--miss E", "share of names that may be missed (default: the one it promises)", type=float),
        option(
            "--hide-as",
            "[PER]; the same PER-1 for the same name; or a page with the risk of every passage (default: placeholders)",
            choices=_STYLES,
        ),
        option("--no-promise", "redact text that is unlike the data of the promise"),
    ],
    "tables: Parquet and CSV": [
        option("--column NAME", "tables: column of the texts (default: text)"),
        option(
            "--parts PART,…",
            "results to add: entities, tokens, labels, sentences (default: entities; tokens for labels without spans)",
        ),
        option(
            "--offsets",
            "also JSON Lines: what offsets count (default: characters)",
            choices=["characters", "utf16", "bytes"],
            default="characters",
        ),
    ],
    "reading": reading_arguments(),
    "Parquet files on many cores or machines (needs the extra ray)": [
        option("--engine", "tag Parquet files with Ray Data, into the folder -o", choices=["ray"]),
        option("--address ADDRESS", "Ray cluster to use: auto or HOST:PORT (default: a new one)", needs=_RAY),
        option("--workers N", "maximum number of workers (default: one per core)", needs=_RAY, least=1),
        option("--ship-model", "send the model file to machines that cannot read it", needs=_RAY),
    ],
}


def run(arguments: argparse.Namespace) -> int:
    folder, to_folder = _take_words(arguments)
    if arguments.engine == "ray" or _are_tables(arguments):
        from postil.commands.tag_tables import tag_tables

        return tag_tables(arguments, tagging_options)
    if arguments.parts is not None:
        raise ConfigurationError("--parts", expected="needs tables: Parquet or CSV files, and Parquet output")
    options = tagging_options(arguments)
    model, path = models.ruled_model(arguments)
    segmenter = reading_options(arguments, model.model.segmenter)["segmenter"]
    options = replace(options, reading=replace(options.reading, segmenter=segmenter))
    readings = _readings(arguments, segmenter, model_script(model.model))
    of_redaction = [name for name in ("classes", "miss", "hide_as") if getattr(arguments, name) is not None]
    if arguments.to == REDACTED:
        return _write_redacted(model, readings, arguments, options, folder if to_folder else None)
    for name in [*of_redaction, *(["no_promise"] if arguments.no_promise else [])]:
        raise ConfigurationError(typed_name(name), expected=f"needs --to {REDACTED}")
    if arguments.to == PAGE:
        return _write_page(model, readings, arguments, options)
    is_read = _is_to_be_read(arguments, options)
    if model.KIND == "role-labeller":
        from postil.commands.roles import COLUMNS, tag_roles

        format = options.output or COLUMNS
        return tag_roles(
            model, _outputs(arguments, readings, folder, to_folder, format), options, format, shown=is_read
        )
    if is_read and (names := models.tagger_of_names(model)) is not None:
        from postil.commands.console import make_console, show_tagged

        console = make_console()
        for reading in readings:
            show_tagged(console, model.by_task() if getattr(model, "groups_", None) else {"": names}, reading)
        return 0
    format = options.output or ("trees" if model.KIND == "tree-classifier" else "conll")
    long_sentences: list[int] = []
    with progress_line(to_file=arguments.output is not None) as progress:
        for output, some in _outputs(arguments, readings, folder, to_folder, format):
            summary = label(model, some, options, output, threads=arguments.threads, path=path, progress=progress)
            long_sentences += summary.long_sentences
    models.warn_of_long_sentences(model, long_sentences)
    return 0


def _take_words(arguments: argparse.Namespace) -> tuple[Path | None, bool]:
    """Find model, inputs and format. Returns the folder of the inputs, and whether each of them gets a file."""
    arguments.model, inputs = models.take_model(arguments.words, arguments.text)
    arguments.text, arguments.files = models.take_inputs(inputs, arguments.text)
    if arguments.engine != "ray":  # which may look for them on another file system
        arguments.files = [path for name in arguments.files for path in _matched(name)]
    folder = _folder(arguments.files)
    if folder is not None:
        arguments.files = _files_in(folder, arguments.output)
    to_folder = folder is not None and arguments.output is not None  # an answer for each file of the folder
    to_folder = to_folder and (
        arguments.output.endswith("/") or Path(arguments.output).is_dir() or not Path(arguments.output).suffix
    )
    has_tables = arguments.column is not None or bool(arguments.files and arguments.files[0].endswith(f".{PARQUET}"))
    arguments.to = arguments.to or ("jsonl" if to_folder and not has_tables else _named(arguments.output))
    return folder, to_folder


# ------------------------------------------------------------------------------------------------ what is read


def _matched(name: str) -> list[str]:
    """The files that a pattern in quotes stands for, in the order of their names; the name itself if there are none."""
    is_pattern = any(sign in name for sign in "*?[") and not Path(name).exists()
    return (sorted(glob(name, recursive=True)) if is_pattern else None) or [name]  # noqa: PTH207


def _folder(files: Sequence[str]) -> Path | None:
    """The folder that is to be labelled; None for files. A folder of brat is one source, which its reader opens."""
    folders = [Path(name) for name in files if name != "-" and Path(name).is_dir()]
    if not folders:
        return None
    if len(files) > 1:
        raise ConfigurationError("inputs", expected="must be files or one folder", got=f"folder {folders[0]}")
    return None if next(folders[0].rglob("*.ann"), None) is not None else folders[0]


def _files_in(folder: Path, output: str | None) -> list[str]:
    """All files below a folder, hidden ones and those of the output left out."""
    written = None if output is None else Path(output).resolve()
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (written is None or (path.resolve() != written and written not in path.resolve().parents))
    ]
    if not paths:
        raise DataError("no files in the folder", expected="at least one file of text", where=folder)
    return list(map(str, paths))


def _are_tables(arguments: argparse.Namespace) -> bool:
    """Whether the inputs are tables of texts, whose rows are kept.

    A CSV file can also be read as texts, or as a table of words, if nothing but its name says that it is a table.
    """
    if arguments.column is not None or arguments.to == PARQUET or arguments.source_format in (PARQUET, CSV):
        return True
    if arguments.source_format is not None or not arguments.files:
        return False
    first = arguments.files[0]
    if first.endswith(f".{PARQUET}"):
        return True
    if not first.endswith(f".{CSV}") or arguments.to not in (None, CSV):
        return False
    try:
        return format_of(first, arguments.encoding) != CSV and arguments.output is not None
    except DataError:  # which the table's reader meets again
        return True


def _readings(arguments: argparse.Namespace, segmenter: Segmenter, script: str | None) -> Iterator[Reading]:
    """The inputs, of which every record of JSON Lines is answered."""
    options = {**reading_options(arguments, segmenter, groups=True), "every_record": True}
    if arguments.text is not None:
        options["format"] = "text"
    is_warned = False
    for source in models.typed_source(arguments, "--text"):
        with read(source, **options) as reading:
            is_warned = (
                is_warned
                or warn_of_unspaced(reading, options["segmenter"])
                or warn_of_script(reading, script)
                or warn_of_language(reading, options["segmenter"])
            )
            yield reading


# ------------------------------------------------------------------------------------------------ what is asked for


def tagging_options(arguments: argparse.Namespace) -> TaggingOptions:
    """The options that the command line asks for."""
    for_all, by_class = _thresholds(arguments.threshold)
    files, reading = arguments.files, {**reading_options(arguments, groups=True), "every_record": True}
    del reading["format"]
    same = ("probabilities", "scores", "keep_gold", "nbest", "all_above", "tree", "offsets")
    return TaggingOptions(
        output=arguments.to,
        reading=ReadOptions(**reading),
        threshold=for_all,
        class_thresholds=by_class,
        constraints=_constraints(arguments),
        gazetteer_constraints=[_class_and_file(word) for word in arguments.gazetteer_constraint],
        tasks=arguments.task,
        source=files[0] if len(files) == 1 and files[0] != "-" else "",
        **{name: getattr(arguments, name) for name in same},
    )


def _thresholds(words: list[str]) -> tuple[float | None, dict[str, float]]:
    """``0.8`` for all classes, ``LOC=0.8`` for one; the one of a class takes precedence."""
    for_all: float | None = None
    by_class: dict[str, float] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        try:
            lowest = float(number)
        except ValueError:
            raise ConfigurationError("--threshold", expected="P or CLASS=P", got=repr(word)) from None
        check_probability(lowest, f"--threshold {word}")
        if equals:
            by_class[name] = lowest
        else:
            for_all = lowest
    return for_all, by_class


def _constraints(arguments: argparse.Namespace) -> Constraints:
    used = [name for name in ("require", "forbid", "allow") if getattr(arguments, name)]
    if not used:
        return Constraints()
    if arguments.text is None or "\n" in arguments.text.strip("\n"):
        expected = "needs --text with a single line (the records of a JSON Lines file carry their own constraints)"
        got = "no --text" if not arguments.text else "several lines"
        raise ConfigurationError(f"--{used[0]}", expected=expected, got=got)
    allowed = [(*place, labels.split(",")) for *place, labels in _spans(arguments, "allow", _LABELLED_SPAN)]
    return Constraints(
        require=_spans(arguments, "require", _SPAN),
        forbid=_spans(arguments, "forbid", _SPAN),
        allow=allowed,
        where="--text",
    )


def _spans(arguments: argparse.Namespace, option: str, expected: str) -> list[tuple[int, int, Any]]:
    """``START:END`` and ``START:END=LABEL``, which --allow needs."""
    spans = []
    for word in getattr(arguments, option):
        place, _, label = word.partition("=")
        start, _, end = place.partition(":")
        is_whole = start.isdecimal() and end.isdecimal() and not word.endswith("=")
        if not is_whole or (option == "allow" and not label):
            raise ConfigurationError(f"--{option}", expected=expected, got=repr(word))
        spans.append((int(start), int(end), label or None))
    return spans


def _class_and_file(word: str) -> tuple[str, str]:
    label, equals, path = word.partition("=")
    if not equals or not path:
        raise ConfigurationError("--require-names", expected="CLASS=FILE", got=repr(word))
    return label, path


# ------------------------------------------------------------------------------------------------ what is written


def _named(output: str | None) -> str | None:
    """The format that the ending of -o asks for; None: the usual one."""
    named = None if output is None or output.endswith(".txt") else output_format(output)
    named = PAGE if named == "report" else named
    if named is None or named in _FORMATS:
        return named
    *endings, last = [f".{name}" for name in _FORMATS if name != REDACTED]
    expected = f"must end in {', '.join(endings)} or {last} (or --to names the format)"
    raise ConfigurationError("-o", expected=expected, got=output)


def _outputs(
    arguments: argparse.Namespace, readings: Iterator[Reading], folder: Path | None, to_folder: bool, format: str
) -> Iterator[tuple[BinaryIO, Iterable[Reading]]]:
    """Each file to write, and what goes into it. JSON Lines of several files name the file of each line."""
    if to_folder:
        assert folder is not None
        targets = _targets(folder, arguments, format)
        for reading, target in zip(readings, targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _opened(str(target), format, arguments) as stream:
                yield _sourced(stream, reading.name) if format == "jsonl" else stream, [reading]
        return
    with _opened(arguments.output, format, arguments) as stream:
        if format == "jsonl" and (folder is not None or len(arguments.files) > 1):
            for reading in readings:
                yield _sourced(stream, reading.name), [reading]
        else:
            yield stream, readings


def _targets(folder: Path, arguments: argparse.Namespace, format: str) -> list[Path]:
    """The path of each answer: that of its input, in another folder, with the ending of its format."""
    targets = [
        Path(arguments.output, Path(name).relative_to(folder)).with_suffix(f".{format}") for name in arguments.files
    ]
    seen: dict[Path, str] = {}
    for name, target in zip(arguments.files, targets, strict=True):
        if target in seen:
            expected = f"must have different names up to the ending (or -o answers.{format} for a single file)"
            raise ConfigurationError("files of a folder", expected=expected, got=f"{seen[target]} and {name}")
        seen[target] = name
    return targets


@contextmanager
def _opened(target: str | None, format: str, arguments: argparse.Namespace) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when everything is written."""
    if target is None:
        yield sys.stdout.buffer
        return
    inputs = [arguments.model, *arguments.files]
    check_output(target, "output", format, inputs=inputs, overwrite=arguments.overwrite)
    with replaced(target) as file, packed(file, target) as stream:
        yield stream


@final
class _Sourced:
    """A stream of JSON Lines that get the name of the file they come from, unless a record has a source already."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        field = b', "source": ' + json.dumps(name, ensure_ascii=False).encode("utf8", "backslashreplace")
        self._stream, self._end = stream, field + b"}\n"

    def write(self, content: bytes) -> int:
        if b'"source"' not in content:
            return self._stream.write(content.replace(b"}\n", self._end))
        lines = content.splitlines(True)
        return self._stream.write(
            b"".join(line if b'"source"' in line else line.replace(b"}\n", self._end) for line in lines)
        )

    def flush(self) -> None:
        self._stream.flush()


def _sourced(stream: BinaryIO, name: str) -> BinaryIO:
    return cast(BinaryIO, _Sourced(stream, name))


def _write_page(model: Any, readings: Iterable[Reading], arguments: argparse.Namespace, options: TaggingOptions) -> int:
    """The texts with their entities marked, as one HTML page."""
    allowed = ("threshold", "class_thresholds", "constraints")
    options.refuse(*(name for name in TAGGER_OPTIONS if name not in allowed), why="a page shows entities only")
    inputs = [arguments.model, *arguments.files]
    check_output(arguments.output, "output", "report", inputs=inputs, overwrite=arguments.overwrite)
    if not hasattr(model, "tag"):
        raise ConfigurationError("--to html", expected="needs a tagger or a detector", got=f"a {model.KIND}")
    if model.KIND == "role-labeller":
        options.refuse(*TAGGER_OPTIONS, "scores", "keep_gold", why="the model labels semantic roles")
        from postil.commands.roles import labelled
        from postil.text import Document

        sentences = [sentence for reading in readings for block in labelled(model, reading) for sentence in block]
        write_text(arguments.output or "-", [Document("", sentences).to_html(title=_title(arguments))])
        return 0
    text = "\n\n".join(text.strip("\n") for text in _texts(readings))
    decoding: dict[str, Any] = {}
    if options.constraints:
        decoding["constraints"] = options.constraints
    if options.threshold is not None or options.class_thresholds:
        decoding["threshold"] = threshold_of(model.model.codec, options)
    write_text(arguments.output or "-", [model.tag(text, **decoding).to_html(title=_title(arguments))])
    return 0


def _texts(readings: Iterable[Reading]) -> Iterator[str]:
    """The texts of the inputs; sentences without one as their tokens with spaces between."""
    from postil.commands.console import by_text

    for reading in readings:
        for text, sentences in by_text(reading):
            yield text or "\n".join(" ".join(sentence.tokens) for sentence in sentences)


def _title(arguments: argparse.Namespace) -> str:
    return "the text" if arguments.text is not None else ", ".join(arguments.files[:3]) or "standard input"


def _write_redacted(
    model: Any, readings: Iterable[Reading], arguments: argparse.Namespace, options: TaggingOptions, folder: Path | None
) -> int:
    """The texts without the names that the model promises to hide, and what may be left on standard error.

    The promise is about all of them, so they wait in a temporary file until the last one has been compared with dev.
    ``folder``: the inputs' folder, if each of them gets a file.
    """
    from tempfile import TemporaryFile  # slow to import, and seldom needed

    from postil.models.decoding.redaction import Pseudonyms, RedactionRun, redacted, redacted_page, valid_promise

    options.refuse(*TAGGER_OPTIONS, "probabilities", "keep_gold", why="a redacted text has no labels")
    tagger = chosen(model, options.tasks)
    if tagger.KIND != "tagger":
        raise ConfigurationError(f"--to {REDACTED}", expected="needs one tagger (--task NAME)", got=f"a {tagger.KIND}")
    promise = valid_promise(tagger.model)
    if arguments.classes is not None and set(arguments.classes.split(",")) != set(promise.classes):
        expected = f"{','.join(promise.classes)}, or another promise: postil tune MODEL DEV --miss E --classes …"
        raise ConfigurationError("--classes", expected=expected, got=arguments.classes)
    if arguments.miss is not None and not promise.miss <= arguments.miss:
        expected = f"at least {promise.miss:g}, which the model promises (postil tune --miss)"
        raise ConfigurationError("--miss", expected=expected, got=arguments.miss)
    style = arguments.hide_as or (PAGE if str(arguments.output).endswith(f".{PAGE}") else _STYLES[0])
    targets: list[Any] = [arguments.output]
    if folder is not None:
        targets = _targets(folder, arguments, PAGE if style == PAGE else "txt")
    inputs = [arguments.model, *arguments.files]
    for target in targets:
        if folder is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
        check_output(target, "output", "report", inputs=inputs, overwrite=arguments.overwrite or style != PAGE)
        if style != PAGE and target is not None and Path(target).is_file() and not arguments.overwrite:
            expected = "must not exist: --overwrite replaces it"
            raise ConfigurationError("output", expected=expected, where=target)
    check_threads(arguments.threads)
    run, numbers = RedactionRun(promise), Pseudonyms()

    def shown(readings: Iterable[Reading], title: str) -> Iterator[str]:
        """The output, a part of the input at a time; a page when everything has been read."""
        redact = partial(redacted, tagger.model, check=False)
        blocks, page = _blocks_of_texts(readings, options.reading.segmenter), []
        with closing(in_order(redact, blocks, arguments.threads)) as answers:
            for one in (one for block in answers for one in block):
                run.add(one)
                if progress is not None:
                    progress(one.tokens)
                if style == PAGE:
                    page.append(one)
                    continue
                text = one.pseudonyms(numbers) if style == "pseudonyms" else one.placeholders()
                yield text if text.endswith("\n") else f"{text}\n"
        if style == PAGE:
            yield redacted_page(page, title)

    groups: Iterable[Iterator[str]] = [shown(readings, _title(arguments))]
    if folder is not None:
        groups = (shown([reading], reading.name) for reading in readings)
    with progress_line(to_file=arguments.output is not None) as progress, TemporaryFile() as waiting:
        if arguments.no_promise:
            for target, pieces in zip(targets, groups, strict=True):
                write_text(target or "-", pieces)
        else:
            ends = []
            for pieces in groups:
                for piece in pieces:
                    waiting.write(piece.encode("utf8", "surrogatepass"))
                ends.append(waiting.tell())
            run.check()
            waiting.seek(0)
            for target, end in zip(targets, ends, strict=True):
                write_text(target or "-", _pieces(waiting, end))
    says = "no promise is made" if arguments.no_promise else str(promise)
    note(f"{says}; no name is left at all with probability {exp(run.log_probability):.3f}, by the model")
    for look in run.look_first:
        note(f"  look at {look.text!r} ({look.label} {look.probability:.3f})")
    return 0


def _blocks_of_texts(readings: Iterable[Reading], segmenter: Segmenter) -> Iterator[list[tuple[str, list[Sentence]]]]:
    """The texts of the inputs with their sentences, a bounded number of characters at a time.

    A file of plain text is cut into passages; a sentence that is only given as tokens is a text.
    """
    from postil.commands.console import by_text

    for reading in readings:
        if reading.format == "text":
            for passage in reading.passages(_BLOCK):
                if passage.mistake is not None:
                    raise passage.mistake
                yield [(passage.text, segmenter.sentences(passage.text))]
            continue
        block, size = [], 0
        for text, sentences in by_text(reading, most=1):
            block.append((text, sentences) if text else _spaced(sentences[0]))
            size += len(block[-1][0])
            if size >= _BLOCK:
                yield block
                block, size = [], 0
        if block:
            yield block


def _spaced(sentence: Sentence) -> tuple[str, list[Sentence]]:
    """A text for a sentence of tokens: a space between them."""
    text = " ".join(sentence.tokens)
    ends = list(accumulate(len(token) + 1 for token in sentence.tokens))
    starts = [end - len(token) - 1 for end, token in zip(ends, sentence.tokens, strict=True)]
    return text, [replace(sentence, text=text, starts=starts, ends=[end - 1 for end in ends])]


def _pieces(file: BinaryIO, end: int) -> Iterator[str]:
    """The lines of a file up to a position."""
    while file.tell() < end:
        yield file.readline().decode("utf8", "surrogatepass")


_BLOCK = 1 << 17  # characters that are redacted at once


# ------------------------------------------------------------------------------------------------ on a terminal


def _is_to_be_read(arguments: argparse.Namespace, options: TaggingOptions) -> bool:
    """Whether labels of plain text go to a terminal, and no option asks for another form."""
    asked = options.sets("output", "probabilities", "scores", "keep_gold", *TAGGER_OPTIONS)
    if not sys.stdout.isatty() or arguments.output is not None or asked:
        return False
    if arguments.text is not None or arguments.source_format == "text":
        return True
    # Standard input can be read only once: it is not looked at.
    if arguments.source_format not in (None, CHARACTERS) or not arguments.files or "-" in arguments.files:
        return False
    return all(Path(name).is_file() and format_of(name, arguments.encoding) == "text" for name in arguments.files)
