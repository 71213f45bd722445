"""``postil draw``: the network of a model, or the flow graph of a sentence, as an SVG file."""

import argparse
from pathlib import Path
from typing import Any

from postil.commands.options.models import open_model
from postil.commands.options.writing import add_force_argument, check_output
from postil.errors import ConfigurationError
from postil.models.installed import ENGLISH, located
from postil.models.tagger import Tagger
from postil.text.output import write_text

DESCRIPTION = """\
Draw the network of a model as an SVG picture: features of words with their sizes, layers with shapes and numbers of
parameters, the CRF, the labels. Taggers, ensembles, models of several tasks, detectors and tree classifiers can be
drawn. With --sentence, draw the flow graph of a tagger's loss on this sentence, with values and gradients.

  postil draw ner.postil -o ner.svg
  postil draw english -o english.svg
  postil draw ner.postil --sentence "Museums in Paris are amazing." -o flow.svg
  postil draw english --task upos --sentence "Museums in Paris are amazing." -o flow.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=ENGLISH, help=f"model file or name (default: {ENGLISH})"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="SVG file to write")
    parser.add_argument("--sentence", metavar="TEXT", help="draw the flow graph of the loss on this sentence")
    parser.add_argument("--task", metavar="NAME", help="--sentence: which task of a model of several (default: first)")
    add_force_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    inputs = [located(arguments.model)]
    check_output(arguments.output, "picture", "picture", inputs=inputs, force=arguments.force)
    model = open_model(arguments.model)
    if arguments.sentence is not None:
        drawn = _flow_graph(_tagger(model, arguments.task), arguments.sentence)
    elif arguments.task is not None:
        raise ConfigurationError("--task cannot be used here: it is for --sentence")
    else:
        from postil.reports.network_drawing import drawn_network

        drawn = drawn_network(model, Path(arguments.model).name)
    write_text(arguments.output, [drawn])
    print(f"The picture is in {arguments.output}: open it in a browser.")
    return 0


def _tagger(model: Any, task: str | None) -> Tagger:
    """The tagger whose flow graph is drawn: the model, or that of a task."""
    tasks = list(getattr(model, "tasks", ()))
    if task is not None and task not in tasks:
        expected = f"one of {', '.join(tasks)}" if tasks else "no task: the model has only one"
        raise ConfigurationError("--task", expected=expected, got=repr(task))
    tagger = model[task or tasks[0]] if tasks else model
    if not isinstance(tagger, Tagger):
        raise ConfigurationError("--sentence", expected="needs a tagger", got=f"a {model.KIND}")
    return tagger


def _flow_graph(tagger: Tagger, text: str) -> str:
    from postil import graph
    from postil.graph import ancestors
    from postil.models.explaining.flow import sentence_loss
    from postil.models.sentences import sentences_of, takes_characters, tokens_of

    sentences = sentences_of(text, takes_characters(tagger.fitted_parts()))
    if len(sentences) != 1:
        raise ConfigurationError("--sentence", expected="must be one sentence", got=f"{len(sentences)} sentences")
    loss = sentence_loss(tagger, tokens_of(sentences[0]))
    return graph.draw(loss, "svg", values=True, gradients=graph.gradients(loss, ancestors(loss)))
