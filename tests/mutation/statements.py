"""Finds what may be mutated in a source: the parts of statements that a program evaluates.

Left out: declarations without a computed initializer, constant expressions, `case` labels, CHECKs,
coroutines' waits, and whatever the parser isn't sure of. A part that is left out costs a mutant; one
that is taken wrongly costs a compile error, which drops that mutant alone.
"""
import dataclasses

from tokens import NotUnderstood

# A part of a function. `kind` says how mutants of it are switched (see generated.py):
#   statement    an expression or a jump, with its semicolon
#   return       a return statement, with its semicolon
#   condition    of an if; loop_condition: of a while or for
#   initializer  what is right of the `=` of a declaration
#   leaves       anything else that is evaluated: only single tokens of it are mutated
@dataclasses.dataclass(frozen=True)
class Part:
    kind: str
    first: int  # index of a token
    end: int    # index after the last token
    inner: tuple = ()  # (first, end) of the bodies of lambdas in it, which have parts of their own


# A function with a body. `result` is "void", "bool", "other", or None if it can't return at once.
@dataclasses.dataclass(frozen=True)
class Function:
    header: int
    body: int  # index of its `{`
    result: str


DECLARATION_WORDS = {"const", "auto", "bool", "int", "double", "char", "unsigned", "long", "float"}
SKIPPED_WORDS = {"using", "static_assert", "static", "constexpr", "typedef", "struct", "class", "enum",
                 "template", "namespace", "delete", "goto", "extern", "union", "thread_local"}
SKIPPED_CALLS = {"SIGNALBOX_CHECK", "co_await", "co_yield", "co_return", "throw"}
TYPE_WORDS = {"class", "struct", "union"}
ACCESS_WORDS = {"public", "protected", "private"}
HEADER_ENDS = {"const", "noexcept", "override", "final", "mutable", "try"}
RESULT_QUALIFIERS = {"static", "inline", "virtual", "explicit", "friend", "extern"}


