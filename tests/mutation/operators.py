"""Makes the mutants of a source: each is a change within one statement.

A mutant of a whole part (`edits` of its tokens) is compiled as a copy of that part beside the
original. A mutant of a single token (`leaf`) is compiled in place of the token, so that it also works
in declarations and braced lists.
"""
import dataclasses
import re

from statements import Parser

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SWAPPED_NAMES = {"min": "max", "max": "min"}
STOPS = {",", ";", "=", "+=", "-=", "?", ":", "return", "<<", ">>"}
OPERATORS = ["negated", "never", "comparison", "and_or", "operand", "sign", "min_max", "deleted",
             "early_return", "boolean", "limit", "number", "enumerator"]
SHOWN_MAX = 100  # characters of a part in a report
# Statements that only tell a person something: to delete them breaks no promise.
UNTESTED_CALLS = re.compile(r"^(spdlog ::|log_\w+ \(|log_? \.|static_cast < void >|std :: ignore)")


@dataclasses.dataclass
class Mutant:
    """A changed line. `number` is given when the mutant is planned."""

    path: str
    line: int
    operator: str
    shown: str       # the line as it would be
    kind: str        # how it is switched: a part's kind, "leaf", or "early_return"
    first: int       # tokens that are replaced, and what by
    end: int
    text: str
    repeated: int = 0  # how many earlier mutants of the source look the same
    number: int = 0

    @property
    def key(self):
        """Names the mutant whatever line it is on, so that results outlive other changes."""
        again = f" ({self.repeated + 1})" if self.repeated else ""
        return f"{self.path}: {self.operator}: {self.shown}{again}"


def enumerations(texts):
    """Returns the enumerators of each `enum class` by its name. Names that are defined twice with other
    enumerators are left out."""
    found, ambiguous = {}, set()
    for text in texts:
        text = re.sub(r"//[^\n]*", "", text)
        for name, body in re.findall(r"enum class (\w+)[^{;]*\{(.*?)\}", text, re.DOTALL):
            names = re.findall(r"(?:^|,)\s*(\w+)", body)
            if found.setdefault(name, names) != names:
                ambiguous.add(name)
    return {name: names for name, names in found.items() if name not in ambiguous and len(names) > 1}


