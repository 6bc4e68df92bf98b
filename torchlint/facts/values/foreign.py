"""What other files of the project bring into a file's value graph, apart from what the file holds itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.facts.summaries.effect_kinds import EffectSummary
    from torchlint.facts.summaries.imports import Found
    from torchlint.facts.summaries.summary import HoldSummary, KeepSummary, ViewSummary
    from torchlint.facts.values.actions import Store
    from torchlint.facts.values.domain import Abstract
    from torchlint.facts.values.graph import Backward, Class, Function, Loop, Place, Value
    from torchlint.guarding import Guarding


@dataclass(eq=False, slots=True)
class Foreign:
    """What other files of the project bring into a file's value graph; see ``summaries/linking.py``.

    Attributes:
        values, classes, backwards: as of :class:`ValueGraph`.
        attributes: what the attributes of its classes hold.
        stores: what its functions write into the objects that they are given.
        resets: places that a function sets anew, and globals that it empties, each with the loop in which it does.
        leaves: places that a method sets to what has a graph.
        continues: places of which a method reads what has a graph, before it sets them.
        endings: places that a method of this name sets anew, be it that nobody here asks for it.
        keeps: what functions keep of what they are given.
        holds: the parameters, from 0, that the object of an initializer has from then on.
        releases: the attributes that functions take away, each behind the parameter, from 0, whose object had it.
        held_by: which attributes of the objects of a class hold what others are.
        let_go: the attributes that methods of a class take away from their own object.
        effects: what functions do on each call, of those that do anything of the kind.
        found: where a function that has effects is defined.
        chains: which parameters of a function come back through a module, and as which item; see
            :class:`~torchlint.facts.summaries.summary.FunctionSummary`.
        trainings: functions in which a long training runs.
        holding: functions in which a whole loop of steps runs.
        running: functions that run a network, by themselves or by others.
        lists: functions that give a list or a dict of very many objects.
        disk_passes: generators of what lies in files, or in the rows of one.
        yielded_outputs: what generators yield that is an output of a network, another one in each of their turns.
        makers: functions that make what they return; what they import from a third file has a say in that.
        tensors: what functions give that is a tensor; see
            :class:`~torchlint.facts.summaries.summary.FunctionSummary`.
        outputs: functions that give what a module gives for a batch, in whatever form.
        residences: where what a function gives is, "host" or "device", of those of which it is known.
        views: of what functions return views.
        made: by which names of torch or of another library something is made that an object or a module there has.
        severed: functions whose results have no graph where the parameter, from 0, is true, or is not, or, None, a
            function that ends the graphs of all that it is called with.
        widths: how many columns the last layer of forwards gives.
        lengthened: what functions return that is a list they are given with more in it: under which key of the result,
            and the parameters, from 0, that are that list, or in what is added.
        cuts: the parameters, from 0, of whose graph nothing comes back from functions that detach them.
        closures: the function that a function makes and returns; the parameters of both are given it.
        modules: parameters that are used as modules.
        frozen: parameters that are modules and are told not to require grad.
        parts: the attributes of parameters that are trained on or go on, of those that are asked for nothing else.
        frozen_weights: networks with weights that nothing trains.
        given_frozen: parameters that are given networks which were told so before.
        evaluated: networks that are made there and put into evaluation mode.
        given_more: calls that are given more than parameters of the function that they stand in.
        leaving: calls whose graph leaves the function that they stand in.
        skipped: calls that need not run in each turn of their loop, or with each call of their function.
        handing_over: calls of methods of objects in lists, with what the function that they stand in is given.
        hands_on: parameters that are handed on to code that is not seen.
        globals_made: what was called, where they are defined, to make globals that are imported, by their full names.
        files: the name of the file in which a function stands.
        constants: values that are constants there, each with the constant, and with what says whether nobody else gives
            what has them something else.
        called_elsewhere: how the other files of the run call a function.
        nodes: the syntax that was made up for all of these; nothing of it stands in the file.
        passed: parameters of the file's own functions of which is known what other files pass.
        realise: the abstract value of a GIVEN value, and what is known to be passed to a parameter.
    """

    values: list[Value] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    attributes: list[tuple[Place, Value]] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    resets: list[tuple[Place | Value, Function, Loop | None]] = field(default_factory=list)
    leaves: list[tuple[Place, Function]] = field(default_factory=list)
    continues: list[tuple[Place, Function]] = field(default_factory=list)
    endings: list[tuple[Place, str]] = field(default_factory=list)
    keeps: dict[Function, tuple[KeepSummary, ...]] = field(default_factory=dict)
    holds: dict[Function, tuple[int, ...]] = field(default_factory=dict)
    releases: dict[Function, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    held_by: dict[Class, tuple[HoldSummary, ...]] = field(default_factory=dict)
    let_go: dict[Class, frozenset[str]] = field(default_factory=dict)
    effects: dict[Function, tuple[EffectSummary, ...]] = field(default_factory=dict)
    found: dict[Function, Found] = field(default_factory=dict)
    chains: dict[Function, tuple[tuple[int | str | None, int], ...]] = field(default_factory=dict)
    trainings: set[Function] = field(default_factory=set)
    holding: set[Function] = field(default_factory=set)
    running: set[Function] = field(default_factory=set)
    lists: set[Function] = field(default_factory=set)
    disk_passes: set[Function] = field(default_factory=set)
    yielded_outputs: dict[Function, tuple[int, ...]] = field(default_factory=dict)
    makers: dict[Function, Callable[[], bool]] = field(default_factory=dict)
    tensors: dict[Function, tuple[int, ...]] = field(default_factory=dict)
    outputs: set[Function] = field(default_factory=set)
    residences: dict[Function, str] = field(default_factory=dict)
    views: dict[Function, ViewSummary] = field(default_factory=dict)
    made: dict[Value, set[str]] = field(default_factory=lambda: defaultdict(set))
    severed: dict[Function, tuple[int, bool | None]] = field(default_factory=dict)
    widths: dict[Function, int] = field(default_factory=dict)
    lengthened: dict[Function, tuple[tuple[int | str | None, tuple[int, ...]], ...]] = field(default_factory=dict)
    cuts: dict[Function, tuple[int, ...]] = field(default_factory=dict)
    closures: dict[Function, Function] = field(default_factory=dict)
    modules: list[Value] = field(default_factory=list)
    frozen: list[Value] = field(default_factory=list)
    parts: dict[Value, frozenset[str]] = field(default_factory=dict)
    frozen_weights: set[Value] = field(default_factory=set)
    given_frozen: set[Value] = field(default_factory=set)
    evaluated: set[Value] = field(default_factory=set)
    given_more: set[Value] = field(default_factory=set)
    leaving: set[Value] = field(default_factory=set)
    skipped: set[Value] = field(default_factory=set)
    handing_over: set[Value] = field(default_factory=set)
    hands_on: set[Value] = field(default_factory=set)
    globals_made: dict[str, list[str]] = field(default_factory=dict)
    files: dict[Function, str] = field(default_factory=dict)
    constants: dict[Value, tuple[object, Callable[[], bool]]] = field(default_factory=dict)
    called_elsewhere: dict[Function, Callable[[], Guarding]] = field(default_factory=dict)
    nodes: set[cst.CSTNode] = field(default_factory=set)
    passed: set[Value] = field(default_factory=set)
    realise: Callable[[Value], Abstract] | None = None
