"""Taggers of several tasks in the commands: how they are trained, scored and shown."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from postil.commands.kinds import tagging
from postil.commands.kinds.table import refuse
from postil.commands.labelled import (
    LoadedTask,
    Source,
    TrainingFiles,
    examples,
    joined,
    label_maps,
    resolve_labels,
    source_of,
)
from postil.commands.models import checked_scheme, open_model, warn_of_long_sentences
from postil.commands.reading import CHARACTERS, chosen_segmenter, reading_options
from postil.commands.teaching import task_lesson
from postil.errors import ConfigurationError
from postil.metrics import Evaluation
from postil.models.config import parsed_setting
from postil.models.decoding.codec import known_tasks
from postil.models.model import INPUT, heads_of
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.tagger import Tagger
from postil.text.labelled import LabelledFile
from postil.text.output import write_text


@final
@dataclass(frozen=True)
class TaskScores:
    """The scores of each task."""

    by_task: Mapping[str, Evaluation]

    def to_dict(self) -> dict[str, Any]:
        return {task: scores.to_dict() for task, scores in self.by_task.items()}

    @property
    def main_score(self) -> float:
        """The mean over tasks: by this, epochs are compared."""
        return sum(scores.main_score for scores in self.by_task.values()) / len(self.by_task)


def evaluation(tagger: MultiTaskTagger, files: Mapping[str, LabelledFile]) -> TaskScores:
    return TaskScores({task: tagging.evaluation(tagger[task], file) for task, file in files.items()})


def headline(scores: TaskScores) -> str:
    return "; ".join(f"{task}: {tagging.headline(of_task)}" for task, of_task in scores.by_task.items())


# ------------------------------------------------------------------------------------------------ training


def new_fitting(
    arguments: argparse.Namespace, sources: TrainingFiles, checkpoint: Path
) -> tuple[MultiTaskTagger, Any, dict[str, dict[str, LabelledFile]]]:
    """The tagger, its training, and the files by task to score it on at the end."""
    refuse(arguments, "label", "a tagger learns all labels; --preset margin detects one")
    known = _known(arguments)
    model = _model(arguments, known)
    options = reading_options(arguments, chosen_segmenter(known))
    codecs = {task: head.codec for task, head in heads_of(known.model).items()} if known else {}
    tasks = list(dict.fromkeys([*codecs, *sources.train]))
    for task in (*sources.dev, *sources.test):
        known_tasks([task], tasks)
    loaded = {task: LoadedTask.load(sources, task, options, arguments) for task in tasks}
    for task, files in loaded.items():
        files.check(arguments, codecs.get(task))
    every = [file for files in loaded.values() for file in (*files.train, *files.held_out.values())]
    warn_of_long_sentences(model, [len(tokens) for file in every for tokens in file.tokens])
    data = {task: examples(*files.train) for task, files in loaded.items() if files.train}
    held_out: dict[str, dict[str, LabelledFile]] = {
        name: {task: files.held_out[name] for task, files in loaded.items() if name in files.held_out}
        for name in ("dev", "test")
    }
    fitting = model.fitting(
        {task: X for task, (X, _) in data.items()},
        {task: y for task, (_, y) in data.items()},
        {task: examples(file) for task, file in held_out["dev"].items()},
        checkpoint=checkpoint,
        resume=arguments.resume,
        warm_start=known,
        freeze_encoder=arguments.freeze_encoder,
        partial=arguments.partial,
        **task_lesson(arguments, list(data)),
    )
    if options["segmenter"].characters:
        fitting.model.about[INPUT] = CHARACTERS
    return model, fitting, {name: files for name, files in held_out.items() if files}


def _known(arguments: argparse.Namespace) -> MultiTaskTagger | Tagger | None:
    """The model to start from."""
    known = open_model(arguments.warm_start, for_training=True) if arguments.warm_start else None
    if known is not None and not isinstance(known, MultiTaskTagger | Tagger):
        raise ConfigurationError("--warm-start", expected="a tagger", got=f"a {known.KIND}")
    return known


def _model(arguments: argparse.Namespace, known: MultiTaskTagger | Tagger | None) -> MultiTaskTagger:
    """The estimator that the command line asks for, with the preset and settings of ``known`` as defaults."""
    settings = dict(parsed_setting(text) for text in arguments.settings)
    preset = arguments.preset or (known.preset if known is not None else "fast")
    if known is not None and preset == known.preset:
        settings = known.settings | settings
    model: MultiTaskTagger = MultiTaskTagger(
        preset=preset,
        vectors=arguments.vectors or None,
        clusters=arguments.clusters,
        gazetteers=arguments.gazetteer,
        pretrained=arguments.pretrained,
        seed=arguments.seed,
        threads=arguments.threads,
        minutes=arguments.minutes,
        **settings,
    )
    model.check()
    return model


# ------------------------------------------------------------------------------------------------ scoring


def evaluate(tagger: MultiTaskTagger, arguments: argparse.Namespace) -> int:
    """``postil evaluate``: the reports of the tasks that --task names, on its files or on DATA."""
    files = _files_to_score(tagger, arguments)
    reports = {}
    for task, file in files.items():
        resolve_labels(tagger[task], file, arguments)
        checked_scheme(file, tagger[task].model.codec)
        warn_of_long_sentences(tagger, map(len, file.tokens))
        reports[task] = tagging.report(tagger[task], f"{arguments.model}[{task}]", file)
    pages = _write_pages(tagger, reports, files, arguments)
    if arguments.json:
        print(json.dumps({task: report.to_dict() for task, report in reports.items()}, indent=2, ensure_ascii=False))
        return 0
    for number, (task, report) in enumerate(reports.items()):
        print(f"{'' if number == 0 else chr(10)}{task}: ", end="", flush=True)
        tagging.show(report)
    for page in pages:
        print(f"\nThe report is in {page}: open it in a browser.")
    return 0


def _files_to_score(tagger: MultiTaskTagger, arguments: argparse.Namespace) -> dict[str, LabelledFile]:
    sources: dict[str, list[Source]] = {}
    for word in arguments.task:
        task, equals, place = word.partition("=")
        task, colon, column = (task, "", "") if equals else word.partition(":")
        if not equals and arguments.data is None:
            raise ConfigurationError("--task", expected="must be NAME=FILE where there is no DATA", got=repr(word))
        known_tasks([task], tagger.tasks)
        source = source_of(place if equals else f"{arguments.data}{colon}{column}")
        sources.setdefault(task, []).append(source)
    if not sources:
        first = tagger.tasks[0]
        raise ConfigurationError(f"the model has several tasks: choose one with --task {first}, or --task {first}=FILE")
    refuse(arguments, "train", "save one task of the model first: tagger[task].save(FILE)")
    options = reading_options(arguments, tagger.model.segmenter)
    maps = label_maps(arguments.map, [source.path for of_task in sources.values() for source in of_task])
    return {
        task: joined([source.load(options, maps[source.path], task) for source in sources[task]])
        for task in known_tasks(sources, tagger.tasks)
    }


def _write_pages(
    tagger: MultiTaskTagger,
    reports: Mapping[str, Any],
    files: Mapping[str, LabelledFile],
    arguments: argparse.Namespace,
) -> list[Path]:
    """A page for each task: report.html becomes report-TASK.html where there are several."""
    if arguments.report is None:
        return []
    written = []
    for task, report in reports.items():
        path: Path = arguments.report
        path = path.with_name(f"{path.stem}-{task}{path.suffix}") if len(reports) > 1 else path
        write_text(path, [tagging.page(tagger[task], report, f"{arguments.model}[{task}]", files[task])])
        written.append(path)
    return written
