"""One row of the table: what a framework promises of a class, a method or a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from torchlint.symbol import Symbol


class Holds(Symbol):
    """What a row says."""

    NO_GRAD = "the framework calls the method with gradients off"
    WAS_NO_GRAD = "older releases of the framework call the method with gradients off, newer ones do not"
    TRAINED = "the framework runs backward on what the method returns"
    RESULT_KEPT = "the framework keeps what the method returns, with its graph, until the epoch or the update ends"
    GIVEN_GRAPH = "the framework hands the method what a step returned, with its graph"
    GIVEN_OUTPUT = "the framework hands the method what the model gave for a batch, on the device"
    GIVEN_BATCH = "the framework hands the method a batch of its loader, moved to the device"
    GIVEN_MODEL = "the framework hands the method the model that it trains"
    HAS_MODEL = "an attribute of this name, of the first thing that the framework hands the method, is its model"
    HAS_TRAINED = (
        "an attribute of this path, of the object or of what its method is handed, has the graph that is trained on"
    )
    ONCE = "the framework calls the method once, before a training"
    EACH_EPOCH = "the framework calls the method, or the function that it is given, again and again, not in every step"
    EACH_TRIAL = "the call takes a function that is called again and again, each time for a whole training"
    EACH_STEP = "the framework calls the method, or the function that it is given, once for each step or request"
    KEEPS = "the object or function keeps the argument as it is, with its graph"
    DETACHES = "the object keeps its arguments without their graph, or numbers of them, and trains on none"
    BACKWARD = "the call runs backward on the argument"
    DIFFERENTIATES = "the call differentiates the argument for the parameters of its object, and adds to no gradient"
    RETURNS = "the call returns its arguments, moved and wrapped, in their order"
    MAKES_ENGINE = "the call returns a wrapped model, which also runs backward, and its optimizer"
    TRAINS = "the call runs a whole training"
    ANOMALY = "the argument switches anomaly detection on"
    MODULE = "instances of the class are modules"
    OF_MODULES = "the method is one of modules: what has it is a module"
    BEGINS = "the object calls the function that it is given, or that it decorates, once before all its steps"
    GUARDED = "the method, or the call, of an object that runs a model switches gradients off by itself"
    HANDLERS = "the call takes a function that is called once for each request"
    REGISTERS = "the method keeps each argument that has a name as the attribute of that name"
    INFERS = "nobody trains on what the method computes: it is for inference alone"
    ANSWERS = "the method runs the model that its object was made for, and gives what it computed, with its graph"
    SCORES = "the method runs the models that it is given, with gradients on where they are, and gives a number"
    RUNS = "the function, or the call of the object, runs the network that it is given, and gives what that computes"
    ENCODES = (
        "the method runs networks of its object and gives what they computed, with its graph, for the object's call"
    )
    WATCHES = "networks call the method with their activations, also while they train: what it keeps must be detached"
    COUNTS = "an attribute of this name is another number in each step"
    HANDS_ON = "an attribute of the object is what the function that it was made with returned last, with its graph"
    GIVES_TRAINED = "the framework calls the function that it is given with what it has run a backward over"
    HANDS_ITSELF = "the object calls the function that it is given, or that it decorates, with itself"
    ROUTES = "the object decorates functions that are called once for each request"
    DECORATES = "what the function decorates is called once for each request; of a class, the method"
    ITSELF = "an attribute of this name takes what the object takes"
    SERVES = "objects of the class are servers, which have a handler of requests made for each"
    HAS_SERVER = "an attribute of this name is the server for which the object was made"
    STARTS = "the call is given a function that is called once, before the first request"


@dataclass(frozen=True)
class Row:
    """A promise of a framework.

    Attributes:
        framework: whose it is, and of which versions if not of all.
        of: the classes or functions, by their full dotted names. A framework exports a class on several paths, so the
            package and the last part of the name decide; a ``*`` in the last part stands for any letters. A module that
            a tool generates for each program begins with a ``*``, and stands in whatever package.
        holds: what is promised.
        source: where the framework says so.
        methods: the methods it is true of; none where the class or function itself is meant.
        argument: which argument, by its position (without ``self``) and its name; HAS_TRAINED: of which argument, -1
            for ``self``, and which attribute of it, "" where it is the argument itself.
        besides: RESULT_KEPT: keys of a dict, or positions of a tuple, that are not kept.
        taken_by: RESULT_KEPT: it is true only where a method of these takes what was kept.
        unless: DETACHES: the keyword with which a program asks for the graph to be kept.
        events: the names of the events at which it is true, where the method is told one; none where it is of all.
        handed: RUNS: the arguments that the network gets, in its own order, each by its position and its name; all but
            itself, in their order, where none are said.
        trained: GIVES_TRAINED: the positions of the parameters that get it.
        distinctive: True where a class of this name is taken for this one even if another package exports it: nobody
            else has the name. It may be true only of rows that say what a class is, of those that silence findings,
            and of rows of a class whose name says its framework, since a wrong guess must not make a finding.
        receives: where the program gives the methods their names, what they are told by: their parameters after
            ``self``, each by the end of its name; "" stands for any.
    """

    framework: str
    of: tuple[str, ...]
    holds: Holds
    source: str
    methods: tuple[str, ...] = ()
    argument: tuple[int, str] = (0, "")
    besides: tuple[str | int, ...] = ()
    taken_by: tuple[str, ...] = ()
    unless: str = ""
    events: tuple[str, ...] = ()
    handed: tuple[tuple[int, str], ...] = ()
    trained: tuple[int, ...] = ()
    distinctive: bool = False
    receives: tuple[str, ...] = ()

    @cached_property
    def is_generated(self) -> bool:
        """Whether a tool generates the module for each program."""
        return any(own.startswith("*") for own in self.of)

    @cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(own.partition(".")[0] for own in self.of)

    def names(self, full_name: str) -> bool:
        """Whether a class or function with this full dotted name is one of this row."""
        if self.is_generated:
            generated = ".".join(full_name.split(".")[-2:])
            return any(fnmatchcase(generated, own) for own in self.of)
        package, _, _ = full_name.partition(".")
        if not self.distinctive and package not in self._packages:
            return False  # it is quick to tell, and next to no name is of one of these
        last = full_name.rpartition(".")[2]
        for own in self.of:
            if (self.distinctive or own.partition(".")[0] == package) and fnmatchcase(last, own.rpartition(".")[2]):
                return True
        return False

    def is_received(self, parameters: Sequence[str]) -> bool:
        """Whether a method with these parameters, from ``self`` on, is one that :attr:`receives` tells."""
        given = parameters[1:]
        ends = zip(given, self.receives, strict=False)
        return 0 < len(self.receives) == len(given) and all(name.endswith(end) for name, end in ends)
