"""Draw the diagrams of the pages into ``docs/images``: boxes and arrows as plain SVG, so that the site needs no script.

python docs/draw_diagrams.py
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from postil.objectives import ChainScores, Lattice, Posterior, viterbi

IMAGES = Path(__file__).parent / "images"
# Drawings follow the reader's light or dark mode: colours are rules of a style sheet inside the picture.
STYLE_SHEET = """
text { fill: #1b2a3a } .note { fill: #51606e } .ground { fill: #fffdf8 } rect { stroke-width: 1.2 }
.plain { fill: #eef3ea; stroke: #6f9468 } .data { fill: #e7eef5; stroke: #4f7da3 }
.accent { fill: #fbeae3; stroke: #b5482a }
.thin { stroke: #8a97a5; fill: none } .thick { stroke: #1b2a3a; fill: none }
.up { stroke: #4f7da3 } .down { stroke: #b5482a }
.tip-thin { fill: #8a97a5 } .tip-thick { fill: #1b2a3a } .tip-up { fill: #4f7da3 } .tip-down { fill: #b5482a }
.ink-up { fill: #3a678c } .ink-down { fill: #a03d22 }
@media (prefers-color-scheme: dark) {
text { fill: #e4e9f0 } .note { fill: #aab6c2 } .ground { fill: #1a232c }
.plain { fill: #24332a; stroke: #86ad7e } .data { fill: #20303f; stroke: #7aa7cc }
.accent { fill: #3b2820; stroke: #eb9a7c }
.thin { stroke: #76838f } .thick { stroke: #e4e9f0 } .tip-thin { fill: #76838f } .tip-thick { fill: #e4e9f0 }
.up { stroke: #7aa7cc } .down { stroke: #eb9a7c } .tip-up { fill: #7aa7cc } .tip-down { fill: #eb9a7c }
.ink-up { fill: #9cc3e2 } .ink-down { fill: #f0a385 }
}
"""


@dataclass(frozen=True)
class Box:
    """A box around its middle (x, y); ``lines`` are written in it, the first one in bold."""

    x: float
    y: float
    lines: tuple[str, ...]
    width: float = 110
    style: str = "plain"

    @property
    def height(self) -> float:
        return 16 + 16 * len(self.lines)

    def svg(self) -> str:
        left, top = self.x - self.width / 2, self.y - self.height / 2
        shape = f'<rect x="{left:g}" y="{top:g}" width="{self.width:g}" height="{self.height:g}" rx="6"'
        parts = [f'{shape} class="{self.style}"/>']
        for row, line in enumerate(self.lines):
            weight = ' font-weight="600"' if row == 0 else ""
            parts.append(_text(self.x, top + 21 + 16 * row, line, extra=weight))
        return "".join(parts)

    def edge(self, other: "Box") -> tuple[float, float]:
        """Where a line to another box leaves this one."""
        dx, dy = other.x - self.x, other.y - self.y
        sideways = abs(dx) * self.height >= abs(dy) * self.width
        share = self.width / 2 / abs(dx) if sideways else self.height / 2 / abs(dy)
        return self.x + dx * share, self.y + dy * share


@dataclass(frozen=True)
class Arrow:
    """An arrow between two boxes, with a label in one or more lines above its middle."""

    start: Box
    end: Box
    label: str = ""
    thick: bool = False

    def svg(self) -> str:
        (x1, y1), (x2, y2) = self.start.edge(self.end), self.end.edge(self.start)
        kind, width = ("thick", 2.6) if self.thick else ("thin", 1.2)
        parts = [
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" stroke-width="{width}" '
            f'marker-end="url(#{kind})"/>'
        ]
        lines = self.label.split("\n") if self.label else []
        for row, line in enumerate(lines):
            y = (y1 + y2) / 2 - 7 - 14 * (len(lines) - 1 - row)
            parts.append(_text((x1 + x2) / 2, y, line, size=12, extra=' class="note"'))
        return "".join(parts)


def _text(x: float, y: float, text: str, *, size: int = 13, extra: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="middle"{extra}'
    return f"<text {place}>{escape(text)}</text>"


def _picture(width: int, height: int, title: str, parts: "Sequence[Box | Arrow | Both]") -> str:
    tips = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="{size}" markerHeight="{size}" '
        f'orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" class="tip-{name}"/></marker>'
        for name, size in (("thin", 9), ("thick", 12), ("up", 9), ("down", 9))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f"<style>{STYLE_SHEET}</style><defs>{tips}</defs>"
        f'<rect width="{width}" height="{height}" rx="8" class="ground"/>\n'
        + "\n".join(part.svg() for part in parts)
        + "\n</svg>\n"
    )


def lattice() -> str:
    """The lattice of three tokens and three labels on the page about the CRF, with its marginals."""
    names, words = ["O", "B-LOC", "I-LOC"], ["in", "New", "York"]
    allowed = np.array([[True, True, False], [True, True, True], [True, True, True]])
    chain = ChainScores.under_mask(
        3,
        transitions=np.array([[0.5, 0.0, 0.0], [0.0, -1.0, 1.0], [0.0, -1.0, 0.5]]),
        allowed_transitions=allowed,
        allowed_start=np.array([True, True, False]),
    )
    scores = np.array([[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [0.0, 1.0, 1.5]])
    built = Lattice.over(scores, [0, 3], chain)
    marginals, best = Posterior.of(built).marginals(), viterbi(built)
    start, end = Box(50, 150, ("start",), 60, "data"), Box(750, 150, ("end",), 60, "data")
    places = {
        (t, j): Box(190 + 210 * t, 50 + 100 * j, (f"{words[t]}: {names[j]}", f"{marginals[t, j]:.3f}"), 120)
        for t in range(3)
        for j in range(3)
        if marginals[t, j] > 0
    }
    arrows = [Arrow(start, box, thick=best[0] == j) for (t, j), box in places.items() if t == 0]
    arrows += [
        Arrow(box, following, thick=bool(best[t] == i and best[t + 1] == j))
        for (t, i), box in places.items()
        for (after, j), following in places.items()
        if after == t + 1 and allowed[i, j]
    ]
    arrows += [Arrow(box, end, thick=best[2] == j) for (t, j), box in places.items() if t == 2]
    title = "A lattice of three tokens and three labels with the marginal of each place; the best path is thick"
    return _picture(800, 300, title, [*sorted(arrows, key=lambda arrow: arrow.thick), *places.values(), start, end])


def chain(title: str, boxes: list[tuple[tuple[str, ...], str]], gap: int = 124, width: int = 104) -> str:
    """Boxes from left to right; each comes with the label of the arrow that leads to it."""
    step = width + gap
    row = [
        Box(20 + width / 2 + step * place, 55, lines, width, "data" if place in (0, len(boxes) - 1) else "plain")
        for place, (lines, _) in enumerate(boxes)
    ]
    arrows = [Arrow(a, b, label) for a, b, (_, label) in zip(row, row[1:], boxes[1:], strict=False)]
    return _picture(40 + width + step * (len(boxes) - 1), 110, title, [*arrows, *row])


def tagging() -> str:
    return chain(
        "How predict labels tokens",
        [
            (("tokens",), ""),
            (("row numbers", "(N,)"), "a hash table"),
            (("hidden", "(N, H)"), "sum_windows:\nK rows, activation"),
            (("scores", "(N, L)"), "matrix products"),
            (("labels",), "viterbi"),
        ],
    )


def workers() -> str:
    source, cut = Box(70, 100, ("file",), 90, "data"), Box(290, 100, ("passages",), 110)
    first, second = (
        Box(500, 50, ("worker", "read, label, write"), 150),
        Box(500, 150, ("worker", "read, label, write"), 150),
    )
    order, output = Box(740, 100, ("in file order",), 120), Box(910, 100, ("output",), 90, "data")
    arrows = [
        Arrow(source, cut, "decode, cut at\nsentence ends"),
        *[Arrow(cut, worker) for worker in (first, second)],
        *[Arrow(worker, order) for worker in (first, second)],
        Arrow(order, output),
    ]
    return _picture(
        980,
        200,
        "How postil tag labels a file with two processes",
        [*arrows, source, cut, first, second, order, output],
    )


@dataclass(frozen=True)
class Both:
    """Two arrows between a child and its parent: a value goes up, a gradient comes down."""

    child: Box
    parent: Box
    down: str

    def svg(self) -> str:
        side = 1 if self.child.x > self.parent.x else -1
        x1, y1 = self.child.x, self.child.y - self.child.height / 2
        x2, y2 = self.parent.x + side * self.parent.width / 4, self.parent.y + self.parent.height / 2
        lines = [
            f'<line x1="{ax:.1f}" y1="{ay:.1f}" x2="{bx:.1f}" y2="{by:.1f}" class="{kind}" stroke-width="1.6" '
            f'marker-end="url(#{kind})"/>'
            for kind, ax, ay, bx, by in (("up", x1 - 7, y1, x2 - 7, y2), ("down", x2 + 7, y2, x1 + 7, y1))
        ]
        place = ((x1 + x2) / 2 + 32, (y1 + y2) / 2 + (14 if side < 0 else -4))
        return "".join([*lines, _text(*place, self.down, size=12, extra=' class="ink-down"')])


def through_structure() -> str:
    """The tree of the page about recursive networks: vectors of one number, W = 1.2, J is the value of the root."""
    W, words = 1.2, {"not": -0.8, "very": 0.5, "bad": -0.9}
    very_bad = float(np.tanh(W * (words["very"] + words["bad"])))
    root = float(np.tanh(W * (words["not"] + very_bad)))
    delta = 1 - root**2
    inner = W * delta
    leaves = W * inner * (1 - very_bad**2)
    boxes = {
        "root": Box(300, 50, ("not very bad", f"{root:.3f}"), 130, "accent"),
        "inner": Box(440, 165, ("very bad", f"{very_bad:.3f}"), 110),
        "not": Box(160, 280, ("not", f"{words['not']:g}"), 90, "data"),
        "very": Box(350, 280, ("very", f"{words['very']:g}"), 90, "data"),
        "bad": Box(530, 280, ("bad", f"{words['bad']:g}"), 90, "data"),
    }
    links = [
        Both(boxes["not"], boxes["root"], f"{inner:.3f}"),
        Both(boxes["inner"], boxes["root"], f"{inner:.3f}"),
        Both(boxes["very"], boxes["inner"], f"{leaves:.3f}"),
        Both(boxes["bad"], boxes["inner"], f"{leaves:.3f}"),
    ]
    title = "The tree of 'not very bad': values go up (blue), gradients come down (red)"
    return _picture(620, 330, title, [*links, *boxes.values()])


RINGS = {
    "applications": ("commands", "server", "annotation", "quality", "reports", "export", "integrations"),
    "library": ("text", "features", "metrics", "pretraining", "models", "evaluation", "rules", "tagging"),
    "mathematics": ("kernels", "graph", "network", "objectives", "optimisation", "gradcheck"),
}


def stream() -> str:
    """The three rings of the package: a ring imports only from the rings below it."""
    parts: list[Box | Arrow] = []
    for row, (ring, rooms) in enumerate(RINGS.items()):
        parts.append(Box(75, 45 + 80 * row, (ring,), 112, "accent"))
        parts += [Box(210 + 112 * place, 45 + 80 * row, (room,), 100) for place, room in enumerate(rooms)]
    arrows = [Arrow(upper, lower) for upper, lower in itertools.pairwise(box for box in parts if box.style == "accent")]
    return _picture(1062, 250, "The three rings of the package; a ring uses only the rings below it", [*arrows, *parts])


def commands() -> str:
    """The commands on the way from raw text to labels, and what each thing on the way is good for."""
    things = [("raw text", "data"), ("labelled file", "plain"), ("model", "accent"), ("labels", "data")]
    row = [Box(80 + 250 * place, 60, (name,), 120, style) for place, (name, style) in enumerate(things)]
    arrows = [Arrow(a, b, label) for a, b, label in zip(row, row[1:], ("annotate", "train", "tag"), strict=False)]
    uses = [
        Box(80, 160, ("pretrain", "suggest, rules"), 130),
        Box(330, 160, ("doctor, convert", "crossval"), 150),
        Box(580, 160, ("evaluate, compare", "explain, info, tune", "extend, serve, export"), 180),
        Box(830, 160, ("evaluate, compare",), 160),
    ]
    arrows += [Arrow(thing, use) for thing, use in zip(row, uses, strict=True)]
    title = "Commands on the way from raw text to a labelled file, a model and labels"
    return _picture(930, 215, title, [*arrows, *row, *uses])


def network() -> str:
    """Draw the network of the English model of this repository."""
    import postil
    from postil.reports import drawn_network

    path = Path(__file__).parents[1] / "postil-english" / "src" / "postil_english" / "english.postil"
    return drawn_network(postil.load(path), "english")


DIAGRAMS = {
    "lattice": lattice,
    "tagging": tagging,
    "workers": workers,
    "stream": stream,
    "commands": commands,
    "through-structure": through_structure,
    "network": network,
}


def main() -> None:
    for name, diagram in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(diagram(), "utf-8")


if __name__ == "__main__":
    main()
