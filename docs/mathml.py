r"""Formulas of the pages as MathML, which browsers show without a script and without the network.

    mathml(r"\frac{\partial C}{\partial W} = \delta x^\top")

The pages write formulas in a part of LaTeX that GitHub shows as well, in ```math blocks and as $`…`$. This module
reads letters, numbers, operators, groups, ^ and _, \frac, \sqrt, \hat, \text, names of functions, and the environments
aligned and cases. ``site_hooks.py`` calls it while the site is built.
"""

import re
from html import escape

SYMBOLS = {
    **{name: chr(ord("α") + place) for place, name in enumerate(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho".split()
    )},
    "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "Delta": "Δ", "Omega": "Ω", "Theta": "Θ",
    "ell": "ℓ", "partial": "∂", "infty": "∞", "top": "⊤", "nabla": "∇",
}  # fmt: skip
OPERATORS = {
    "cdot": "·", "circ": "∘", "le": "≤", "ge": "≥", "ne": "≠", "in": "∈", "to": "→", "pm": "±", "mid": "|", "sim": "∼",
    "leftarrow": "←", "propto": "∝", "ldots": "…", "cdots": "⋯", "times": "×", "mapsto": "↦",
    "approx": "≈",
}  # fmt: skip
FUNCTIONS = {"log", "exp", "max", "min", "tanh", "argmax", "softmax", "diag", "logadd", "hardtanh", "sgn"}
SPACES = {"quad": "1em", ",": "0.17em", ";": "0.28em", " ": "0.25em", "qquad": "2em"}
TOKEN = re.compile(r"\\begin\{(\w+)\}|\\end\{(\w+)\}|\\text\{([^}]*)\}|\\([A-Za-z]+|.)|(\d+(?:\.\d+)?)|(\S)")


def mathml(source: str, *, display: bool = False) -> str:
    """One formula as a <math> element."""
    row, rest = _row(list(TOKEN.finditer(source)), until="")
    if rest:
        raise ValueError(f"{rest[0][0]} is not expected in the formula {source!r}")
    kind = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{kind}>{row}</math>'


def _row(tokens: list[re.Match[str]], until: str) -> tuple[str, list[re.Match[str]]]:
    """The elements up to a closing token, which is left in place, as one group."""
    parts: list[str] = []
    while tokens and tokens[0][0] not in (until, "&", "\\\\", "}") and not tokens[0][2]:
        if tokens[0][0] in ("^", "_"):
            parts[-1], tokens = _scripts(parts[-1], tokens)
        else:
            part, tokens = _one(tokens)
            parts.append(part)
    return f"<mrow>{''.join(parts)}</mrow>", tokens


def _scripts(base: str, tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    """A base with its subscript and superscript; sums and maxima have them under and over the sign."""
    scripts = {}
    while tokens and tokens[0][0] in ("^", "_"):
        sign = tokens[0][0]
        scripts[sign], tokens = _one(tokens[1:])
    under = "∑" in base or ">max<" in base or ">argmax<" in base
    names = {"_": "munder" if under else "msub", "^": "mover" if under else "msup"}
    both = "munderover" if under else "msubsup"
    if len(scripts) == 2:
        return f"<{both}>{base}{scripts['_']}{scripts['^']}</{both}>", tokens
    [(sign, script)] = scripts.items()
    return f"<{names[sign]}>{base}{script}</{names[sign]}>", tokens


def _one(tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    """The next element and what follows it."""
    token, rest = tokens[0], tokens[1:]
    _, begin, _, text, command, number, sign = (token[group] for group in range(7))
    if begin:
        return _environment(begin, rest)
    if text is not None:
        return f"<mtext>{escape(text)}</mtext>", rest
    if number:
        return f"<mn>{number}</mn>", rest
    if sign == "{":
        group, rest = _row(rest, until="}")
        return group, rest[1:]
    if sign:
        if sign.isalpha():
            return f"<mi>{sign}</mi>", rest
        kind = ' stretchy="false"' if sign in "()[]|" else ""
        return f"<mo{kind}>{escape({'-': '−', '*': '∗'}.get(sign, sign))}</mo>", rest
    return _command(command, rest)


def _command(name: str, rest: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    if name == "frac":
        above, rest = _one(rest)
        below, rest = _one(rest)
        return f"<mfrac>{above}{below}</mfrac>", rest
    if name in ("sqrt", "hat"):
        inside, rest = _one(rest)
        if name == "hat":
            return f'<mover accent="true">{inside}<mo>^</mo></mover>', rest
        return f"<msqrt>{inside}</msqrt>", rest
    if name in ("left", "right"):
        return f'<mo stretchy="true">{escape(rest[0][0].removeprefix(chr(92)))}</mo>', rest[1:]
    if name in SPACES:
        return f'<mspace width="{SPACES[name]}"/>', rest
    if name in FUNCTIONS:
        space = "" if name in ("max", "argmax") else '<mspace width="0.17em"/>'  # these have their index underneath
        return f"<mrow><mi>{name}</mi>{space}</mrow>", rest
    if name == "sum":
        return '<mo largeop="true" movablelimits="false">∑</mo>', rest
    if name in SYMBOLS:
        return f"<mi>{SYMBOLS[name]}</mi>", rest
    if name in OPERATORS:
        return f"<mo>{escape(OPERATORS[name])}</mo>", rest
    if name in "{}|":
        return f"<mo>{name}</mo>", rest
    raise ValueError(f"a formula has an unknown command: \\{name}")


def _environment(name: str, tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    """Rows and cells of aligned or cases, up to their end."""
    rows: list[list[str]] = [[]]
    while tokens and not tokens[0][2]:
        cell, tokens = _row(tokens, until="")
        rows[-1].append(cell)
        if tokens and tokens[0][0] == "&":
            tokens = tokens[1:]
        elif tokens and tokens[0][0] == "\\\\":
            rows.append([])
            tokens = tokens[1:]
    body = "".join(f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>" for row in rows if any(row))
    if name == "cases":
        return f'<mrow><mo stretchy="true">{{</mo><mtable columnalign="left left">{body}</mtable></mrow>', tokens[1:]
    return f'<mtable displaystyle="true" class="aligned">{body}</mtable>', tokens[1:]
