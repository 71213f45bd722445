"""Which files the fixed features of words come from."""

import os
from pathlib import Path

from postil.archive import is_model_file
from postil.errors import ConfigurationError
from postil.features.pretrained import holds_model
from postil.features.vectors import VectorSources, listed_sources


def with_pretrained(
    vectors: VectorSources | None, clusters: str | os.PathLike[str] | None, pretrained: str | os.PathLike[str] | None
) -> tuple[VectorSources | None, str | os.PathLike[str] | None]:
    """The sources of vectors and of clusters, where one file may hold both; a model has those that it has."""
    if pretrained is None:
        return vectors, clusters
    if clusters is not None:
        raise ConfigurationError("clusters", expected="must not be given with a pretrained file: its own count")
    if not Path(pretrained).exists():
        raise ConfigurationError("no such pretrained file", where=pretrained)
    if not is_model_file(pretrained):
        expected = "must be a file that `postil pretrain --with-clusters` or `--encoder` wrote"
        raise ConfigurationError("pretrained", expected=expected, where=pretrained)
    if holds_model(pretrained):
        return vectors, None
    return [*listed_sources(vectors), pretrained], pretrained
