"""``postil tag``: label text of any size, streamed, in the order of the input."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
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
from postil.commands.parser import OVERWRITE, needing, option
from postil.commands.reading import CHARACTERS, model_script, reading_arguments, reading_options, warn_of_text
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
from postil.text.report import counted
from postil.text.trees.tree import SHAPES

DESCRIPTION = """\
Label text. Reads files, a folder or standard input; writes to standard output or -o PATH. The ending of PATH decides
the format (.jsonl .conll .conllu .csv .parquet .html) unless --to does. Inputs may be larger than memory.

  postil tag "Angela Merkel met Tim Cook in Cupertino."   the installed English model (package postil-english)
  postil tag --task roles "The car was sold by Anna."     who did what to whom
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

A model of semantic roles, or --task roles of a model that has them inside, such as the English one, writes CoNLL-2005
columns or JSON Lines, one object per sentence; on a terminal and a page, every predicate has a row. Predicates are
found, or taken from an input in CoNLL-2005 columns.

A tree classifier labels every phrase. For a sentence without a tree, --tree sets the shape of the tree. JSON Lines
output has one object per sentence with its label and probabilities; --probabilities adds those of all phrases.
"""
SHOWN = (
    "--text -o --from --to --probabilities --nbest --threshold --require --forbid --column --task --threads --overwrite"
)
PAGE, REDACTED = "html", "redacted"
_FORMATS = ["conll", "conllu", "conll05", "jsonl", CSV, "trees", PARQUET, PAGE, REDACTED]
_BLANK = 10_000
"""Bytes of a file that may be nothing but white space: one of a folder is then left out."""
_STYLES = ["placeholders", "pseudonyms", "html"]
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
            "multi-task models: predict only this task (default: all, each in a column or layer, but not roles, which "
            "are a task alone)",
        ),
        option("--nbest K", "jsonl: add the K best labellings of each sentence", type=int),
        option("--threads N=1", "number of cores to use; does not change the result"),
        OVERWRITE,
    ],
    "predictions of taggers": [
        option("--threshold [CLASS=]P …", "drop entities whose probability is below P, for one class or for all"),
        option(
            "--all-above P",
            "jsonl: add every span with a probability of at least P as spans_above, in the best labelling or not",
            type=float,
        ),
        option("--require START:END[=CLASS] …", "these characters of the text are an entity (of this class)"),
        option(
            "--forbid START:END[=CLASS] …", "exactly these characters of the text are not an entity (of this class)"
        ),
        option("--allow START:END=LABEL,… …", "the words in these characters have one of these labels or classes"),
        option(
            "--require-names CLASS=FILE …", "every name in FILE (one per line) is an entity of CLASS wherever it occurs"
        ),
        option(
            "--rules FILE", "let these rules vote, in place of those in the model: see `postil rules --help`", type=Path
        ),
        option("--no-rules", "ignore the rules in the model"),
    ],
    "redaction: --to redacted, with a model from postil tune --miss": needing(
        f"--to {REDACTED}",
        option("--classes CLASS,…", "classes that the model must promise to hide (default: those it promises)"),
        option("--miss E", "share of names that may be missed (default: the one it promises)", type=float),
        option(
            "--hide-as",
            "[PER]; the same PER-1 for the same name; or a page with the risk of every passage (default: placeholders)",
            choices=_STYLES,
        ),
        option("--no-promise", "redact text that is unlike the data of the promise"),
    ),
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
}


def run(arguments: Namespace) -> int:
    folder, to_folder = _take_words(arguments)
    if are_tables := _are_tables(arguments):
        arguments.to = arguments.to or PARQUET
    options = tagging_options(arguments)
    if are_tables:
        from postil.commands.tag_tables import tag_tables

        return tag_tables(arguments, options)
    if arguments.parts is not None:
        raise ConfigurationError("--parts", expected="needs tables: Parquet or CSV files, and Parquet output")
    model, path = models.ruled_model(arguments)
    if (labeller := models.role_labeller(model, arguments.task)) is not None:
        model, options = labeller, replace(options, tasks=())
    segmenter = reading_options(arguments, model.model.segmenter)["segmenter"]
    options = replace(options, reading=replace(options.reading, segmenter=segmenter))
    readings = _readings(arguments, segmenter, model_script(model.model))
    if arguments.to == REDACTED:
        return _write_redacted(model, readings, arguments, options, folder if to_folder else None)
    if arguments.to == PAGE:
        return _write_page(model, readings, arguments, options)
    is_read = _is_to_be_read(arguments, options)
    if model.KIND == "role-labeller":
        from postil.commands.roles import COLUMNS, tag_roles

        format = options.output or COLUMNS
        outputs = _outputs(arguments, readings, folder, to_folder, format)
        return tag_roles(model, outputs, options, format, shown=is_read)
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


# ------------------------------------------------------------------------------------------------ what is read


def _take_words(arguments: Namespace) -> tuple[Path | None, bool]:
    """Find model, inputs and format. Returns the folder of the inputs, and whether each of them gets a file."""
    arguments.model, inputs = models.take_model(arguments.words, arguments.text)
    arguments.text, files = models.take_inputs(inputs, arguments.text)
    files = [
        path
        for name in files
        for path in (not os.path.exists(name) and sorted(glob(name, recursive=True))) or [name]  # noqa: PTH110, PTH207
    ]
    output, folder = arguments.output, next((Path(name) for name in files if name != "-" and Path(name).is_dir()), None)
    if folder is not None and len(files) > 1:
        raise ConfigurationError("inputs", expected="must be files or one folder", got=f"folder {folder}")
    if folder is not None and next(folder.rglob("*.ann"), None) is not None:
        folder = None  # a folder of brat is one source, which its reader opens
    if folder is not None:
        files = _files_in(folder, output)
    arguments.files = files
    # An answer for each file of the folder:
    to_folder = folder is not None and output is not None
    to_folder = to_folder and (output.endswith("/") or Path(output).is_dir() or not Path(output).suffix)
    has_tables = arguments.column is not None or bool(files and files[0].endswith(f".{PARQUET}"))
    if arguments.to is None and to_folder and not has_tables:
        arguments.to = "jsonl"
    elif arguments.to is None and output is not None and not output.endswith(".txt"):
        named = output_format(output)
        arguments.to = PAGE if named == "report" else named
        if arguments.to is not None and arguments.to not in _FORMATS:
            *endings, last = [f".{name}" for name in _FORMATS if name != REDACTED]
            expected = f"must end in {', '.join(endings)} or {last} (or --to names the format)"
            raise ConfigurationError("-o", expected=expected, got=output)
    return folder, to_folder


def _files_in(folder: Path, output: str | None) -> list[str]:
    """All files below a folder; hidden ones, those of the output and, with a note, those without text are left out."""
    written = None if output is None else Path(output).resolve()
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (written is None or (path.resolve() != written and written not in path.resolve().parents))
    ]
    blank = [path for path in paths if path.stat().st_size <= _BLANK and not path.read_bytes().strip()]
    if len(blank) == len(paths):
        raise DataError("no text in the folder", expected="at least one file of text", where=folder)
    if blank:
        others = f" and {counted(len(blank) - 1, 'other file')}" if len(blank) > 1 else ""
        note(f"{blank[0]}{others}: no text, left out")
    return [str(path) for path in paths if path not in blank]


def _are_tables(arguments: Namespace) -> bool:
    """Whether the inputs are tables of texts, whose rows are kept.

    A CSV file can also be read as texts, or as a table of words, if nothing but its name says that it is a table.
    """
    if arguments.column is not None or arguments.to == PARQUET or arguments.source_format in (PARQUET, CSV):
        return True
    if arguments.source_format is not None or not arguments.files:
        return False
    first = arguments.files[0]
    if not first.endswith(f".{CSV}") or arguments.to not in (None, CSV):
        return bool(first.endswith(f".{PARQUET}"))
    try:
        return format_of(first, arguments.encoding) != CSV and arguments.output is not None
    except DataError:  # which the table's reader meets again
        return True


def _readings(arguments: Namespace, segmenter: Segmenter, script: str | None) -> Iterator[Reading]:
    """The inputs, of which every record of JSON Lines is answered."""
    options = {**reading_options(arguments, segmenter, groups=True), "every_record": True}
    if arguments.text is not None:
        options["format"] = "text"
    is_warned = False
    for source in models.typed_source(arguments, "--text"):
        with read(source, **options) as reading:
            is_warned = is_warned or warn_of_text(reading, options["segmenter"], script)
            yield reading


def _is_to_be_read(arguments: Namespace, options: TaggingOptions) -> bool:
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


# ------------------------------------------------------------------------------------------------ what is asked for


def tagging_options(arguments: Namespace) -> TaggingOptions:
    """The options that the command line asks for."""
    files, reading = arguments.files, {**reading_options(arguments, groups=True), "every_record": True}
    del reading["format"]
    thresholds: dict[str, float] = {}  # of a class, or "" for all
    for word in arguments.threshold:
        name, equals, number = word.rpartition("=")
        try:
            thresholds[name if equals else ""] = lowest = float(number)
        except ValueError:
            raise ConfigurationError("--threshold", expected="P or CLASS=P", got=repr(word)) from None
        check_probability(lowest, f"--threshold {word}")
    names = [word.partition("=") for word in arguments.require_names]
    for name, _, path in names:
        if not path:
            raise ConfigurationError("--require-names", expected="CLASS=FILE", got=repr(name))
    same = ("probabilities", "scores", "keep_gold", "nbest", "all_above", "tree", "offsets")
    return TaggingOptions(
        output=arguments.to,
        reading=ReadOptions(**reading),
        threshold=thresholds,
        constraints=_constraints(arguments),
        require_names=[(name, path) for name, _, path in names],
        tasks=arguments.task,
        source=files[0] if len(files) == 1 and files[0] != "-" else "",
        **{name: getattr(arguments, name) for name in same},
    )


def _constraints(arguments: Namespace) -> Constraints:
    """``START:END`` and ``START:END=LABEL``, which --allow needs."""
    spans: dict[str, list[tuple[int, int, Any]]] = {}
    for name in ("require", "forbid", "allow"):
        spans[name] = []
        for word in getattr(arguments, name):
            if arguments.text is None or "\n" in arguments.text.strip("\n"):
                what = "--text with a single line (the records of a JSON Lines file carry their own constraints)"
                got = "no --text" if not arguments.text else "several lines"
                raise ConfigurationError(f"--{name}", expected=f"needs {what}", got=got)
            place, _, label = word.partition("=")
            start, _, end = place.partition(":")
            is_whole = start.isdecimal() and end.isdecimal() and not word.endswith("=")
            if not is_whole or (name == "allow" and not label):
                expected = "START:END=LABEL,…" if name == "allow" else "START:END or START:END=CLASS"
                raise ConfigurationError(f"--{name}", expected=expected, got=repr(word))
            spans[name].append((int(start), int(end), label.split(",") if name == "allow" else label or None))
    return Constraints(**spans, where="--text") if any(spans.values()) else Constraints()


# ------------------------------------------------------------------------------------------------ what is written


def _check(arguments: Namespace, target: str | Path | None, kind: str, overwrite: bool = False) -> None:
    inputs = [arguments.model, *arguments.files]
    check_output(target, kind, inputs=inputs, overwrite=overwrite or arguments.overwrite)


def _outputs(
    arguments: Namespace, readings: Iterator[Reading], folder: Path | None, to_folder: bool, format: str
) -> Iterator[tuple[BinaryIO, Iterable[Reading]]]:
    """Each file to write, and what goes into it. JSON Lines of several files name the file of each line."""
    if to_folder:
        assert folder is not None
        for reading, target in zip(readings, _targets(folder, arguments, format), strict=True):
            with _opened(str(target), format, arguments) as stream:
                yield _sourced(stream, reading.name) if format == "jsonl" else stream, [reading]
        return
    with _opened(arguments.output, format, arguments) as stream:
        if format == "jsonl" and (folder is not None or len(arguments.files) > 1):
            for reading in readings:
                yield _sourced(stream, reading.name), [reading]
        else:
            yield stream, readings


def _targets(folder: Path, arguments: Namespace, format: str) -> Iterator[Path]:
    """The path of each answer: that of its input, in another folder, with the ending of its format."""
    names: dict[Path, str] = {}
    for name in arguments.files:
        target = Path(arguments.output, Path(name).relative_to(folder)).with_suffix(f".{format}")
        if target in names:
            expected = f"must have different names up to the ending (or -o answers.{format} for a single file)"
            raise ConfigurationError("files of a folder", expected=expected, got=f"{names[target]} and {name}")
        names[target] = name
    for target in names:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield target


@contextmanager
def _opened(target: str | None, format: str, arguments: Namespace) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when everything is written."""
    if target is None:
        yield sys.stdout.buffer
        return
    _check(arguments, target, format)
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


