"""What a function may do, be it by others, that is a loss when it is done again and again, as its summary tells it."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.symbol import Symbol


class EffectKind(Symbol):
    """What a function may do that is a loss when it is done again and again."""

    TIDIES = "tidies"
    """It empties the allocator's cache, or runs the cyclic collector."""
    COMPILES = "compiles"
    LOADS = "loads"
    """It reads a model or weights from a file."""
    GIVES_LOADED = "gives loaded"
    """It may return what it reads from a file, put on the device where that was saved."""
    GIVES_LOADED_UNTOLD = "gives loaded untold"
    """It returns the same, unless it is given a device for that parameter, which is None by default."""
    DRAWS = "draws"
    """It makes a figure, and does not close it."""
    DRAWS_BY = "draws by"
    """What it imports under the name gives it something that it uses as a figure, and does not close."""
    CLOSES = "closes"
    """It may close figures."""
    STARTS = "starts"
    """It draws one batch from a new iterator of a loader that its object or its caller has, under the name of
    :data:`WORKERS` from one that may have such, or of whatever it is given for a parameter."""
    PROFILES = "profiles"
    """It makes a profiler that records from its start to its end."""
    JOINS = "joins"
    """It returns one tensor that is made of several which it is given."""
    COPIES = "copies"
    """It returns a copy of a model, an optimizer or their tensors, or, under the name of :data:`DEEPCOPY`, of whatever
    it is given."""
    GROWS = "grows"
    """It adds a group of parameters to an optimizer that it is given, the first of those that are named."""
    GROWS_ANEW = "grows anew"
    """The same, with parameters that it makes each time and leaves to nobody but its caller."""
    GROWS_OWN = "grows own"
    """It adds modules, which it makes each time or is given for the later parameters, to those that its object has
    under the name before the last dot, by the method after that."""
    ZEROES = "zeroes"
    """It fills the gradients of an optimizer or a model that it is given with zeros, where they could be freed."""
    ZEROES_UNTOLD = "zeroes untold"
    """The same, unless it is told otherwise by the last of the parameters, which is False by default."""
    FREES = "frees"
    """It takes gradients away: ``p.grad = None``."""
    READS_GRADIENTS = "reads gradients"
    """It reads the gradients of what it is given for these parameters: of a module, of a list of its parameters."""
    HANDS_ITSELF = "hands itself"
    """It gives the method of its own object that is named, for these parameters, a function that holds the object."""
    HANDS_PART = "hands part"
    """It gives a module to a method of its own object, for these parameters: the one that the object has under the name
    before the dot, to the method after it; where something comes of it, it is what that returns that the object has."""
    CIRCLES = "circles"
    """Its object, which has tensors of its own, keeps under the name a function that holds it; or it keeps a tensor
    that it is given, with a hook on that which holds it."""
    CIRCLES_BY = "circles by"
    """Its object keeps under the name what an imported function, whose name is behind a blank, gives for it: a circle
    where that holds what it is given for the parameter of this position."""
    TIES = "ties"
    """It leaves a hook that holds its object on a module that it is given, each time, and drops the handle; where
    something comes of it, it returns that module."""
    ENCLOSES = "encloses"
    """Its object keeps a module that it is given, with a hook on that which holds the object."""
    HANDS_UP = "hands up"
    """The same, if a base class keeps what its ``__init__`` is given for the second parameter that is named."""
    BUILDS_ON = "builds on"
    """It calls, each time, the ``__init__`` of a base class that is not seen, whose circles are then its own."""
    BINDS = "binds"
    """It returns a function that holds what it is given, be it its own object."""
    HOOKS = "hooks"
    """It registers a hook on a module that it is given, or on parts of it, and returns the handle or drops it."""
    HOOKS_OWN = "hooks_own"
    """It registers a hook on what its object holds, which keeps the handle, and whose class takes no hook off."""
    TAPS = "taps"
    """It registers a forward hook which takes tensors out, or which is not seen; of an initializer, any method does."""
    REMEMBERS = "remembers"
    """It keeps the tensor that it returns, without a bound, for each value that it is given for a parameter."""
    REMEMBERS_GIVEN = "remembers given"
    """The same with what a function gives that its file imports: after the cache, by a blank, the name of that."""
    MEMOISES = "memoises"
    """It returns a cache of the function that it is given, which keeps as many results as the name says."""
    CACHES = "caches"
    """It puts a tensor that it makes under a key, made of what it is given for a parameter, into the dictionary of the
    name that its object or its module has, which is asked for keys and keeps all entries."""
    CACHES_OUTPUTS = "caches outputs"
    """The same with what a network computes."""
    CACHES_BY_TEXT = "caches by text"
    """The same, where the key is a text that a tokenizer reads."""
    CACHES_CALLED = "caches called"
    """The same with what a function gives that its object was given: the one before the dot, in the one after it."""
    CACHES_OF_GIVEN = "caches of given"
    """The same with what the first of the parameters gives when it is called, under a key made of the others."""
    GIVES_KEPT = "gives kept"
    """It returns what it puts each time into the container of its module that has the name, out of which nothing comes
    again: whoever gives up what it returned frees nothing."""
    RETAINS = "retains"
    """It runs a backward over what it is given for the first of the parameters, and keeps the graph; where there is a
    second one, if that is true."""
    DOUBLES = "doubles"
    """It runs a backward over what it is given for a parameter, whose gradients get a graph that nothing takes away."""
    TABLES = "tables"
    """It puts what it decorates into a table; the function of the name calls what it takes out of that."""
    RECORDS = "records"
    """It switches the history of the allocator on, without a bound, and leaves it on."""
    DETECTS = "detects"
    """It switches anomaly detection on, and leaves it on."""
    DETECTS_WITHIN = "detects within"
    """It yields, as a context manager, in a block in which anomaly detection is on."""
    SWITCHES_OFF = "switches off"
    """It may switch one of these off, by what is named."""
    CALLS = "calls"
    """It calls a function that its file imports, which may do any of these."""


FILLING = (
    EffectKind.CACHES,
    EffectKind.CACHES_OUTPUTS,
    EffectKind.CACHES_BY_TEXT,
    EffectKind.CACHES_CALLED,
    EffectKind.CACHES_OF_GIVEN,
)
"""What a function does that fills a cache."""


DEEPCOPY = "copy.deepcopy"


WORKERS = "num_workers"


@dataclass(frozen=True, slots=True)
class EffectSummary:
    """A function does something whenever it is called; of some kinds it is enough that it may.

    Attributes:
        kind: what.
        name: the full dotted name of what does it.
        of: the parameters from which that to which it is done comes, from 0.
        is_returned: what comes of it is returned.
    """

    kind: EffectKind
    name: str
    of: tuple[int, ...] = ()
    is_returned: bool = False
