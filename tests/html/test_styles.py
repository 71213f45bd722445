"""Style sheets: pages and fragments share the colours, and a fragment's rules reach nothing around it."""

import re

from postil.html.fragments import SCOPE, fragment_style, scoped, style

VARIABLE = re.compile(r"(--[\w-]+): *(#[0-9a-f]{6})")


def test_pages_and_fragments_have_the_same_colours():
    light, dark = style().split("@media (prefers-color-scheme: dark)")
    assert "--label-0" in light and "--label-0" in dark
    sheet = str(fragment_style())
    blocks = [dict(VARIABLE.findall(block)) for block in re.findall(r"\{([^{}]*--ground:[^{}]*)\}", sheet)]
    assert len(blocks) == 3  # light, dark by preference, dark by the notebook's theme
    assert blocks[0] == dict(VARIABLE.findall(light))
    assert blocks[1] == blocks[2] == dict(VARIABLE.findall(dark))


def test_every_rule_of_a_fragment_is_limited_to_it():
    sheet = re.sub(r"@media[^{]*", "", fragment_style())
    selectors = [part for found in re.findall(r"([^{}]+)\{[^{}]*\}", sheet) for part in _parts(found)]
    assert len(selectors) > 40
    assert all(f".{SCOPE}" in selector for selector in selectors), [s for s in selectors if f".{SCOPE}" not in s]


def _parts(selector):
    """At commas that are not in brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", selector) if part.strip()]


def test_each_selector_of_a_list_is_scoped():
    around = scoped("th, td { color: red; }\n{ margin: 0; }\n")
    assert re.sub(r":is\([^)]*\)", "S", around) == "S th, S td { color: red; }\nS { margin: 0; }\n"


def test_nothing_is_loaded():
    for sheet in (style(), fragment_style()):
        assert "url(" not in sheet and "@import" not in sheet and "</" not in sheet
        assert sheet.count("{") == sheet.count("}")