class Maker:
    """Collects the `mutants` of a source."""

    def __init__(self, source, enumerators):
        self.source = source
        self.tokens = source.tokens
        self.enumerators = enumerators
        self.mutants = []
        self._seen = {}
        parser = Parser(source)
        for function in parser.functions:
            self._early_returns(function)
        for part in parser.parts:
            self._part(part)
        self.mutants.sort(key=lambda mutant: (mutant.line, mutant.first))

    # Whole parts

    def _part(self, part):
        indices = self._own_indices(part)
        for index in indices:
            self._leaf(index)
        if part.kind == "leaves":
            return
        if part.kind == "statement":
            self._deleted(part)
        if part.kind in ("condition", "loop_condition"):
            self._condition(part)
        for index in indices:
            self._operators(part, index)

    def _own_indices(self, part):
        inner = {index for first, end in part.inner for index in range(first, end)}
        return [index for index in range(part.first, part.end) if index not in inner]

    def _copy(self, part, edits):
        """Returns the part's text with other texts for some tokens."""
        return " ".join(
            edits.get(index, self.tokens[index].text) for index in range(part.first, part.end)
        )

    def _changed(self, part, operator, edits):
        at = min(edits)
        self._add(operator, at, self._shown(edits), part.kind, part.first, part.end,
                  self._copy(part, edits))

    def _shown(self, edits):
        """Returns the first changed line with its changes."""
        line = self.source.line_of(self.tokens[min(edits)].start)
        begin = self.source.line_starts[line - 1]
        text = self.source.lines[line - 1]
        for index in sorted(edits, reverse=True):
            token = self.tokens[index]
            if self.source.line_of(token.start) == line:
                text = text[: token.start - begin] + edits[index] + text[token.end - begin :]
        return re.sub(r"(?<=\S)  +", " ", text)

    def _add(self, operator, at, shown, kind, first, end, text):
        line = self.source.line_of(self.tokens[at].start)
        mutant = Mutant(self.source.path, line, operator, shown.strip(), kind, first, end, text)
        same = (operator, mutant.shown)
        mutant.repeated = self._seen.get(same, 0)
        self._seen[same] = mutant.repeated + 1
        self.mutants.append(mutant)

    def _text_of(self, first, end):
        """Returns the source's text in one line, shortened."""
        text = " ".join(self.source.text[self.tokens[first].start : self.tokens[end - 1].end].split())
        return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"

    def _deleted(self, part):
        if not UNTESTED_CALLS.match(self._copy(part, {})):
            shown = f"without {self._text_of(part.first, part.end)}"
            self._add("deleted", part.first, shown, part.kind, part.first, part.end, "")

    def _condition(self, part):
        text = self._copy(part, {})
        shown = self._text_of(part.first, part.end)
        self._add("never", part.first, f"({shown}) is false", part.kind, part.first, part.end, "false")
        if part.kind == "condition":
            self._add("negated", part.first, f"({shown}) is negated", part.kind, part.first, part.end,
                      f"!({text})")

    def _operators(self, part, index):
        token = self.tokens[index]
        if token.kind == "sign" and self.source.is_spaced(index):
            if token.text in COMPARISONS:
                self._changed(part, "comparison", {index: COMPARISONS[token.text]})
            elif token.text in ("&&", "||"):
                self._changed(part, "and_or", {index: "||" if token.text == "&&" else "&&"})
                self._dropped_operands(part, index)
            elif token.text in ("+", "-") and self._is_arithmetic(index):
                self._changed(part, "sign", {index: "-" if token.text == "+" else "+"})
            elif token.text in ("+=", "-="):
                self._changed(part, "sign", {index: "-=" if token.text == "+=" else "+="})
            elif token.text == "?":
                self._choice(part, index)
        elif token.text in ("++", "--"):
            self._changed(part, "sign", {index: "--" if token.text == "++" else "++"})
        elif token.text in SWAPPED_NAMES and self.source.has(index - 1, "::"):
            if self.source.has(index - 2, "std"):
                self._changed(part, "min_max", {index: SWAPPED_NAMES[token.text]})

    def _is_arithmetic(self, index):
        before, after = self.tokens[index - 1], self.tokens[index + 1]
        is_binary = before.kind in ("name", "number") or before.text in (")", "]")
        return is_binary and before.text != "return" and "string" not in (before.kind, after.kind)

    def _operand(self, part, index, step):
        """Returns the token range of the operand of the `&&` or `||` or `?` at `index`, on one side."""
        at = index + step
        while part.first <= at < part.end:
            text = self.tokens[at].text
            if text in ("&&", "||") and self.source.is_spaced(at):
                break
            if text in STOPS or text in (("(", "{", "[") if step < 0 else (")", "}", "]")):
                break
            at = self.source.partner[at] + step if at in self.source.partner else at + step
        return (at + 1, index) if step < 0 else (index + 1, at)

    def _dropped_operands(self, part, index):
        """Drops the operand after each operator, and the one before the first operator of a chain."""
        _, end = self._operand(part, index, +1)
        self._dropped(part, index, end)
        first, _ = self._operand(part, index, -1)
        if first == part.first or self.tokens[first - 1].text != self.tokens[index].text:
            self._dropped(part, first, index + 1)

    def _dropped(self, part, first, end):
        text = self._copy(part, {index: "" for index in range(first, end)})
        self._add("operand", first, f"without {self._text_of(first, end)}", part.kind, part.first,
                  part.end, text)

    def _choice(self, part, index):
        """Negates the condition of a `?`, unless its comparison is swapped anyway."""
        at = index - 1
        while at > part.first and self.tokens[at].text not in STOPS | {"(", "{", "["}:
            at = self.source.partner[at] - 1 if at in self.source.partner else at - 1
        if at > part.first or self.tokens[at].text == "return":
            at += 1
        condition = range(at, index)
        if at == index or any(self.tokens[each].text in COMPARISONS for each in condition):
            return
        edits = {at: f"!({self.tokens[at].text}"} | {index: ") ?"}
        if len(condition) > 0:
            self._changed(part, "negated", edits)

    # Single tokens

    def _leaf(self, index):
        token = self.tokens[index]
        if self.source.text[token.start - 1] == "<" or self.source.text[token.end] == ">":
            return  # an argument of a template
        if token.kind == "number":
            self._number(index)
        elif token.text in ("true", "false"):
            self._replaced("boolean", index, index + 1, "false" if token.text == "true" else "true")
        elif self.source.has(index, "limits") and self.source.has(index + 1, "::"):
            if not self.source.has(index + 3, "(", "::"):
                name = f"limits::{self.tokens[index + 2].text}"
                self._replaced("limit", index, index + 3, f"({name} + 1)")
                self._replaced("limit", index, index + 3, f"({name} - 1)")
        elif self.source.has(index - 1, "::") and self.tokens[index - 2].text in self.enumerators:
            self._enumerator(index)

    def _replaced(self, operator, first, end, text):
        edits = {first: text} | {index: "" for index in range(first + 1, end)}
        self._add(operator, first, self._shown(edits), "leaf", first, end, text)

    def _number(self, index):
        text = self.tokens[index].text
        if re.fullmatch(r"[\d']+", text):
            self._replaced("number", index, index + 1, {"0": "1", "1": "0"}.get(text, f"({text} + 1)"))

    def _enumerator(self, index):
        name, names = self.tokens[index].text, self.enumerators[self.tokens[index - 2].text]
        if name not in names or self.source.has(index + 1, "("):
            return
        first = index - 2
        while self.source.has(first - 1, "::") and self.tokens[first - 2].kind == "name":
            first -= 2
        prefix = "".join(token.text for token in self.tokens[first:index])
        other = names[(names.index(name) + 1) % len(names)]
        if self.source.text[self.tokens[first].start - 1] != "<":
            self._replaced("enumerator", first, index + 1, prefix + other)

    # Functions

    def _early_returns(self, function):
        if self.source.partner[function.body] == function.body + 1:
            return
        texts = {"void": ["return;"], "bool": ["return true;", "return false;"], "other": ["return {};"]}
        name = self._name_of(function)
        for text in texts.get(function.result, []):
            self._add("early_return", function.header, f"{name}() {{ {text} … }}", "early_return",
                      function.body, function.body, text)

    def _name_of(self, function):
        index = function.header
        while not self.source.has(index, "("):
            index += 1
        return self.tokens[index - 1].text