class Parser:
    """Collects `functions` and `parts` of a source."""

    def __init__(self, source):
        self.source = source
        self.tokens = source.tokens
        self.functions = []
        self.parts = []
        self._scope(0, len(self.tokens))

    # Declarations

    def _scope(self, index, end):
        """Parses the declarations of a namespace or class."""
        first = index
        while index < end:
            if self.tokens[index].kind == "directive":
                index = first = index + 1
            elif self.source.has(index, ";"):
                index = first = index + 1
            elif index == first and self.tokens[index].text in ACCESS_WORDS:
                index = first = index + 2
            elif self.source.has(index, "{"):
                index, first = self._brace(first, index)
            else:
                index = self.source.skip_brackets(index)

    def _brace(self, first, brace):
        """Parses a `{` after the declaration that begins at `first`. Returns where the scope and its
        next declaration go on."""
        close = self.source.partner[brace]
        words = [self.tokens[index].text for index in range(first, brace)]
        has_arguments = "(" in words
        if "namespace" in words[:2] or words[:1] == ["extern"]:
            self._scope(brace + 1, close)
            return close + 1, close + 1
        if not has_arguments and TYPE_WORDS.intersection(words) and "enum" not in words:
            self._scope(brace + 1, close)
            return close + 1, first
        if has_arguments and self._begins_body(brace, words):
            if not {"constexpr", "consteval", "noreturn"}.intersection(words):
                self.functions.append(Function(first, brace, self._result(first, brace)))
                self._block(brace)
            return close + 1, close + 1
        return close + 1, first  # an initializer

    def _begins_body(self, brace, words):
        if not self.source.text[self.tokens[brace].start - 1].isspace() or "=" in words:
            return False
        return words[-1] in (")", "}", ">", "&", "*") or words[-1] in HEADER_ENDS or "->" in words

    def _result(self, first, brace):
        """Returns what a function can return at once."""
        words = []
        index = first
        while index < brace and not self.source.has(index, "("):
            if self.source.has(index, "["):
                index = self.source.skip_brackets(index)
                continue
            words.append(self.tokens[index].text)
            index += 1
        if words[:1] == ["template"]:
            return None
        while words[-2:-1] == ["::"] or (len(words) > 1 and words[-2] == "~"):
            words = words[:-3] + words[-1:] if words[-2] == "::" else []
        words = [word for word in words[:-1] if word not in RESULT_QUALIFIERS]
        if not words or words[-1] == "&" or "auto" in words or "operator" in words:
            return None
        if "Task" in words or "awaitable" in words:
            return None
        return words[0] if words in (["void"], ["bool"]) else "other"

    # Statements

    def _block(self, brace):
        index, close = brace + 1, self.source.partner[brace]
        while index < close:
            index = self._statement(index)
        if index != close:
            raise NotUnderstood(f"{self._place(brace)}: a block that doesn't end where its brace does")

    def _place(self, index):
        return f"{self.source.path}:{self.source.line_of(self.tokens[index].start)}"

    def _statement(self, index):
        """Parses the statement that begins at `index`; returns the index after it."""
        token, source = self.tokens[index], self.source
        if token.kind == "directive":
            return index + 1
        if source.has(index, "{"):
            self._block(index)
            return source.partner[index] + 1
        if source.has(index, "["):  # an attribute
            return source.partner[index] + 1
        if source.has(index, ";"):
            return index + 1
        parse = {"if": self._if, "while": self._while, "for": self._for, "switch": self._switch,
                 "do": self._do, "try": self._try, "case": self._label, "default": self._label,
                 "return": self._return}.get(token.text)
        if parse is not None:
            return parse(index)
        return self._simple(index)

    def _if(self, index):
        is_constant = self.source.has(index + 1, "constexpr")
        opening = index + 2 if is_constant else index + 1
        close = self.source.partner[opening]
        if not is_constant:
            self._condition("condition", opening + 1, close)
        after = self._statement(close + 1)
        if self.source.has(after, "else"):
            after = self._statement(after + 1)
        return after

    def _while(self, index):
        close = self.source.partner[index + 1]
        self._condition("loop_condition", index + 2, close)
        return self._statement(close + 1)

    def _for(self, index):
        opening, close = index + 1, self.source.partner[index + 1]
        semicolons = self._at_top(opening + 1, close, ";")
        if semicolons:
            self._add("leaves", opening + 1, semicolons[0])
            if semicolons[1] > semicolons[0] + 1:
                self._condition("loop_condition", semicolons[0] + 1, semicolons[1])
        else:
            self._add("leaves", opening + 1, close)
        return self._statement(close + 1)

    def _switch(self, index):
        close = self.source.partner[index + 1]
        self._add("leaves", index + 2, close)
        return self._statement(close + 1)

    def _do(self, index):
        after = self._statement(index + 1)
        close = self.source.partner[after + 1]
        self._condition("loop_condition", after + 2, close)
        return close + 2

    def _try(self, index):
        after = self._statement(index + 1)
        while self.source.has(after, "catch"):
            after = self._statement(self.source.partner[after + 1] + 1)
        return after

    def _label(self, index):
        while not self.source.has(index, ":"):
            index = self.source.skip_brackets(index)
        return index + 1

    def _return(self, index):
        end = self._end_of_simple(index)
        self._add("return" if end > index + 2 else "statement", index, end)
        return end

    def _condition(self, kind, first, end):
        """Takes what is after an initializing statement; a declared variable has only leaves."""
        semicolons = self._at_top(first, end, ";")
        if semicolons:
            self._add("leaves", first, semicolons[-1])
            first = semicolons[-1] + 1
        is_declaration = bool(self._at_top(first, end, "="))
        self._add("leaves" if is_declaration else kind, first, end)

    def _simple(self, index):
        """Parses a declaration or an expression statement."""
        end = self._end_of_simple(index)
        text = self.tokens[index].text
        if text in SKIPPED_WORDS or "constexpr" in [each.text for each in self.tokens[index : index + 3]]:
            return end
        if text in SKIPPED_CALLS:
            return end
        if text in ("break", "continue"):
            self._add("statement", index, end)
        elif self._is_declaration(index):
            self._declaration(index, end)
        else:
            self._add("statement", index, end)
        return end

    def _declaration(self, index, end):
        equals = self._at_top(index, end, "=")
        begins_plainly = bool(equals) and not self.source.has(equals[0] + 1, "{", "[")
        if len(equals) == 1 and begins_plainly and not self._at_top(equals[0], end, ","):
            self._add("initializer", equals[0] + 1, end - 1)
        else:
            self._add("leaves", index, end)

    def _end_of_simple(self, index):
        while not self.source.has(index, ";"):
            if self.source.has(index, "}"):
                raise NotUnderstood(f"{self._place(index)}: a statement without a semicolon")
            index = self.source.skip_brackets(index)
        return index + 1

    def _is_declaration(self, index):
        """Returns whether a type and a name begin here: `Type name`, `a::Type<b>& name`."""
        if self.tokens[index].text in DECLARATION_WORDS:
            return True
        while self.tokens[index].kind == "name" or self.source.has(index, "::"):
            index += 1
            if self.source.has(index, "<") and not self.source.is_spaced(index):
                index = self._after_template(index)
            if not self.source.has(index, "::") and not self.source.has(index - 1, "::"):
                break
        while self.source.has(index, "*", "&", "&&", "const"):
            index += 1
        return self.tokens[index].kind == "name"

    def _after_template(self, index):
        depth = 0
        while True:
            text = self.tokens[index].text
            if text in ("<", ">", ">>"):
                depth += {"<": 1, ">": -1, ">>": -2}[text]
            if depth <= 0 or text == ";":
                return index + 1
            index = self.source.skip_brackets(index)

    def _at_top(self, first, end, text):
        """Returns where this token occurs outside brackets."""
        found = []
        while first < end:
            if self.source.has(first, text):
                found.append(first)
            first = self.source.skip_brackets(first)
        return found

    # Parts

    def _add(self, kind, first, end):
        words = {token.text for token in self.tokens[first:end]}
        if words & {"co_await", "co_yield", "co_return"}:
            return
        inner = self._lambda_bodies(first, end)
        if any(token.kind == "directive" for token in self.tokens[first:end]):
            kind = "leaves"
        if first < end:
            self.parts.append(Part(kind, first, end, tuple(inner)))
        for brace, _ in inner:
            self._block(brace)

    def _lambda_bodies(self, first, end):
        bodies = []
        index = first
        while index < end:
            if self.source.has(index, "[") and self._begins_lambda(index):
                brace = self._lambda_brace(index, end)
                bodies.append((brace, self.source.partner[brace] + 1))
                index = self.source.partner[brace]
            index += 1
        return bodies

    def _begins_lambda(self, index):
        before = self.tokens[index - 1]
        if self.source.has(index - 1, "auto") or (
            before.text in ("&", "&&") and self.source.has(index - 2, "auto")
        ):  # a structured binding
            return False
        is_subscript = before.kind in ("name", "string") and before.text not in ("return", "case")
        return not is_subscript and before.text not in (")", "]", "[") and not self.source.has(index + 1, "[")

    def _lambda_brace(self, index, end):
        index = self.source.partner[index] + 1
        while index < end and not self.source.has(index, "{"):
            index = self.source.skip_brackets(index)
        if index >= end:
            raise NotUnderstood(f"{self._place(end - 1)}: a lambda without a body")
        return index