def _title(arguments: Namespace) -> str:
    return "the text" if arguments.text is not None else ", ".join(arguments.files[:3]) or "standard input"


def _write_page(model: Any, readings: Iterable[Reading], arguments: Namespace, options: TaggingOptions) -> int:
    """The texts with their entities marked, as one HTML page; sentences without a text have spaces between tokens."""
    from postil.commands.console import by_text

    options.refuse("nbest", "all_above", "require_names", why="a page shows entities only")
    _check(arguments, arguments.output, "report")
    if not hasattr(model, "tag"):
        raise ConfigurationError("--to html", expected="needs a tagger or a detector", got=f"a {model.KIND}")
    if model.KIND == "role-labeller":
        options.refuse(*TAGGER_OPTIONS, "scores", "keep_gold", why="the model labels semantic roles")
        from postil.commands.roles import labelled
        from postil.text import Document

        labelled_sentences = [one for reading in readings for block in labelled(model, reading) for one in block]
        document = Document("", labelled_sentences)
    else:
        texts = [
            (text or "\n".join(" ".join(sentence.tokens) for sentence in sentences)).strip("\n")
            for reading in readings
            for text, sentences in by_text(reading)
        ]
        decoding: dict[str, Any] = {}
        if options.constraints:
            decoding["constraints"] = options.constraints
        if options.threshold:
            decoding["threshold"] = threshold_of(model.model.codec, options)
        document = model.tag("\n\n".join(texts), **decoding)
    write_text(arguments.output or "-", [document.to_html(title=_title(arguments))])
    return 0


