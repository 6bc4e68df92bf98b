"""One file solved: what its values are, where gradients are on, which loops are steps, what outlives them.

It needs no fact beyond these; what is found by them is in ``torchlint.facts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.trained_fields import TrainedFields
from torchlint.facts.building.builder import build
from torchlint.facts.repairs import Repairs
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.turns.modes import Modes
from torchlint.facts.turns.steps import Steps
from torchlint.facts.turns.unit_tests import UnitTests
from torchlint.facts.values.extents import Extents
from torchlint.facts.values.freezing import forwards_while_frozen, frozen_subjects, tellings_of
from torchlint.facts.values.graph import Store, Value
from torchlint.facts.values.identity import Identity
from torchlint.facts.values.resting import spread_rest
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.tensors import Tensors

__all__ = ["Solved"]


class Solved(Repairs):
    """One file with its value graph solved.

    Attributes:
        module: the parsed file.
        graph: its value graph.
        solution: the abstract value of each value.
        derived_elsewhere: the classes of the other files of the run that derive from one of this, by its name.
        loaded_in: the other file of the run in which workers read a data set of this one, by its name.
        repeats: whether another file of the run calls a function of this one, by its name, in a loop.
        others_call_once: whether other files of the run call what this one defines by a name, each of them once.
        others_mention: whether a name stands in another file of the run that uses this one.
        mentioned_below: whether an attribute of a name is written in another file that this one imports, however far.
        others_never_mention: whether other files of the run are seen to use this one, and none has a name in it.
        others_give: which arguments other files give a function of this file in any call; None where that is unclear.
        others_pass_batches: which arguments of a function of this file are batches in all calls of other files.
        others_pass_number: the largest number that other files pass to a function of this one for a parameter, or -1.
        others_pass: what other files pass to a function or a class of this one, call by call.
        path: the file, absolute; "" for one that stands alone.
        used_below: whether a file that this one imports goes on with such an attribute of what it is given.
        others_look_at: whether other files of the run read such an attribute of objects, and all only its numbers.
        others_let_go: whether another file of the run sets an attribute of the objects of this one to None.
        others_empty: whether another file of the run empties an attribute of the objects of this one, or sets it anew.
        others_only_read: whether other files of the run make only numbers of what a function of this one gives.
        others_train_on_result: whether another file of the run differentiates what a function of this one returns.
        others_train: whether another file of the run that uses this one trains.
        others_train_beside: whether another file of the run trains while it has an object of a class of this one.
        others_train_on: whether another file of the run trains, and goes on with an attribute of a name.
        others_train_through: whether another file of the run may run a backward over what such an attribute has.
        trains_without: whether another file of the run trains what is made here, and none uses an attribute of a name.
        modes, flows, steps, lifetimes, unit_tests: the queries.
    """

    def __init__(self, module: cst.Module, project: Imports, *, trusts_annotations: bool) -> None:
        """Build and solve the graph of a parsed file; for the arguments see :class:`~torchlint.facts.Facts`."""
        super().__init__(module, build(module, project))
        self.graph.trusts_annotations = trusts_annotations
        self.solution = Solution(self.graph)
        self.solution.solve()
        tellings = tellings_of(self.solution)
        frozen = frozen_subjects(self.solution, tellings)
        meanwhile = forwards_while_frozen(self.solution, tellings)
        if frozen or meanwhile:
            self.solution = self.solution.anew(frozen, meanwhile)
        spread_rest(self.solution)
        self.loaded_in = project.loaded_in
        self.derived_elsewhere = project.subclasses
        self.repeats = project.repeats
        self.others_call_once = project.call_once
        self.others_mention = project.mention
        self.mentioned_below = project.mention_below
        self.others_never_mention = project.never_mention
        self.others_give = project.given_arguments
        self.others_pass_batches = project.pass_batches
        self.others_pass_number = project.pass_number
        self.others_pass = project.passed
        self.path = project.path
        self.used_below = project.used_below
        self.others_look_at = project.look_at
        self.others_let_go = project.let_go
        self.others_empty = project.empty
        self.others_only_read = project.only_read
        self.others_train_on_result = project.train_on_result
        self.others_train = project.train
        self.others_train_beside = project.train_beside
        self.others_train_on = project.train_on
        self.others_train_through = project.train_through
        self.trains_without = project.trains_without
        self.modes = Modes(self.solution, project.guarding)
        self.flows = Flows(self.solution, self.modes)
        self.steps = Steps(self.solution, self.flows)
        self.lifetimes = Lifetimes(self.solution, self.flows, self.steps)
        self.unit_tests = UnitTests(self.steps)

    @cached_property
    def stores_of(self) -> Mapping[Value, Sequence[Store]]:
        """The stores of the file by what they store."""
        table: dict[Value, list[Store]] = {}
        for store in self.graph.stores:
            table.setdefault(store.value, []).append(store)
        return table

    @cached_property
    def trained_fields(self) -> TrainedFields:
        """Which of what records hold the program trains on."""
        return TrainedFields(self.flows)

    @cached_property
    def identity(self) -> Identity:
        """Which values are one object."""
        return Identity(self.solution)

    @cached_property
    def tensors(self) -> Tensors:
        """What is a tensor, and what holds tensors."""
        return Tensors(self.solution, self.steps)

    @cached_property
    def extents(self) -> Extents:
        """How much of a batch values are."""
        return Extents(self.flows, self.steps)
