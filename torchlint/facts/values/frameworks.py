"""Which promises of frameworks hold for the classes and functions of a file; the table is ``torchlint.frameworks``.

A class is a framework's by its bases, which the file imports. A name that another package exports is not taken for a
framework's, save where the table says that nobody else has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import NO_GRAPH, PLAIN, Abstract, Atom, Instance, Module, Tool, is_optimizer
from torchlint.facts.values.events import is_event_of_step
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Class, Function, Op, Value, ValueGraph
from torchlint.facts.values.known import Known
from torchlint.frameworks import SERVING, Holds, Row, method_names, rows_named, rows_receiving
from torchlint.screen import OTHER_LIBRARIES
from torchlint.syntax.tree import dotted

OF_OTHERS = OTHER_LIBRARIES | {"tensorflow", "keras", "haiku", "equinox", "sonnet"}
"""Packages whose modules are no modules of torch, though they may have a ``forward`` as well."""


@cache
def promises(full_name: str, holds: Holds) -> tuple[Row, ...]:
    """The rows of the table that say one thing about a class or function with this full dotted name."""
    return tuple(row for row in rows_named(full_name) if row.holds is holds)


def is_told_of(full_name: str) -> bool:
    """Whether torch's data, or the table, know a class or a function of torch by its full dotted name."""
    if not full_name.startswith("torch."):
        return False
    known = torch_api.torch_class(full_name) or torch_api.function(full_name)
    return known is not None or any(fnmatchcase(full_name, own) for row in rows_named(full_name) for own in row.of)


def promised(function: Function, holds: Holds) -> Row | None:
    """The row that says it of a method by the bases of its class, if there is one."""
    if function.owner is None:
        return None
    if function.name in method_names(holds):
        return next((row for row in _of_class(function.owner, holds) if function.name in row.methods), None)
    received = [parameter.name for parameter in function.parameters]
    if not any(row.is_received(received) for row in rows_receiving(holds, len(received) - 1)):
        return None  # the most
    return next((row for row in _of_class(function.owner, holds) if row.is_received(received)), None)


def _of_class(cls: Class, holds: Holds) -> Iterator[Row]:
    for base in cls.all_bases():
        yield from promises(base, holds)
    # In a framework's own repository its classes are classes of the project, of this file or, where several are read as
    # one, of its text; only names that nobody else has are told.
    for ancestor in cls.lineage()[1:]:
        yield from promises(ancestor.name, holds)


def is_of_framework(cls: Class, holds: Holds) -> bool:
    """Whether a class of the file is, by its bases, one of which a framework says this."""
    return any(True for _ in _of_class(cls, holds))


def is_module_class(cls: Class) -> bool:
    """Whether instances of a class of the file are modules.

    A base of torch says so or, where bases are unknown, a ``forward`` or a parameter of its own: nothing but a module
    takes note of an ``nn.Parameter``.
    """
    bases = cls.all_bases()
    for base in bases:
        known = torch_api.torch_class(base)
        if known is not None:
            return known.kind in ("module", "loss")
        if base.partition(".")[0] in OF_OTHERS:
            return False
        if promises(base, Holds.MODULE):
            return True
        if base.startswith("torch.autograd"):
            return False
    if all(map(_says_nothing, bases)):
        return False
    return cls.method("forward") is not None or any(ancestor.has_own_parameters for ancestor in cls.lineage())


def _says_nothing(base: str) -> bool:
    """Whether a class is no module by this base: one of Python's library, but a protocol, which modules may follow."""
    return base == "object" or base.startswith(("builtins.", "abc."))


def is_optimizer_class(cls: Class) -> bool:
    """Whether instances of a class of the file are optimizers of torch, by a base that torch or a package on it has."""
    made = ((base, torch_api.torch_class(base)) for base in cls.all_bases())
    return any(
        known.kind == "optimizer" if known is not None else meaning_of(base) is Meaning.OPTIMIZER
        for base, known in made
    )


def is_module(atom: Atom) -> bool:
    """Whether an alternative is a module: one of torch or of a framework, or an instance of a class of the file."""
    return isinstance(atom, Module) or (isinstance(atom, Instance) and is_module_class(atom.cls))


