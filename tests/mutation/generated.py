"""Writes the copy of a source that holds all of its mutants, each behind its switch.

A part of a statement is there once for each of its mutants, and then as it is:

    if (is_on(7) ? static_cast<bool>(a <= b) : static_cast<bool>(a < b))
    { if (is_on(8)) { } else { run.resume_ref.clear(); } }

Each mutant is on lines of its own, so that an error of the compiler names the mutant that doesn't compile.
"""
import collections

PREAMBLE = '#include "tests/mutation/mutant_switch.h"\n'
SWITCH = "::signalbox::mutation::is_on({})"


class Generated:
    """The `text` of the copy, and the mutants of each of its lines in `owners`."""

    def __init__(self, source, mutants):
        self.source = source
        self.owners = collections.defaultdict(list)
        self._pieces = []
        self._line = 1
        self._put(PREAMBLE)
        at = 0
        for start, end, pieces in self._edits(mutants):
            self._put(source.text[at:start])
            for text, mutant in pieces:
                self._put(text, mutant)
            at = end
        self._put(source.text[at:])
        self.text = "".join(self._pieces)

    def _put(self, text, mutant=None):
        lines = text.count("\n")
        if mutant is not None:
            for line in range(self._line, self._line + lines + 1):
                self.owners[line].append(mutant)
        self._pieces.append(text)
        self._line += lines

    def _edits(self, mutants):
        """Returns what replaces the text from one offset to another, in order: (start, end, pieces). A
        piece is a text and the mutant that it belongs to, or None."""
        groups = collections.defaultdict(list)
        for mutant in mutants:
            groups[mutant.kind, mutant.first, mutant.end].append(mutant)
        edits = []
        for (kind, first, end), group in groups.items():
            if kind == "early_return":
                offset = self.source.tokens[first].end
                edits.append((offset, offset, early_returns(group)))
                continue
            start, stop = self.source.tokens[first].start, self.source.tokens[end - 1].end
            if kind == "leaf":
                edits.append((start, stop, chosen(group, self.source.text[start:stop])))
                continue
            before, after = SWITCHED[kind](group)
            edits.append((start, start, before))
            edits.append((stop, stop, after))
        # What begins a part is before what replaces its first token.
        return sorted(edits, key=lambda edit: (edit[0], edit[1]))


def switch(mutant):
    return SWITCH.format(mutant.number)


def early_returns(group):
    return [("\n", None)] + [
        piece
        for mutant in group
        for piece in ((f"if ({switch(mutant)}) {mutant.text}", mutant), ("\n", None))
    ]


def chosen(group, original):
    """Returns an expression for a token: that of the mutant that is on, or the token itself."""
    pieces = [("\n(", None)]
    for mutant in group:
        pieces += [(f"{switch(mutant)} ? {mutant.text} :", mutant), ("\n", None)]
    return pieces + [(f"{original})\n", None)]


def statement(group):
    """Returns what stands before and after a statement."""
    before = [("{\n", None)]
    for mutant in group:
        before += [(f"if ({switch(mutant)}) {{ {mutant.text} }} else", mutant), ("\n", None)]
    return before + [("{\n", None)], [("\n}}", None)]


def condition(group):
    before = [("\n(", None)]
    for mutant in group:
        before += [(f"{switch(mutant)} ? static_cast<bool>({mutant.text}) :", mutant), ("\n", None)]
    return before + [("static_cast<bool>(\n", None)], [("\n))", None)]


def initializer(group):
    before = [("\n(", None)]
    for mutant in group:
        before += [(f"{switch(mutant)} ? ({mutant.text}) :", mutant), ("\n", None)]
    return before + [("(\n", None)], [("\n))", None)]


SWITCHED = {
    "statement": statement,
    "return": statement,
    "condition": condition,
    "loop_condition": condition,
    "initializer": initializer,
}
