"""The picture of one finding at the top of README.md: a terminal, drawn as an SVG from what torchlint really prints."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

WIDTH, SIZE, LINE = 104, 14, 21
"""Characters a row, the font's size and a row's height in pixels."""

LOOKS: tuple[tuple[str, str], ...] = (
    (r"^\$ .*$", "#7ee787"),
    (r"(?<=: )TLK\d{3}\b", "#ff7b72"),
    (r"^[\w./-]+:\d+:\d+:", "#79c0ff"),
    (r"\^+", "#ff7b72"),
    (r"^ *= help:.*$", "#7ee787"),
    (r"^ *= \w+:.*$", "#d2a8ff"),
    (r"# expect.*$", "#8b949e"),
    (r"^ *\d* \|", "#8b949e"),
)
"""What is coloured, the first that fits."""


def picture(console: str) -> str:
    """An SVG of a terminal that shows ``console``, long rows wrapped at a word."""
    rows = [piece for line in console.rstrip("\n").split("\n") for piece in _wrapped(line)]
    width, height = WIDTH * SIZE * 0.602 + 40, len(rows) * LINE + 62
    texts = "\n".join(_row(text, 58 + number * LINE) for number, text in enumerate(rows))
    dots = "".join(
        f'<circle cx="{22 + 20 * n}" cy="20" r="6" fill="{color}"/>'
        for n, color in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">\n'
        f'<rect width="100%" height="100%" rx="10" fill="#0d1117"/>{dots}\n'
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}" fill="#e6edf3">\n'
        f"{texts}\n</g>\n</svg>\n"
    )


def _wrapped(line: str) -> list[str]:
    rows = []
    while len(line) > WIDTH:
        cut = line.rfind(" ", 0, WIDTH)
        rows.append(line[:cut])
        line = "    " + line[cut + 1 :]
    return [*rows, line]


def _row(text: str, y: int) -> str:
    spans, done = [], 0
    pattern = "|".join(f"(?P<look{number}>{look})" for number, (look, _) in enumerate(LOOKS))
    for match in re.finditer(pattern, text):
        spans.append(escape(text[done : match.start()]))
        color = LOOKS[int((match.lastgroup or "look0").removeprefix("look"))][1]
        spans.append(f'<tspan fill="{color}">{escape(match[0])}</tspan>')
        done = match.end()
    spans.append(escape(text[done:]))
    return f'<text x="20" y="{y}" xml:space="preserve">{"".join(spans)}</text>'
