"""Write the bill of materials of a package (CycloneDX 1.6): what it needs, and what it contains of others.

What Postil contains stands in src/postil/export/NOTICE.txt, what the English model was made from in its card.
"""

import json
import os
import re
import time
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def sbom(folder: Path) -> bytes:
    """The bill of materials of the package in a folder with a pyproject.toml; the same sources make the same bytes."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [_needed(requirement) for requirement in project["dependencies"]]
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": {
                "type": "library",
                "bom-ref": project["name"],
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "purl": f"pkg:pypi/{project['name']}@{project['version']}",
                "licenses": [{"expression": project["license"]}],
            },
        },
        "components": [*needed, *_notice(folder), *_sources(folder)],
    }
    content["dependencies"] = [
        {"ref": project["name"], "dependsOn": [part["bom-ref"] for part in content["components"]]},
        *({"ref": part["bom-ref"]} for part in content["components"]),
    ]
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    content = {**content, "serialNumber": number.urn}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _needed(requirement: str) -> dict[str, Any]:
    """A package that pip installs too. Its version is not known here, only the range."""
    name, versions = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()
    purl = f"pkg:pypi/{name.lower()}"
    ranges = [{"name": "postil:versions", "value": versions}]
    return {"type": "library", "bom-ref": purl, "name": name, "purl": purl, "scope": "required", "properties": ranges}


def _notice(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table in NOTICE.txt: part, where it is, licence. A row without a part continues the one above."""
    path = folder / "src/postil/export/NOTICE.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.count("|") == 2]
    for part, where, licence in rows[2:]:
        if part:
            kind = "data" if part.startswith("Unicode") else "library"
            yield _contained(kind, part, {"license": {"id": licence}}, where.rstrip(";"))


def _sources(folder: Path) -> Iterator[dict[str, Any]]:
    """The data that a model of this package was made from, by the table of its card that has a column of licences."""
    for path in sorted(folder.glob("src/*/*.card.json")):
        for table in json.loads(path.read_text(encoding="utf-8"))["tables"]:
            if "licence" in table["columns"]:
                for row in table["rows"]:
                    cells = dict(zip(table["columns"], row, strict=True))
                    licence = {"license": {"name": cells["licence"]}}
                    yield _contained("data", cells["source"], licence, cells["what for"])


def _contained(kind: str, name: str, licence: dict[str, Any], where: str) -> dict[str, Any]:
    return {"type": kind, "bom-ref": name, "name": name, "description": where, "licenses": [licence]}
