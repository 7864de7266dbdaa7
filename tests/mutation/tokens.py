"""Splits a C++ source into tokens with their positions, and matches their brackets.

Made for sources that clang-format has laid out: a `<` with spaces around it is a comparison, one
without is the bracket of a template.
"""
import bisect
import dataclasses
import re

PATTERN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<string>(?:u8|u|U|L)?R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"\w*
              |(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*"\w*)
  | (?P<character>(?:u8|u|U|L)?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:'?[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><=>|<<=|>>=|\.\.\.|->\*|::|->|\+\+|--|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class NotUnderstood(Exception):
    """The source has something that this parser doesn't know."""


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


class Source:
    """The text of a source and its tokens, without comments and blanks."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.tokens = []
        for found in PATTERN.finditer(text):
            kind = found.lastgroup
            if kind == "delimiter":
                kind = "string"
            if kind != "comment" and not found.group().isspace():
                self.tokens.append(Token(kind, found.group(), found.start(), found.end()))
        self.partner = self._matched_brackets()
        self.line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
        self.lines = text.split("\n")

    def _matched_brackets(self):
        """Returns the index of the other bracket for the index of each bracket."""
        partner, open_brackets = {}, []
        for index, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in CLOSING:
                open_brackets.append(index)
            elif token.text in CLOSING.values():
                if not open_brackets or CLOSING[self.tokens[open_brackets[-1]].text] != token.text:
                    raise NotUnderstood(f"{self.path}: a {token.text} without its beginning")
                opening = open_brackets.pop()
                partner[opening], partner[index] = index, opening
        if open_brackets:
            raise NotUnderstood(f"{self.path}: a bracket without its end")
        return partner

    def line_of(self, offset):
        return bisect.bisect_right(self.line_starts, offset)

    def has(self, index, *texts):
        """Returns whether the token at `index` is one of these names or signs."""
        if not 0 <= index < len(self.tokens):
            return False
        token = self.tokens[index]
        return token.kind in ("name", "sign") and token.text in texts

    def is_spaced(self, index):
        """Returns whether there is a blank before and after the token, as around binary operators."""
        token = self.tokens[index]
        return self.text[token.start - 1].isspace() and self.text[token.end : token.end + 1].isspace()

    def skip_brackets(self, index):
        """Returns the index after the token at `index`, or after its closing bracket."""
        if self.has(index, *CLOSING):
            return self.partner[index] + 1
        return index + 1
