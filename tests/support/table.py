"""A row of a table that people read in a terminal: each cell wrapped to the width of its column."""

import textwrap


def columns(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    """The lines of a row, columns two spaces apart."""
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, wrapped))):
        parts = [
            (cell[number] if number < len(cell) else "").ljust(width)
            for cell, width in zip(wrapped, widths, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