def may_be_module(solution: Known, value: Value) -> bool:
    """Whether an alternative of ``value`` is a module."""
    return any(map(is_module, solution.final(value)))


def may_be_optimizer(solution: Known, value: Value) -> bool:
    """Whether an alternative of ``value`` is an optimizer."""
    return any(map(is_optimizer, solution.final(value)))


def is_forward(function: Function) -> bool:
    """Whether a function is the forward of a module of the file."""
    return function.name == "forward" and function.owner is not None and is_module_class(function.owner)


def runs_without_gradients(function: Function) -> bool:
    """Whether a framework switches gradients off around this method."""
    return promised(function, Holds.NO_GRAD) is not None


def ran_without_gradients(function: Function) -> bool:
    """Whether older releases of a framework switch gradients off around this method, and newer ones do not."""
    return promised(function, Holds.WAS_NO_GRAD) is not None


def is_for_inference(function: Function) -> bool:
    """Whether a framework says of this method that nobody trains on what it computes."""
    return promised(function, Holds.INFERS) is not None


def watches_networks(function: Function) -> bool:
    """Whether networks call this method with their activations while they train: the forward of an observer."""
    return promised(function, Holds.WATCHES) is not None


def is_start(function: Function) -> bool:
    """Whether a framework calls this method once, before a training."""
    return promised(function, Holds.ONCE) is not None


def is_called_each_epoch(function: Function) -> bool:
    """Whether a framework calls this method once for each epoch."""
    return promised(function, Holds.EACH_EPOCH) is not None


def is_called_each_step(function: Function) -> bool:
    """Whether a framework, a server or the program's own events call this once for each step or request."""
    is_promised = promised(function, Holds.EACH_STEP) is not None
    return is_promised or is_decorated_handler(function) or is_event_of_step(function)


def answers_requests(function: Function) -> bool:
    """Whether a server calls this method for each request: ``do_GET``, ``predict`` of an API's class."""
    row = promised(function, Holds.EACH_STEP)
    return row is not None and row in SERVING


def is_decorated_handler(function: Function) -> bool:
    """``@bentoml.api``, or ``__call__`` of a class under ``@serve.deployment``."""
    own = (row for name in function.decorators for row in promises(name, Holds.DECORATES))
    if any(not row.methods for row in own):
        return True
    names = function.owner.decorators if function.owner is not None else ()
    return any(function.name in row.methods for name in names for row in promises(name, Holds.DECORATES))


def is_given_on_device(parameter: Value) -> bool:
    """Whether a framework hands what a model gave for a batch, or a batch on the device, to a method as this."""
    if parameter.op is not Op.PARAMETER:
        return False
    function = parameter.function
    rows = (promised(function, holds) for holds in (Holds.GIVEN_OUTPUT, Holds.GIVEN_BATCH))
    positions = (row.argument[0] + 1 for row in rows if row is not None)
    return any(parameter in function.parameters[position : position + 1] for position in positions)


def is_given_model(parameter: Value) -> bool:
    """Whether a framework hands the model that it trains to a method as this parameter, by its place or its name."""
    row = promised(parameter.function, Holds.GIVEN_MODEL)
    if row is None:
        return False
    position, name = row.argument
    placed = parameter.function.parameters[position + 1 : position + 2] if position >= 0 else []
    return parameter in placed or (not placed and parameter.name == name)


