"""For mkdocstrings: the data classes of `postil.lazy` are data classes, with the signatures of their fields."""

from typing import Any

import griffe


class DeferredDataclasses(griffe.Extension):
    """Points every import of `postil.lazy.dataclass` to the original, which Griffe knows."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        name = mod.members.get("dataclass")
        if name is not None and name.is_alias and name.target_path == "postil.lazy.dataclass":
            mod.members["dataclass"] = griffe.Alias("dataclass", "dataclasses.dataclass", parent=mod)
