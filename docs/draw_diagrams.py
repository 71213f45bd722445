"""Draw the diagrams of the pages into ``docs/images``: boxes and arrows as plain SVG, so that the site needs no script.

python docs/draw_diagrams.py
"""

import itertools
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from postil.objectives import ChainScores, Lattice, Posterior, viterbi

IMAGES = Path(__file__).parent / "images"
COLOURS = {"plain": ("#eef6ec", "#5d9a57"), "data": ("#e8f1fb", "#4a7fb5"), "later": ("#f4f4f4", "#9a9a9a")}
INK, FAINT = "#1b2a3a", "#8a97a5"


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
        fill, stroke = COLOURS[self.style]
        left, top = self.x - self.width / 2, self.y - self.height / 2
        shape = f'<rect x="{left:g}" y="{top:g}" width="{self.width:g}" height="{self.height:g}" rx="6"'
        parts = [f'{shape} fill="{fill}" stroke="{stroke}"/>']
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
        colour, width = (INK, 2.6) if self.thick else (FAINT, 1.2)
        parts = [
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}" '
            f'marker-end="url(#{"thick" if self.thick else "thin"})"/>'
        ]
        lines = self.label.split("\n") if self.label else []
        for row, line in enumerate(lines):
            y = (y1 + y2) / 2 - 7 - 14 * (len(lines) - 1 - row)
            parts.append(_text((x1 + x2) / 2, y, line, size=12, colour="#51606e"))
        return "".join(parts)


def _text(x: float, y: float, text: str, *, size: int = 13, colour: str = INK, extra: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="middle"{extra}'
    return f"<text {place}>{escape(text)}</text>"


def _picture(width: int, height: int, title: str, parts: list[Box | Arrow]) -> str:
    tips = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="{size}" markerHeight="{size}" '
        f'orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for name, size, colour in (("thin", 9, FAINT), ("thick", 12, INK))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif"><title>{escape(title)}</title><defs>{tips}</defs>'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n'
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


def fast_path() -> str:
    return chain(
        "The fast path of postil tag, from bytes to bytes",
        [
            (("bytes",), ""),
            (("cells", "(N, 2)"), "token_cells:\nwhere tokens are"),
            (("row numbers", "(N,)"), "engine:\na hash table"),
            (("label numbers", "(N,)"), "network, Viterbi"),
            (("labelled bytes",), "write_rows"),
        ],
        width=112,
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


STREAM = ("text", "features", "network", "objectives", "metrics", "training", "pretraining", "models",
          "curation", "reports", "export", "serving", "integrations", "server", "commands")  # fmt: skip
LATER = {"curation", "export"}


def stream() -> str:
    """The folders of the package, in the order in which data passes through them: to the right, then back."""
    half = (len(STREAM) + 1) // 2
    columns = [*range(half), *reversed(range(half))]
    boxes = [
        Box(75 + 130 * columns[place], 40 + 80 * (place // half), (name,), 104, "later" if name in LATER else "plain")
        for place, name in enumerate(STREAM)
    ]
    arrows = [Arrow(a, b) for a, b in itertools.pairwise(boxes)]
    return _picture(
        150 + 130 * (half - 1), 160, "The folders of the package, in the order of the data", [*arrows, *boxes]
    )


def network() -> str:
    """What ``postil draw`` writes about the English model of this repository."""
    import postil
    from postil.reports import drawn_network

    path = Path(__file__).parents[1] / "postil-english" / "src" / "postil_english" / "english.postil"
    return drawn_network(postil.load(path), "english")


DIAGRAMS = {
    "lattice": lattice,
    "tagging": tagging,
    "fast-path": fast_path,
    "workers": workers,
    "stream": stream,
    "network": network,
}


def main() -> None:
    for name, diagram in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(diagram(), "utf-8")


if __name__ == "__main__":
    main()
