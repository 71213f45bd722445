"""Texts with spans, written in a format in memory."""

import io
from collections.abc import Iterable

from postil.text.annotations.annotated import AnnotatedText
from postil.text.formats import write_annotated
from postil.text.report import Report


def written(format: str, texts: Iterable[AnnotatedText]) -> tuple[str, Report]:
    """The file, and the report on what it lacks."""
    stream, report = io.BytesIO(), Report()
    write_annotated(texts, stream, format, report)
    return stream.getvalue().decode(), report
