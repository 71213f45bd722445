"""doccano's JSON Lines: one text a line with its spans. All its dialects are read by ``spans.py``.

labels      {"id": 1, "text": "Anna left.", "label": [[0, 4, "PER"]]}
relations   {"id": 1, "text": "…", "entities": [{"id": 7, "label": "PER", "start_offset": 0, "end_offset": 4}]}
before 1.5  {"id": 1, "text": "…", "annotations": [{"label": 2, "start_offset": 0, "end_offset": 4, "user": 1}]}
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from postil.text.annotations.annotated import AnnotatedText, count_document, count_fragments, count_lost_fields
from postil.text.annotations.spans import one_line
from postil.text.options import WriteOptions
from postil.text.report import Report


def write_doccano(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a file for doccano's import of sequence labelling, in the dialect of triples."""
    for text in texts:
        count_fragments(text, report)
        count_document(text, report)
        count_lost_fields(text, report, kept=text.fields)
        fields: dict[str, Any] = {"text": text.text}
        if text.spans is not None:
            fields["label"] = [[span.start, span.end, span.label] for span in text.spans]
        others = {key: value for key, value in text.fields.items() if key not in ("text", "label")}
        yield one_line(json.dumps({**fields, **others}, ensure_ascii=False))
