"""Tables of characters of another version of Unicode, and whether the running Python has the version of ours."""

import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from postil.kernels.characters import Characters, frozen

VERSION = frozen().version_name
same_version = pytest.mark.skipif(unicodedata.unidata_version != VERSION, reason=f"tables of Unicode {VERSION}")


def other_unicode(**changes: str) -> Characters:
    """The frozen tables, but that each character has the properties of another one."""
    tables = frozen()
    pages = tables.pages[tables.index].copy()
    for name, like in changes.items():
        code = ord(unicodedata.lookup(name.replace("_", " ")))
        record = pages[divmod(ord(like), pages.shape[1])]
        pages[divmod(code, pages.shape[1])] = record
    known, index = np.unique(pages, axis=0, return_inverse=True)
    return replace(tables, version=(1, 2, 3), index=index.ravel().astype(np.uint8), pages=known)
