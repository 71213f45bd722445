"""Draw what commands print on a terminal, with its colours: ``docs/images/terminal.svg`` and ``explain.svg``.

python docs/draw_terminal.py
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import numpy as np

import postil
from postil.samples.corpora import made_up_sentences

IMAGES = Path(__file__).parent / "images"
NAMES = "Angela Merkel met Tim Cook in Cupertino."
ENTITY = ["--entity", "Cupertino"]
PARKS = "The parks of Florence are quiet ."
# Picture -> its title, and for each command: as it is shown, its words, and how many lines of its output are drawn.
# The model florence.postil, in which Florence is both a first name and a town, is trained here.
PICTURES = {
    "terminal": (
        "postil tag and postil explain in a terminal",
        [
            (f'postil tag "{NAMES}"', ["tag", "english", NAMES], 99),
            (
                f'postil explain "{NAMES}" --entity Cupertino',
                ["explain", "english", NAMES, "--entity", "Cupertino"],
                12,
            ),
        ],
    ),
    "explain": (
        "postil explain: the words and features behind an entity",
        [(f'postil explain names.postil "{PARKS}"', ["explain", "florence.postil", PARKS], 99)],
    ),
}
COLUMNS, WIDTH, HEIGHT = 88, 8.1, 19  # characters; pixels of one
BACKGROUND, INK = "#1d2430", "#e4e9f0"
NORMAL = ["#5b6575", "#e06c75", "#7ec97e", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#cfd6e0"]
BRIGHT = ["#7f8a9a", "#ff8b92", "#a3e0a3", "#f4d699", "#8cc6ff", "#dc9bee", "#7fd6e0", "#ffffff"]


def printed(words: list[str], folder: str) -> str:
    """The output of a command of postil, with the escapes for colours that a terminal gets."""
    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM")}
    environment |= {"COLUMNS": str(COLUMNS), "TERM": "xterm"}
    command = [sys.executable, "-m", "postil", *words]
    process = subprocess.Popen(command, stdout=child, stderr=subprocess.DEVNULL, env=environment, cwd=folder)
    os.close(child)
    content = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:  # how Linux reports the end of a pseudo-terminal
            break
        if not piece:
            break
        content += piece
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return content.decode("utf-8").replace("\r", "")


def line_svg(line: str, y: float) -> str:
    """One line of terminal output as SVG: a rectangle for each background, a text for each piece of one style."""
    parts, column, bold, ink, ground = [], 0, False, INK, ""
    for escape_code, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line):
        if not text:
            for code in map(int, (escape_code or "0").split(";")):
                if code == 0:
                    bold, ink, ground = False, INK, ""
                elif code in (1, 2):
                    bold = code == 1
                elif 30 <= code <= 37:
                    ink = "#10151d" if code == 30 else NORMAL[code - 30]
                elif 40 <= code <= 47:
                    ground = NORMAL[code - 40]
                elif 100 <= code <= 107:
                    ground = BRIGHT[code - 100]
            continue
        x, width = 16 + column * WIDTH, len(text) * WIDTH
        if ground:
            parts.append(f'<rect x="{x:.1f}" y="{y - 14:.1f}" width="{width:.1f}" height="{HEIGHT}" fill="{ground}"/>')
        weight = ' font-weight="700"' if bold else ""
        if text.strip():
            parts.append(
                f'<text x="{x:.1f}" y="{y:.1f}" fill="{ink}"{weight} textLength="{width:.1f}" xml:space="preserve">'
                f"{escape(text)}</text>"
            )
        column += len(text)
    return "".join(parts)


def drawn(name: str, folder: str) -> str:
    title, commands = PICTURES[name]
    lines = []
    for shown, words, length in commands:
        output = printed(words, folder).strip("\n").split("\n")
        lines += [f"\x1b[32m$\x1b[0m \x1b[1m{shown}\x1b[0m", *output[:length], ""]
    rows = [line_svg(line, 52 + HEIGHT * place) for place, line in enumerate(lines)]
    width, height = round(32 + COLUMNS * WIDTH), round(50 + HEIGHT * len(lines))
    dots = "".join(
        f'<circle cx="{20 + 18 * place}" cy="17" r="5.5" fill="{colour}"/>'
        for place, colour in enumerate(("#e06c75", "#e5c07b", "#7ec97e"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13.5">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{width}" height="{height}" rx="9" fill="{BACKGROUND}"/>{dots}\n' + "\n".join(rows) + "\n</svg>\n"
    )


def main() -> None:
    sentences = made_up_sentences(300, np.random.default_rng(0))
    tagger = postil.Tagger(seed=0, epochs=5).fit([one.tokens for one in sentences], [one.labels for one in sentences])
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "florence.postil")
        for name in PICTURES:
            (IMAGES / f"{name}.svg").write_text(drawn(name, folder), "utf-8")


if __name__ == "__main__":
    main()