def _write_redacted(
    model: Any, readings: Iterable[Reading], arguments: Namespace, options: TaggingOptions, folder: Path | None
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
        targets = list(_targets(folder, arguments, PAGE if style == PAGE else "txt"))
    for target in targets:
        _check(arguments, target, "report", style != PAGE)
        if style != PAGE and target is not None and Path(target).is_file() and not arguments.overwrite:
            raise ConfigurationError("output", expected="must not exist: --overwrite replaces it", where=target)
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
        ends = []
        for pieces in groups:
            waiting.writelines(piece.encode("utf8", "surrogatepass") for piece in pieces)
            ends.append(waiting.tell())
        if not arguments.no_promise:
            run.check()
        waiting.seek(0)
        for target, end in zip(targets, ends, strict=True):
            write_text(target or "-", _pieces(waiting, end))
    says = "no promise is made" if arguments.no_promise else str(promise)
    note(f"{says}; no name is left at all with probability {exp(run.log_probability):.3f}, by the model")
    for look in run.look_first:
        note(f"  look at {look.text!r} ({look.label} {look.probability:.3f})")
    return 0


def _pieces(file: BinaryIO, end: int) -> Iterator[str]:
    """The lines of a file up to a position."""
    while file.tell() < end:
        yield file.readline().decode("utf8", "surrogatepass")


def _blocks_of_texts(readings: Iterable[Reading], segmenter: Segmenter) -> Iterator[list[tuple[str, list[Sentence]]]]:
    """Texts with their sentences, a bounded size at a time: passages of plain text, and tokens joined by spaces."""
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
            if not text:
                tokens = sentences[0].tokens
                ends = list(accumulate(map(len, tokens), lambda end, length: end + 1 + length))
                starts = [end - len(token) for end, token in zip(ends, tokens, strict=True)]
                text = " ".join(tokens)
                sentences = [replace(sentences[0], text=text, starts=starts, ends=ends)]
            block.append((text, sentences))
            size += len(text)
            if size >= _BLOCK:
                yield block
                block, size = [], 0
        if block:
            yield block


_BLOCK = 1 << 17  # characters that are redacted at once
