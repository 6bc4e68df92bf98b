"""What comes from outside and has no end of values: texts of which a server makes tensors, lines, files of a folder.

A name that a request gives chooses one of what there is, and a cache of these ends. A text that a tokenizer reads is
whatever somebody has typed, and so is a line of which a network computes something. A file stands in its folder once;
the row of a file may say what another row says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.listing import goes_over_files, goes_over_rows
from torchlint.facts.values.novelty import is_iterated, with_content
from torchlint.facts.values.own_data import is_tokenizer
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

TEXT = (0, "text")

MOVING = frozenset(["to", "cuda"])

TERMINAL = "sys.stdin"
READING_LINES = frozenset(["builtins.input", "sys.stdin.readline", "builtins.raw_input"])
"""Functions that give the next line that somebody types."""

TAKING = frozenset(
    ["get", "recv", "recv_json", "recv_string", "recv_multipart", "recv_pyobj", "receive", "receive_message", "poll",
     "blpop", "brpop", "lpop", "rpop", "basic_get", "readline"]
)  # fmt: skip
"""Methods by which a worker takes the next message from a queue or a socket."""

WAITING = frozenset(["popleft", "get_nowait"])
"""Methods that give what has waited longest in a queue of the program's own."""

CONSUMING = frozenset(["consume", "listen"])
"""Methods that yield the messages of a queue or a channel as they come, without end.

https://pika.readthedocs.io/en/stable/modules/adapters/blocking.html, https://redis-py.readthedocs.io/en/stable/
"""

SAME_TEXT = frozenset(
    ["strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title", "capitalize", "removeprefix", "removesuffix",
     "replace", "format", "encode", "decode"]
)  # fmt: skip
"""Methods by which a text stays as much as it was."""

PARTS = (Op.ELEMENT, Op.SUBSCRIPT, Op.PHI, Op.OPERATION, Op.CONSTANT, Op.CONTAINER)
SAME_CONTENT = frozenset(["json.loads", "builtins.str", "pathlib.Path", "os.path.join", "os.path.abspath"])
"""Functions whose result is another one where an argument is."""

FLAGS = ("True", "False")

REQUESTS = ("flask.request.", "quart.request.", "bottle.request.")
"""How the names of what belongs to the request begin where a framework has it in a global.

https://flask.palletsprojects.com/en/stable/reqcontext/
"""

HOPS = 8
"""How many values back a line is looked for."""


