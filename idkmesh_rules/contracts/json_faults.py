"""Find what is wrong in a JSON text that the quick parse gave up on: a linear scan with positions.

Invariants: behind the place where the quick parse gave up, the text may be anything, so the scan ends at the first token
that isn't JSON; it keeps one set of keys a level, no recursion, and reports at most `_MOST` faults.
"""

import json
import re

from idkmesh_rules.errors import Problem

_MOST = 20
_ABYSS = 1_000_000
_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")|(?P<open>[{\[])|(?P<close>[}\]])'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-]))"
    r"|(?P<comma>,)|(?P<colon>:)|(?P<word>(?:true|false|null|NaN|-?Infinity)(?![A-Za-z]))|(?P<other>[^ \t\n\r]))"
)
_SURROGATE = re.compile(r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2})")
_ESCAPED_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)++")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def position(before: str) -> tuple[int, int]:
    """The 1-based line and column of the place behind the text `before`."""
    start = before.rfind("\n") + 1
    return before.count("\n") + 1, len(before) - start + 1


def find_faults(text: str, source: str, *, max_depth: int, max_digits: int, quote: bool = True) -> tuple[Problem, ...]:
    """Return every fault of `text`, in reading order, at least one; `source` names the document in the messages.

    Without `quote` no message holds any of the text: for documents whose content isn't for every reader.
    """
    scan = _Scan(text, source, max_depth, max_digits, quote)
    scan.run()
    return tuple(scan.problems) or (Problem("the document can't be read strictly", source, line=1, column=1),)


class _Scan:
    def __init__(self, text: str, source: str, max_depth: int, max_digits: int, quote: bool) -> None:
        self.text, self.source, self.max_depth, self.max_digits, self.quote = text, source, max_depth, max_digits, quote
        self.problems: list[Problem] = []
        self._line, self._line_start, self._counted = 1, 0, 0

    def fault(self, offset: int, message: str, hint: str) -> None:
        self._line += self.text.count("\n", self._counted, offset)
        newline = self.text.rfind("\n", self._line_start, offset)
        self._line_start = newline + 1 if newline >= 0 else self._line_start
        self._counted = offset
        self.problems.append(
            Problem(message, self.source, line=self._line, column=offset - self._line_start + 1, hint=hint)
        )

    def run(self) -> None:
        keys: list[set[str] | None] = []
        too_deep = False
        top = len(self.text) - len(self.text.lstrip(" \t\r\n"))
        expect_key = False
        for token in _TOKEN.finditer(self.text):
            if len(self.problems) >= _MOST:
                return
            kind, start = token.lastgroup, token.start(token.lastgroup or 0)
            if start == top and token[token.lastgroup or 0] != "{":
                self.fault(start, "the top level is not an object", "wrap the document in { }")
            if kind == "open":
                keys.append(set() if token["open"] == "{" else None)
                expect_key = token["open"] == "{"
                if len(keys) > self.max_depth and not too_deep:
                    too_deep = True
                    self.fault(start, f"nesting is deeper than {self.max_depth} levels", "flatten the document")
                if len(keys) > _ABYSS:
                    # Nobody wrote that by mistake, and looking for mistakes in it would take a long time.
                    return
            elif kind == "close":
                if keys:
                    keys.pop()
                expect_key = False
            elif kind == "comma":
                expect_key = bool(keys) and keys[-1] is not None
            elif kind == "string":
                self._string(token["string"], start, keys[-1] if expect_key and keys else None)
                expect_key = False
            elif kind == "number":
                self._number(token["number"], start)
            elif kind == "other":
                self.fault(start, "not JSON from here on", "the document must be exactly one JSON object")
                return
            elif kind == "word" and token["word"] in ("NaN", "Infinity", "-Infinity"):
                self.fault(start, f"{token['word']} is not JSON", "use null, or leave the key out")

    def _string(self, literal: str, start: int, keys: set[str] | None) -> None:
        if "\\u" in literal:
            plain = _PAIR.sub("?" * 12, _ESCAPED_BACKSLASHES.sub(lambda run: "?" * len(run[0]), literal))
            lone = _SURROGATE.search(plain)
            if lone:
                self.fault(
                    start + lone.start(),
                    f"{lone[0]} is a lone surrogate, which no UTF-8 text can hold",
                    "escape the character as a surrogate pair, or write it out",
                )
        if keys is None:
            return
        key = _unescape(literal)
        if key in keys:
            self.fault(
                start,
                f"{self._quoted('the key', literal, 80)} stands twice in one object",
                "keep one of them",
            )
        keys.add(key)

    def _number(self, literal: str, start: int) -> None:
        if not any(mark in literal for mark in ".eE"):
            if len(literal) > self.max_digits:
                self.fault(start, f"a number of {len(literal)} digits", "no document needs integers beyond 2^53")
        elif float(literal) - float(literal) != 0.0:
            self.fault(start, f"{self._quoted('', literal, 40)} is too large for a number", "write a finite number")

    def _quoted(self, what: str, literal: str, most: int) -> str:
        if not self.quote:
            return "a key" if what else "this"
        return f"{what} {literal if len(literal) < most else literal[: most - 3] + '…'}".strip()


def _unescape(literal: str) -> str:
    return str(json.loads(literal, strict=False))
