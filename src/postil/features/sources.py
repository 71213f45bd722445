"""Which files the fixed features of words come from."""

import os

from postil.archive import is_model_file
from postil.errors import ConfigurationError
from postil.features.vectors import VectorSources, listed_sources


def with_pretrained(
    vectors: VectorSources | None, clusters: str | os.PathLike[str] | None, pretrained: str | os.PathLike[str] | None
) -> tuple[VectorSources | None, str | os.PathLike[str] | None]:
    """The sources of vectors and of clusters, where one file may hold both."""
    if pretrained is None:
        return vectors, clusters
    if clusters is not None:
        raise ConfigurationError("clusters", expected="must not be given with a pretrained file, which has clusters")
    if not is_model_file(pretrained):
        expected = "must be a file that `postil pretrain --with-clusters` wrote"
        raise ConfigurationError("pretrained", expected=expected, where=pretrained)
    return [*listed_sources(vectors), pretrained], pretrained
