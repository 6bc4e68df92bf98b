"""A summary: what a definition of one file is to a file that imports it.

Plain, immutable, serialisable data: names and abstract values, no text and no place of the file that it was made of. It
depends on that file alone; what the file imports itself stays a name (:class:`Part` of kind IMPORTED or MADE) that is
followed where the summary is linked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torchlint.facts.summaries.effect_kinds import EffectSummary
from torchlint.facts.summaries.parts import Shape
from torchlint.facts.summaries.write_summary import WriteSummary


@dataclass(frozen=True, slots=True)
class ParameterSummary:
    """A parameter.

    Attributes:
        name: its name.
        star: "", "*" or "**".
        annotation: the dotted name that it is annotated with, "" without one.
        default: what it is when nothing is passed; empty without a default.
        is_module: the function uses it as a module.
        is_trained_on: the function runs a backward that starts from it or from what is computed from it.
        reaches_backward: what is in it, a list of losses, or is computed from it flows into a backward of the function.
        is_retained: each such backward retains the graph, as for a gradient that is itself differentiated.
        escapes: the function hands it on to code that is not seen.
        is_frozen: the function tells the parameters of this module not to require grad.
        trained_parts: those of its attributes, dotted for one of another, that flow into a backward of the function.
        parts: where it is asked for attributes alone, those that are trained on or leave the function; else None.
    """

    name: str
    star: str = ""
    annotation: str = ""
    default: Shape = ()
    is_module: bool = False
    is_trained_on: bool = False
    reaches_backward: bool = False
    is_retained: bool = False
    escapes: bool = False
    is_frozen: bool = False
    trained_parts: tuple[str, ...] = ()
    parts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """A loop whose turns may be steps.

    Attributes:
        parent: the number of the loop around it, -1 without one.
        is_step: its turns are steps; else they are where what is called in them makes them so.
    """

    parent: int
    is_step: bool


MOST_CALLS = 24
"""Of a function with more calls than this the first ones are told."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A call that matters to callers: of a module, of a function of the same file, or of what a parameter is or holds.

    Attributes:
        function: the function that is called, of the same file; "" when it is none.
        base: the parameter that leads to what is called, from 0; -1 for a module that is found otherwise.
        path: the attributes that lead from it to what is called.
        arguments: for each parameter that is passed on, the position or keyword under which, and its own position.
        computed: of a function or method of the file, for each argument that comes of an earlier call, the position
            or keyword under which, which of :attr:`FunctionSummary.calls` that is, and whether it is computed from
            what that returns, and not this itself.
        gives_more: it is given other things as well.
        mode: the grad mode there, by its value.
        evaluating: ``.eval()`` was called before it.
        loop: the number of the innermost loop around it, see :attr:`FunctionSummary.loops`; -1 without one.
        is_skipped: it need not run in each turn of that loop or, without one, each time that the function does; told of
            functions, those that are given included, and of methods of the object alone.
        is_trained_on: its result flows into a backward, or may do so.
        is_live: that is known to have a graph there.
        leaves: its graph, if it has one, leaves the function.
    """

    function: str
    base: int
    path: tuple[str, ...]
    arguments: tuple[tuple[str | int, int], ...]
    mode: str
    gives_more: bool = False
    evaluating: bool = False
    loop: int = -1
    is_skipped: bool = False
    is_trained_on: bool = False
    is_live: bool = False
    leaves: bool = False
    computed: tuple[tuple[str | int, int, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class HandingOver:
    """A function calls a method of each object in a list with what it is given; see ``handing_over.py``.

    Attributes:
        base, path: the parameter that leads to the list, from 0, and the attributes on the way.
        method: the name of the method, or what it begins with.
        named_by: the parameter, from 0, that says the rest of the name; -1 where it is written there.
        sources: the parameters, from 0, behind the names of the methods of the class that have them, which bring what
            is in the list: all items of one, ``list(callbacks)``, or one that is added.
        given: for each parameter that is handed on, the position, the keyword or the star, and its own position.
    """

    base: int
    path: tuple[str, ...]
    method: str
    named_by: int
    sources: tuple[tuple[str, int, bool], ...]
    given: tuple[tuple[str | int, int], ...]


CALLED = "()"
"""What a function that is given returns, as :attr:`KeepSummary.of`."""


def item_named(key: str) -> str:
    """The item of a dict that has a name for its key, as :attr:`KeepSummary.of`."""
    return f"[{key}]"


def result_of(method: str) -> str:
    """What a method of an object gives that is given, as :attr:`KeepSummary.of`."""
    return f"{method}{CALLED}"


def method_in(of: str) -> str:
    """The method whose result an :attr:`KeepSummary.of` is, "" for any other one."""
    return of.removesuffix(CALLED) if of.endswith(CALLED) else ""


@dataclass(frozen=True, slots=True)
class ViewSummary:
    """A function returns a view of a tensor that it is given, or a part of one that it makes.

    Attributes:
        position: the parameter, from 0; :data:`~torchlint.facts.keeping.ways.OWN` for a tensor that it makes.
        is_part: it is a view of a part, and not of all.
        of_tensor: only a tensor has such parts.
        is_smaller: whatever the shape is likely to be, the part is not all of it.
        is_row: it is one of many that are taken one after the other, and may be all of it together.
    """

    position: int
    is_part: bool
    of_tensor: bool
    is_smaller: bool
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class KeepSummary:
    """A function keeps what it is given.

    Attributes:
        position: the parameter that is kept, from 0.
        into: the parameter whose object keeps it (0 is ``self`` of a method); -1 for a global of the module.
        attribute: the attribute, or the global's name; "" when the object is itself the container.
        grows: True when it is added to what is kept already, False when it replaces that.
        is_computed: what is kept is computed from the parameter, not the parameter itself.
        mode: the grad mode there, by its value.
        readers: methods of the class whose results may hold what is kept, or that train on it.
        merges: the values of a dict are kept, ``rows.update(values)``.
        some_item: one of them is, under a key that is not known, ``self.sum += values[name]``.
        averages: what is kept already goes into what replaces it, and so do parameters that require grad.
        is_state: that is scaled as it goes in, or is a buffer of a module: a running state and no sum.
        is_shared: on some path what is kept is the object that is given, or has its memory; a copy has not, nor
            an exception whose frames are taken from it.
        bounded: it is put into what has room for so many only: ``deque(maxlen=9)``, a list that is filled in a ring.
        keyed: it is put under a key, where it replaces what was kept under that one.
        only_if: the parameter, from 0, that has to be true for that: ``if update:``; -1 where there is none.
        of: the attribute of the parameter that is kept, ``loss`` of ``self.curve.append(trainer.loss)``, an item, see
            :func:`item_named`, what a method of it gives, see :func:`result_of`, or :data:`CALLED` for what it returns
            when it is called; "" for itself.
        cached_under: the parameters of which the key is made under which it is put into a cache that keeps all entries;
            empty for anything else.
        asked_by: the methods of the class that ask that cache for a key.
        view: what is kept is a view of a part of the parameter, ``self.firsts.append(hidden[:, 0])``; None otherwise.
        fields: what is kept is a new record that has the parameter under this name, or each of ``*values`` under one;
            items of a tuple have their numbers for names, and :data:`~torchlint.facts.keeping.by_field.EACH` says so
            of as many as are given.
        by_field: those of the readers that give records on, or what they have, under the same names and no others.
        fields_read: of those of the readers that take records apart, the fields which they give on with a graph.
        moved_at_end: it is put into a container whose items the class moves to the host, and takes nowhere else.
        given_back: the methods that give all of it to who calls them, if it goes nowhere else, each with the position
            in the tuple that it returns, or None.
        own_keys: items of a dict are put under the keys that they have in there.
        is_copied: what is kept is a copy of the parameter, if that is a model or its state, on its device.
        keyed_by: the parameter, from 0, that is the key under which it is put; -1 where none is.
        is_dict: the parameter is a dict, or what ``part.update(given)`` asks is no container: no tensor is kept so.
        of_tensors: where it is kept is said to hold tensors, ``self.rows: dict[str, torch.Tensor] = {}``.
    """

    position: int
    into: int
    attribute: str
    grows: bool
    is_computed: bool
    mode: str
    readers: tuple[str, ...] = ()
    merges: bool = False
    averages: bool = False
    is_state: bool = False
    is_shared: bool = False
    bounded: bool = False
    keyed: bool = False
    only_if: int = -1
    of: str = ""
    cached_under: tuple[int, ...] = ()
    asked_by: tuple[str, ...] = ()
    view: ViewSummary | None = None
    fields: tuple[str, ...] = ()
    by_field: tuple[str, ...] = ()
    fields_read: tuple[tuple[str, tuple[str, ...]], ...] = ()
    moved_at_end: bool = False
    own_keys: bool = False
    is_copied: bool = False
    some_item: bool = False
    given_back: tuple[tuple[str, int | str | None], ...] = ()
    keyed_by: int = -1
    is_dict: bool = False
    of_tensors: bool = False


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """A function or a method.

    Attributes:
        name: its name.
        parameters: in the order in which positions bind, starred ones last.
        result: what it returns or yields.
        decorators: full dotted names.
        guard: the grad mode that a decorator gives it, by its value.
        is_left_open: it only raises, or does nothing at all.
        is_written: False for the ``__init__`` of a data class, which Python writes.
        wraps: the grad mode in which it, as a decorator, runs what it decorates, by its value; "" without one.
        alters: as a decorator it hands on other arguments than it is given.
        is_altered: such a decorator of its own file decides what it is given.
        converts: as a decorator it gives callers anything but what it decorates returns.
        is_converted: such a decorator of its own file decides what callers get.
        memoises: as a decorator it keeps what it decorates returns.
        calls: the calls that matter.
        keeps: what it keeps of what it is given.
        writes: what it writes into the objects that it is given.
        effects: what it does on each call, be it by functions of its file.
        loops: those whose turns may be steps, by their numbers from 0.
        resets: attributes of ``self`` that it sets anew, each with the number of the loop in which it does, or -1.
        leaves: attributes of ``self`` that it sets to what has a graph.
        continues: attributes of ``self`` of which it reads what has a graph, before it sets them.
        chains: for each parameter, from 0, that comes back through a module with its graph, which item of the result
            it is (None: any), before its position.
        trains: a backward or an optimizer step runs in it.
        trains_long: a loop of such steps runs in it, as long as there is data.
        repeats_steps: a whole loop of steps runs in it, however long.
        lists: it gives a list or a dict of objects, one for each record of a file, or very many; a generator gives
            them one by one.
        goes_over_disk: it is a generator of what lies in files, or in the rows of one.
        yielded_outputs: which items of what it yields, as of ``tensors``, are outputs of a network that it runs in each
            turn of a pass over data, and not on the host.
        makes: what it returns is made in it, on every path and with each call.
        tensors: what it gives that is a tensor for certain: items of a tuple, from 0, or
            :data:`~torchlint.facts.keeping.bases.WHOLE`.
        runs: it runs a network, by itself or by functions of its file.
        gives_output: it gives what a module gives for a batch, in whatever form.
        residence: "host" or "device" where what it gives is there for certain, "" where that is not known.
        view: of what it returns a view, if it does.
        holds: of an initializer, the parameters, from 0, that its object has from then on: themselves, what is made
            around them, or an optimizer of their parameters.
        releases: the attributes that it takes away, each behind the parameter, from 0, whose object had it.
        hands_over: what it does with the objects of a list.
        severed: the parameter, from 0, by which callers decide that nothing it returns has a graph, and whether it is
            true then, None for a function that is called with all tensors and ends graphs; None without such a one.
        differentiates_by: of a forward, the functions of other files, by dotted name, that it gives several tensors:
            they may differentiate one by another.
        width: of a forward, how many columns its last layer gives, where that is written.
        lengthened: what it returns that is a list which it is given with more in it: under which key of the result,
            None for all of it, and the parameters, from 0, that are that list, or in what is added.
        cuts: the parameters, from 0, that it detaches, and with whose graph it neither returns nor keeps anything.
        closure: the function that it makes and returns with each call, where that keeps something: its parameters come
            after those of this one, as if they were given before.
    """

    name: str
    parameters: tuple[ParameterSummary, ...] = ()
    result: Shape = ()
    decorators: tuple[str, ...] = ()
    guard: str = "inherited"
    is_left_open: bool = False
    is_written: bool = True
    wraps: str = ""
    alters: bool = False
    is_altered: bool = False
    converts: bool = False
    is_converted: bool = False
    memoises: bool = False
    is_async: bool = False
    is_generator: bool = False
    calls: tuple[CallSummary, ...] = ()
    keeps: tuple[KeepSummary, ...] = ()
    writes: tuple[WriteSummary, ...] = ()
    effects: tuple[EffectSummary, ...] = ()
    loops: tuple[LoopSummary, ...] = ()
    resets: tuple[tuple[str, int], ...] = ()
    leaves: tuple[str, ...] = ()
    continues: tuple[str, ...] = ()
    chains: tuple[tuple[int | str | None, int], ...] = ()
    trains: bool = False
    trains_long: bool = False
    repeats_steps: bool = False
    lists: bool = False
    goes_over_disk: bool = False
    yielded_outputs: tuple[int, ...] = ()
    makes: bool = False
    tensors: tuple[int, ...] = ()
    gives_output: bool = False
    residence: str = ""
    runs: bool = False
    view: ViewSummary | None = None
    holds: tuple[int, ...] = ()
    releases: tuple[tuple[int, str], ...] = ()
    hands_over: tuple[HandingOver, ...] = ()
    severed: tuple[int, bool | None] | None = None
    differentiates_by: tuple[str, ...] = ()
    width: int | None = None
    lengthened: tuple[tuple[int | str | None, tuple[int, ...]], ...] = ()
    cuts: tuple[int, ...] = ()
    closure: FunctionSummary | None = None


@dataclass(frozen=True, slots=True)
class HoldSummary:
    """An attribute of an object holds what another one is, and for good: an optimizer of its parameters, a wrapper.

    Attributes:
        attribute: that holds.
        of: that is held.
        how: "itself", "parameters" or "wrapper".
        by: the methods that put there what holds.
    """

    attribute: str
    of: str
    how: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """A class.

    Attributes:
        name: its name.
        bases: full dotted names; those of the same file begin with a colon.
        decorators: full dotted names.
        methods: its own, by name in source order.
        attributes: what its instances hold, by name in alphabetical order.
        held: which of these hold what others are.
    """

    name: str
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    methods: tuple[FunctionSummary, ...] = ()
    attributes: tuple[tuple[str, Shape], ...] = ()
    held: tuple[HoldSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What the top-level name of a file stands for, with all that it refers to in that file.

    Attributes:
        name: the name that was asked for.
        shape: what it stands for.
        functions, classes: what shapes refer to by name.
    """

    name: str
    shape: Shape
    functions: tuple[FunctionSummary, ...] = ()
    classes: tuple[ClassSummary, ...] = field(default=())