OF_SCALERS = frozenset(["scale", "step", "update"])
"""What a training step asks of a ``GradScaler``, and of nothing else together.

https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""


def is_used_as_scaler(parameter: Value) -> bool:
    """Whether a function uses as a ``GradScaler`` what it is given, be it where that is tested to be there."""
    narrowed = (user for user in parameter.users if user.op is Op.NARROWED)
    asked = {user.name for value in (parameter, *narrowed) for user in value.users if user.op is Op.ATTRIBUTE}
    return asked >= OF_SCALERS


def is_model_of_given(attribute: Value) -> bool:
    """``net.module_``: whether an ATTRIBUTE is the model of what a framework hands to a method."""
    owner = attribute.inputs[0]
    row = promised(owner.function, Holds.HAS_MODEL) if owner.op is Op.PARAMETER else None
    return row is not None and attribute.name == row.argument[1] and owner in owner.function.parameters[1:2]


def is_trained_by_framework(value: Value) -> bool:
    """``self.learn.loss`` of a callback: whether a value has the graph that its method's caller trains on.

    That is an ATTRIBUTE, or the PARAMETER that the method is handed.
    """
    owner = value.function.owner
    if owner is None or value.function.name not in method_names(Holds.HAS_TRAINED):
        return False
    told = [row for row in _of_class(owner, Holds.HAS_TRAINED) if value.function.name in row.methods]
    path, base = "", value
    while told and base.op is Op.ATTRIBUTE:
        path, base = f"{base.name}.{path}" if path else base.name, base.inputs[0]
    return any(
        row.argument[1] == path and base in value.function.parameters[row.argument[0] + 1 : row.argument[0] + 2]
        for row in told
    )


def server_of(graph: ValueGraph, handler: Class, attribute: str) -> Class | None:
    """``self.server`` of a handler of requests: the class of the one server that the file defines."""
    if not any(attribute in row.methods for row in _of_class(handler, Holds.HAS_SERVER)):
        return None
    servers = [cls for cls in graph.classes if not cls.is_foreign and is_of_framework(cls, Holds.SERVES)]
    return servers[0] if len(servers) == 1 else None


def trains_on_result(function: Function) -> bool:
    """Whether a framework runs backward on what this method returns."""
    return promised(function, Holds.TRAINED) is not None


SETTINGS = frozenset(["DictConfig", "ListConfig"])
"""Classes of settings that hold nothing but numbers, texts, and more of their kind.

https://omegaconf.readthedocs.io/en/latest/structured_config.html#simple-types
"""


def told_of(graph: ValueGraph, value: Value) -> str:
    """The full dotted name of the class of which a value is annotated to be an instance, "" where none is named."""
    name = graph.told.get(value, "")
    if name or not value.function.is_foreign or not isinstance(value.syntax, cst.Param):
        return name
    return (dotted(value.syntax.annotation.annotation) or "") if value.syntax.annotation is not None else ""


def is_of_others(value: Value) -> bool:
    """Whether a value is what a function of a package gives whose modules are no modules of torch."""
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name.partition(".")[0] in OF_OTHERS


def annotated(name: str) -> Abstract | None:
    """What an instance of the class with this full dotted name is, None when that says nothing of use."""
    if name.partition(".")[0] in OF_OTHERS:
        return None
    last = name.rpartition(".")[2]
    made = torch_api.torch_class(name)
    is_model = last[:1].isupper() and meaning_of(name) is Meaning.MODULE
    if is_model or last == "Module" or promises(name, Holds.MODULE):
        return frozenset([Module()])
    if made is not None and made.kind in ("module", "loss"):
        return frozenset([Module(made.has_parameters or made.wraps)])
    if last == "DataLoader":
        return frozenset([Tool("loader")])
    if last == "Optimizer":
        return frozenset([Tool("optimizer")])
    if last in ("LongTensor", "BoolTensor", "IntTensor"):
        return NO_GRAPH
    if name in ("int", "float", "str", "bool") or last in SETTINGS:
        return PLAIN
    return None


def is_told_number(parameter: Value) -> bool:
    """``value: float``, of which Python makes sure of nothing."""
    syntax = parameter.syntax
    annotation = syntax.annotation if isinstance(syntax, cst.Param) else None
    return annotation is not None and dotted(annotation.annotation) in ("int", "float")


def is_framework_training(call: Value) -> bool:
    """``Trainer(...).fit(model)`` of a trainer that is imported: a framework's object that runs the loop."""
    if call.callee.op is not Op.ATTRIBUTE:
        return False
    trainer = call.callee.inputs[0]
    if trainer.op is not Op.CALL or trainer.callee.op is not Op.EXTERNAL:
        return False
    return any(call.callee.name in row.methods for row in promises(trainer.callee.name, Holds.TRAINS))


def detects_anomalies(call: Value) -> Value | None:
    """The argument of a CALL by which a framework switches anomaly detection on, where it is given."""
    rows = promises(call.callee.name, Holds.ANOMALY) if call.callee.op is Op.EXTERNAL else ()
    return next((given for row in rows if (given := call.argument(*row.argument)) is not None), None)