class RequestedTexts:
    """Says of the values of one file whether they are texts that come with requests."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution

    def asked_by(self, key: Value) -> Function | None:
        """The function that a server calls with the text that ``key`` is, or of which it is made."""
        return self.handler_giving(key) if self.is_read(key) else None

    def is_read(self, key: Value) -> bool:
        """Whether a tokenizer makes tensors of the text that ``key`` is, or of which it is made."""
        return not self._tokenized.isdisjoint(key.computed_from())

    def handler_giving(self, key: Value) -> Function | None:
        """The function that a server calls for each request, where ``key`` is made of what it is asked."""
        handlers = self.facts.repetitions.request_handlers
        for value in reached([key], self._said_across_calls):
            is_asked = value.op is Op.PARAMETER or (value.op is Op.EXTERNAL and value.name.startswith(REQUESTS))
            if is_asked and value.function in handlers:
                return value.function
        return None

    def _said_across_calls(self, value: Value) -> list[Value]:
        """What a value is made of; for a parameter what is passed. A length, or a remainder, is one of a few."""
        given = self.solution.arguments_of(value) if value.op is Op.PARAMETER else []
        return [*given, *with_content(value)]

    def asked_by_others(self, key: Value) -> Function | None:
        """The function that nobody here is seen to call, where a key is what it is given, or is made of that.

        Of what calls that function only a server's handlers are asked: anything else runs once for all that is seen.
        """
        for part in key.computed_from():
            function = part.function
            itself = function.parameters[:1] if function.owner is not None and not function.is_static else []
            if part.op is Op.PARAMETER and part not in itself and not self.solution.callers.get(function):
                return function
        return self.handler_giving(key) or self._asked_to_read(key)

    def _asked_to_read(self, key: Value) -> Function | None:
        """The function that is given the text of whose tokens ``key`` is made, be it as a request that has waited."""
        behind = list(reached([key], self._said_across_calls))
        if self._tokenized.isdisjoint(behind):
            return None
        for part in behind:
            is_open = (
                part.op is Op.PARAMETER and part in self._tokenized and not self.solution.callers.get(part.function)
            )
            has_waited = part.op is Op.CALL and part.callee.op is Op.ATTRIBUTE and part.callee.name in WAITING
            if is_open or has_waited:
                return part.function
        return None

    def typed_in(self, key: Value) -> Loop | None:
        """The loop that reads ``key``, or what it is made of, from the terminal: a whole line, whatever it says."""
        line = key
        for _ in range(HOPS):
            if line.op is Op.PARAMETER and len(given := self.solution.arguments_of(line)) == 1:
                line = given[0]
            elif line.op is Op.CALL and line.callee.op is Op.ATTRIBUTE and line.callee.name in SAME_TEXT:
                line = line.callee.inputs[0]
        if line.op is Op.CALL and line.callee.name in READING_LINES:
            return line.loop
        return line.loop if line.op is Op.ELEMENT and line.inputs[0].name == TERMINAL else None

    def read_in(self, key: Value) -> Loop | None:
        """The loop over the files of a folder or the rows of a file one of which ``key`` is, or is a part of."""
        for value in reached([key], self._said_by):
            loop = value.loop if value.op is Op.ELEMENT else None
            if loop is not None and is_iterated(value.inputs[0], loop):
                if goes_over_files(loop) or goes_over_rows(loop):
                    return loop
        return None

    def taken_in(self, key: Value) -> Loop | None:
        """The loop without end in each turn of which a worker takes the message that says ``key`` from a queue."""
        for value in reached([key], self._said_or_returned_by):
            if value.op is Op.ELEMENT and value.loop is not None and _is_consumed(value.inputs[0], value.loop):
                return value.loop
            is_taken = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in TAKING
            if is_taken and value.loop is not None and self._goes_on(value.loop):
                return value.loop
        return None

    def _goes_on(self, loop: Loop) -> bool:
        """Whether a loop goes on without end, or until it is told to stop: ``while self.running:``."""
        if is_endless(loop):
            return True
        test = self._tests.get(loop.syntax.test) if isinstance(loop.syntax, cst.While) else None
        if test is None or test.op is Op.COMPARISON:
            return test is not None and _waits_for_event(test)
        held = [one for choice in choices(test) for one in stored_at(self.solution, choice) or [choice]]
        return bool(held) and all(one.op is Op.CONSTANT and one.name in FLAGS for one in held)

    @cached_property
    def _tests(self) -> dict[cst.CSTNode, Value]:
        """For each ``while`` with more than a constant, by its test, what is asked."""
        tests = {loop.syntax.test for loop in self.facts.graph.loops if isinstance(loop.syntax, cst.While)}
        return {value.syntax: value for value in self.facts.graph.values if value.syntax in tests}

    def _said_or_returned_by(self, value: Value) -> list[Value]:
        """What a text is, or is made of, without a loss; also in the function that gives it."""
        results = [function.result for function in self.solution.functions_of(value)]
        return [*self._said_by(value), *(result for result in results if result is not None)]

    def _said_by(self, value: Value) -> list[Value]:
        """What a text is, or is made of, without a loss."""
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op is not Op.CALL:
            return list(value.inputs) if value.op in PARTS else []
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_TEXT:
            return [value.callee.inputs[0]]
        if (words := _joined_again(value)) is not None:
            return [words]
        return list(value.arguments) if value.callee.name in SAME_CONTENT else []

    def is_encoded(self, value: Value) -> bool:
        """Whether ``value`` is, or is a part of, what a call makes of a tokenizer's tensors on a device.

        They are moved there for a model; what only reads them, to make a text of them again, does without.
        """
        while value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE):
            value = value.inputs[0]
        return value.op is Op.CALL and any(map(self._is_moved, value.arguments))

    def _is_moved(self, value: Value) -> bool:
        if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name not in MOVING:
            return False
        source = value.callee.inputs[0]
        while source.op in (Op.SUBSCRIPT, Op.ATTRIBUTE):
            source = source.inputs[0]
        return source.op is Op.CALL and is_tokenizer(source)

    @cached_property
    def _tokenized(self) -> frozenset[Value]:
        """The texts of which a tokenizer makes tensors, wherever it is called, and what they are a part of."""
        texts = reached(self._tokenizer_arguments(), self._parts_of)
        return frozenset(value for value in texts if value.op not in (Op.CONTAINER, Op.CONSTANT))

    def _parts_of(self, value: Value) -> Sequence[Value]:
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        return value.inputs if value.op in (Op.CONTAINER, Op.PHI) else ()

    def _tokenizer_arguments(self) -> Iterator[Value]:
        for call in self.facts.calls():
            if is_tokenizer(call):
                text = call.argument(*TEXT)
                if text is not None:
                    yield text


def _joined_again(call: Value) -> Value | None:
    """The text of ``" ".join(text.split())``, which has all its words still."""
    parts = call.argument(0) if call.callee.op is Op.ATTRIBUTE and call.callee.name == "join" else None
    if parts is None or parts.op is not Op.CALL or parts.callee.op is not Op.ATTRIBUTE:
        return None
    return parts.callee.inputs[0] if parts.callee.name in ("split", "splitlines") else None


def _is_consumed(source: Value, loop: Loop) -> bool:
    """``for message in channel.consume(queue):``"""
    is_method = source.op is Op.CALL and source.callee.op is Op.ATTRIBUTE and source is loop.iterable
    return is_method and source.callee.name in CONSUMING


def is_endless(loop: Loop) -> bool:
    """``while True:``"""
    test = loop.syntax.test if isinstance(loop.syntax, cst.While) else None
    return isinstance(test, cst.Name | cst.Integer) and test.value in ("True", "1")


def _waits_for_event(test: Value) -> bool:
    """``not stop.is_set()``"""
    asked = test.inputs[0] if isinstance(test.syntax, cst.UnaryOperation) and test.inputs else test
    return asked.op is Op.CALL and asked.callee.op is Op.ATTRIBUTE and asked.callee.name == "is_set"
