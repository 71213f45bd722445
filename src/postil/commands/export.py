"""``postil export``: a model for places without Python."""

from argparse import Namespace
from collections.abc import Callable

from postil.commands.models import open_model
from postil.commands.notices import note
from postil.commands.parser import option, refuse
from postil.errors import ConfigurationError, printable
from postil.models.storage import located
from postil.reading import MOST_LIST_BYTES, read_text

DESCRIPTION = """\
Write a trained model in a form that runs without Python.

  postil export ner.postil --to c -o ner_c          a folder of C99: header, source, model, example, conformance test
  postil export ner.postil -o ner.html              one page that tags in the browser, without a server
  postil export ner.postil --to web -o ner          an npm package with an ES module
  postil export --trainable -o trainer.html         one page in which people label text, train a tagger and tag

The exported model returns the same results as Python: `make check` in the folder of C code compares labels and
probabilities on some texts. A model with unsupported features is rejected. Multiword tokens with other words than
they are written with (French du) stay whole.
"""


def run(arguments: Namespace) -> int:
    if arguments.to is None:
        if not arguments.output.endswith((".html", ".htm")):
            if arguments.trainable:
                raise ConfigurationError("--trainable", expected="needs -o FILE.html", got=arguments.output)
            arguments.usage_error("the following arguments are required: --to")
        arguments.to = "web"
    if arguments.trainable:
        refuse(arguments, "the page trains in single precision", "half")
        if arguments.to != "web":
            raise ConfigurationError("--trainable", expected="needs --to web", got=arguments.to)
    elif arguments.model is None:
        arguments.usage_error("the following arguments are required: MODEL")
    for line in TARGETS[arguments.to](arguments):
        print(printable(line))
    fitted = None if arguments.model is None else open_model(arguments.model).model
    if fitted is not None and fitted.parts:
        note(f"the export is without {', '.join(fitted.parts)}")
    if getattr(getattr(getattr(fitted, "segmentation", None), "learned", None), "splits", None) is not None:
        note("the export has no table of multiword tokens: a token such as French du is one word there, not de + le")
    return 0


def _to_c(arguments: Namespace) -> list[str]:
    from postil.export.c import export_c

    texts = None
    if arguments.conformance is not None:
        texts = read_text(arguments.conformance, "the texts", MOST_LIST_BYTES).splitlines()
    written = export_c(
        open_model(arguments.model),
        arguments.output,
        half=arguments.half,
        array=arguments.array,
        texts=texts,
        source=located(arguments.model),
    )
    model, others = _size(written.files["model.bin"]), ", ".join(name for name in written.files if name != "model.bin")
    lines = [f"{arguments.output}: the model ({model}), {others}"]
    lines += [str(written.change)] if written.change is not None else []
    return [*lines, f"make -C {arguments.output} check   compares it with what Python answers"]


def _to_web(arguments: Namespace) -> list[str]:
    if arguments.trainable:
        from postil.export.web.trainer import write_trainer

        model = None if arguments.model is None else located(arguments.model)
        if model is not None:
            open_model(arguments.model)
        size = write_trainer(arguments.output, model)
        return [f"{arguments.output}: {_size(size)}; open it in a browser, from disk or from any server"]
    from postil.export.web import write

    open_model(arguments.model)  # which tells what is wrong with a file
    written = write(located(arguments.model), arguments.output, half=arguments.half or None)
    kind = "half" if written.half else "single"
    sizes = f"{_size(written.total_bytes)}, the model {_size(written.model_bytes)} in {kind} precision"
    return [f"{arguments.output}: {sizes}", *([] if written.change is None else [str(written.change)])]


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


TARGETS: dict[str, Callable[[Namespace], list[str]]] = {"c": _to_c, "web": _to_web}
"""Target -> the function that writes it and returns the messages to print."""
OPTIONS = {
    "": [
        option("MODEL", "model file or name; with --trainable it may be left out", nargs="?"),
        option("--to", "what to write (default: web if PATH ends in .html)", choices=list(TARGETS)),
        option("-o --output PATH", "folder or file to write", required=True),
        option("--trainable", "web: a page that trains (preset fast, without vectors); MODEL is what it begins with"),
        option("--half", "c, web: half precision for the tables of words"),
        option("--array", "c: also write the model as a C array", needs="--to c"),
        option(
            "--conformance FILE", "c: texts for the conformance test, one per line (default: samples)", needs="--to c"
        ),
    ]
}
