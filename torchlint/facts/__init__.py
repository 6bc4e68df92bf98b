"""What is known of a program: the facts that rules ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.accumulations import Accumulation, Accumulations
from torchlint.facts.autograd.carrying import Carried, CarriedStates
from torchlint.facts.autograd.context_repairs import save_for_backward
from torchlint.facts.autograd.contexts import OnContext, on_contexts
from torchlint.facts.autograd.contracts import Contract, contracts
from torchlint.facts.autograd.followers import FollowerForward, follower_forwards
from torchlint.facts.autograd.gradient_readers import gradient_readers
from torchlint.facts.autograd.gradients import Zeroing, zeroings
from torchlint.facts.autograd.handovers import Handovers
from torchlint.facts.autograd.inference import Inferences
from torchlint.facts.autograd.insertions import Insertion, Insertions
from torchlint.facts.autograd.kept_clones import KeptClone, kept_clones
from torchlint.facts.autograd.leftovers import Leftover, Leftovers
from torchlint.facts.autograd.phases import IdlePhase, idle_phases
from torchlint.facts.autograd.records import Record, Records
from torchlint.facts.autograd.resting_memos import RestingMemo, resting_memos
from torchlint.facts.autograd.retaining import Retaining, retained_in_vain
from torchlint.facts.autograd.retention import Retention, cost_of, retention_in, retention_of
from torchlint.facts.autograd.second_order import GradientCycle, gradient_cycles
from torchlint.facts.autograd.summed_loss import SummedLoss, summed_losses
from torchlint.facts.autograd.supposed import Suppositions
from torchlint.facts.autograd.trained_elsewhere import TrainedElsewhere
from torchlint.facts.autograd.untrained import UntrainedForward, untrained_forwards
from torchlint.facts.guards.guard_repairs import start_guarding
from torchlint.facts.guards.guarding import IdleGuard, guarded_in_vain, idle_guards
from torchlint.facts.hooks.circles import Circle, circles
from torchlint.facts.hooks.forgotten import Forgotten, forgotten
from torchlint.facts.hooks.forward_hooks import Hooks
from torchlint.facts.hooks.hook_store import HookStore, hook_stores
from torchlint.facts.hooks.hooks_elsewhere import HookElsewhere, hooks_elsewhere
from torchlint.facts.hooks.left_hooks import LeftHook, left_hooks
from torchlint.facts.hooks.piles import Clearing, Pile, clearings, piles
from torchlint.facts.hooks.registrations import HookLifetimes, PiledHook, Registration, registrations
from torchlint.facts.hooks.taps import Taps
from torchlint.facts.hooks.untaken import Untaken, untaken
from torchlint.facts.host.datasets import Hoard, hoards
from torchlint.facts.host.debugging import Debugging, debuggings
from torchlint.facts.host.emptying import Emptying, emptyings
from torchlint.facts.host.figure_repairs import close
from torchlint.facts.host.figures import OpenFigure, open_figures
from torchlint.facts.host.profiling import Profiling, profilings
from torchlint.facts.host.recording import Recording, recordings
from torchlint.facts.keeping.averaged import AveragedLoads, averaged_loads
from torchlint.facts.keeping.caching import CacheGrowth, Caching
from torchlint.facts.keeping.checkpoint_repairs import load_on_host
from torchlint.facts.keeping.checkpoints import Checkpoint, checkpoints
from torchlint.facts.keeping.collected import collections
from torchlint.facts.keeping.collection import Collection
from torchlint.facts.keeping.handling import Handling
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere
from torchlint.facts.keeping.kept_views import KeptView, kept_views
from torchlint.facts.keeping.loading import Load, Loads
from torchlint.facts.keeping.memos import Memo, Memos
from torchlint.facts.keeping.own_caches import OwnCaches
from torchlint.facts.keeping.purposes import Purposes
from torchlint.facts.keeping.saving import Saves
from torchlint.facts.keeping.snapshots import Snapshot, snapshots
from torchlint.facts.keeping.unheeded import Unheeded, unheeded
from torchlint.facts.keeping.unloaded import Unloading
from torchlint.facts.keeping.unloading import Unloadings
from torchlint.facts.repeated.compiling import Compilation, compilations
from torchlint.facts.repeated.construction import Construction, constructions
from torchlint.facts.repeated.growth import Growth, growths, made_for
from torchlint.facts.repeated.reloading import Reload, reloads
from torchlint.facts.repeated.rereading import SecondCopy, second_copies
from torchlint.facts.solved import Solved
from torchlint.facts.summaries.effects import Effects
from torchlint.facts.summaries.imports import Imports, NoImports
from torchlint.facts.turns.loop_lengths import LoopLengths
from torchlint.facts.turns.repetition import Repetitions
from torchlint.facts.turns.skipping import Skipping
from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.novelty import Novelty
from torchlint.facts.values.writing import Use
from torchlint.rule import Fix

__all__ = ["Facts"]


class Facts(Solved):
    """The facts of one file.

    Attributes:
        hooks, taps, inferences: queries that all rules on gradients need.
    """

    def __init__(self, module: cst.Module, project: Imports | None = None, *, trusts_annotations: bool = True) -> None:
        """Compute the facts of a parsed file.

        Args:
            module: the file.
            project: what it imports from its project; without one it stands alone.
            trusts_annotations: whether ``value: float`` is a number where nobody is seen to pass anything else.
        """
        project = project or NoImports()
        super().__init__(module, project, trusts_annotations=trusts_annotations)
        self.hooks = Hooks(self)
        self.taps = Taps(self)
        self.inferences = Inferences(self.flows, self.steps, project, self.unit_tests.is_brief, self.taps)

    def dissolve(self) -> None:
        """Give up all that is known, so that the file is freed at once; see :meth:`Solution.dissolve`."""
        self.solution.dissolve()
        vars(self.inferences).clear()
        vars(self).clear()

    @cached_property
    def effects(self) -> Effects:
        """What the calls of this file do by functions of other files."""
        return Effects(self)

    @cached_property
    def accumulations(self) -> list[Accumulation]:
        """Every update of a holder from itself and a tensor with a graph that outlives a step, each once."""
        return [a for a in self._accumulations.found if not self.unit_tests.is_brief(a.update)]

    @cached_property
    def _accumulations(self) -> Accumulations:
        return Accumulations(self.lifetimes)

    @cached_property
    def supposed_accumulations(self) -> list[Accumulation]:
        """Updates of holders that outlive a step from tensors which may have a graph, for all that is seen."""
        return Suppositions(self).accumulations()

    @cached_property
    def supposed_records(self) -> list[KeptElsewhere]:
        """What layers hand to other files for running states, which may have a graph, for all that is seen."""
        told = {record.statement for record in self.records}
        return [kept for kept in Suppositions(self).records() if self.statement_of(kept.call) not in told]

    @cached_property
    def insertions(self) -> list[Insertion]:
        """Every insertion of a live tensor into a container that outlives a step."""
        objectives = self._accumulations.objectives
        return [
            i
            for i in Insertions(self.lifetimes).found()
            if not self.unit_tests.is_brief(i.parts[0].value) and not objectives.hold_all_in(i.allocation, i.values())
        ]

    @cached_property
    def constructions(self) -> list[Construction]:
        """What is built again and again, at most one thing for each statement."""
        return constructions(self)

    @cached_property
    def carried_states(self) -> list[Carried]:
        """Every recurrent state or cache that goes from step to step with its graph."""
        return [c for c in CarriedStates(self).found() if not self.unit_tests.is_brief(c.value)]

    @cached_property
    def records(self) -> list[Record]:
        """Every tensor with a graph that is handed to an object, a callback or a buffer that keeps it."""
        return [*Records(self).found(), *Handovers(self).found()]

    @cached_property
    def kept_clones(self) -> list[KeptClone]:
        """Copies of tensors that an object keeps, with the graph if there is one."""
        return kept_clones(self)

    @cached_property
    def contracts(self) -> list[Contract]:
        """Every tensor that a framework keeps, or hands to a method that keeps it, with its graph."""
        return list(contracts(self))

    @cached_property
    def leftovers(self) -> list[Leftover]:
        """Every tensor with a graph that a step leaves on an object or in a global, where no backward needs it."""
        return Leftovers(self).found()

    @cached_property
    def resting_memos(self) -> list[RestingMemo]:
        """Every attribute of a layer that is set once where it does not train, to what has a graph."""
        return resting_memos(self)

    @cached_property
    def idle_phases(self) -> list[IdlePhase]:
        """Every function that trains or not, run with gradients on where it does not."""
        return idle_phases(self)

    @cached_property
    def gradient_readers(self) -> Mapping[Function, frozenset[int]]:
        """The functions that read gradients of what they are given, and for which of their parameters, from 0."""
        return gradient_readers(self)

    @cached_property
    def trained_elsewhere(self) -> TrainedElsewhere:
        """Which values other files differentiate."""
        return TrainedElsewhere(self.flows, self.others_train_on_result)

    def cost_of(self, use: Use) -> Retention:
        """What keeping a value costs, wherever it is kept."""
        return cost_of(self, use)

    @cached_property
    def hook_stores(self) -> list[HookStore]:
        """Every place at which a forward hook keeps a graph that no backward wants."""
        return hook_stores(self)

    @cached_property
    def hook_piles(self) -> list[Pile]:
        """Every statement by which a forward hook adds one tensor more with each forward."""
        return piles(self)

    @cached_property
    def list_clearings(self) -> list[Clearing]:
        """Everything that empties a list or takes something out of it; asked where hooks fill lists."""
        return clearings(self)

    @cached_property
    def forgotten_lists(self) -> list[Forgotten]:
        """Every list that the hooks of an object fill and that a method leaves out which empties another one."""
        return forgotten(self)

    @cached_property
    def untaken(self) -> list[Untaken]:
        """Every list that forward hooks fill and that only hooks of the backward empty, though gradients may be off."""
        return untaken(self)

    @cached_property
    def hooks_elsewhere(self) -> list[HookElsewhere]:
        """Every forward hook of another file that keeps one graph more with each forward."""
        return hooks_elsewhere(self)

    @cached_property
    def retained_in_vain(self) -> list[Retaining]:
        """Every backward that keeps its graph for another one which never comes."""
        return retained_in_vain(self)

    @cached_property
    def gradient_cycles(self) -> list[GradientCycle]:
        """Every backward whose gradients keep their own graph, in each step a new one."""
        return gradient_cycles(self)

    @cached_property
    def summed_losses(self) -> list[SummedLoss]:
        """Every sum of independent losses over a loop that waits for one backward."""
        return summed_losses(self)

    @cached_property
    def repetitions(self) -> Repetitions:
        """How often things run."""
        return Repetitions(self)

    @cached_property
    def skipping(self) -> Skipping:
        """What need not run each time."""
        return Skipping(self)

    @cached_property
    def on_contexts(self) -> list[OnContext]:
        """Tensors that functions with a backward of their own keep on their contexts."""
        return on_contexts(self)

    def save_for_backward(self, kept: OnContext) -> Fix | None:
        """The repair of a tensor on a context, if there is an automatic one."""
        return save_for_backward(self, kept)

    @cached_property
    def registrations(self) -> list[Registration]:
        """Every hook that is registered."""
        return registrations(self)

    @cached_property
    def hook_lifetimes(self) -> HookLifetimes:
        """How long hooks stay."""
        return HookLifetimes(self)

    @cached_property
    def piled_hooks(self) -> list[PiledHook]:
        """Hooks that are registered again and again and stay."""
        return self.hook_lifetimes.piled()

    @cached_property
    def left_hooks(self) -> list[LeftHook]:
        """Hooks that a method leaves on a module when it takes others of its object off."""
        return left_hooks(self)

    @cached_property
    def circles(self) -> list[Circle]:
        """Reference circles through functions."""
        return circles(self)

    @cached_property
    def collections(self) -> list[Collection]:
        """What passes over data collect at a cost, at most one for each statement."""
        return collections(self)

    @cached_property
    def untrained_forwards(self) -> list[UntrainedForward]:
        """Forwards in training steps through which nothing is trained."""
        return [u for u in untrained_forwards(self) if not self.unit_tests.is_brief(u.call)]

    @cached_property
    def follower_forwards(self) -> list[FollowerForward]:
        """Forwards with gradients on of networks that only follow another one."""
        return follower_forwards(self)

    @cached_property
    def kept_views(self) -> list[KeptView]:
        """Small views that outlive a step, or are saved, and keep large tensors with them."""
        return kept_views(self)

    @cached_property
    def loads(self) -> Loads:
        """What is read from files, and where it goes."""
        return Loads(self)

    @cached_property
    def purposes(self) -> Purposes:
        """What weights are read from files for."""
        return Purposes(self)

    @cached_property
    def saves(self) -> Saves:
        """What is written into files, and from where."""
        return Saves(self)

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        """What was copied into a model and is kept through its training all the same."""
        return checkpoints(self)

    def load_on_host(self, load: Load) -> Fix | None:
        """The repair that gives a load its ``map_location``."""
        return load_on_host(self, load)

    @cached_property
    def unheeded(self) -> list[Unheeded]:
        """Loads without the ``map_location`` that the function which wants them was given."""
        return unheeded(self)

    @cached_property
    def reloads(self) -> list[Reload]:
        """Models and weights that are read again and again."""
        return reloads(self)

    @cached_property
    def second_copies(self) -> list[SecondCopy]:
        """Loads in training loops that read what is in memory already."""
        return second_copies(self)

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Copies of a model that a container collects."""
        return snapshots(self)

    @cached_property
    def averaged_loads(self) -> list[AveragedLoads]:
        """Checkpoints that are all kept until they are added up."""
        return averaged_loads(self)

    @cached_property
    def growths(self) -> list[Growth]:
        """What every step adds to a module or an optimizer."""
        return growths(self)

    @cached_property
    def made_to_grow(self) -> frozenset[Value]:
        """The calls that make what is added in every step."""
        return frozenset(made for growth in self.growths for made in made_for(growth))

    @cached_property
    def compilations(self) -> list[Compilation]:
        """What is compiled, traced or scripted again and again."""
        return compilations(self)

    @cached_property
    def novelty(self) -> Novelty:
        """What is another value in each turn."""
        return Novelty(self, self.tensors)

    @cached_property
    def growing_caches(self) -> list[CacheGrowth]:
        """Caches of functions that keep tensors which nobody asks for again."""
        return Caching(self, self.tensors, self.novelty).found()

    @cached_property
    def own_caches(self) -> OwnCaches:
        """Which functions of decorators are caches that the program writes out."""
        return OwnCaches(self)

    @cached_property
    def growing_memos(self) -> list[Memo]:
        """Insertions into dictionaries that are used as caches and grow with each turn."""
        return Memos(self, self.tensors, self.novelty).found()

    @cached_property
    def unloadings(self) -> list[Unloading]:
        """Models that are given up and stay in memory."""
        return Unloadings(self).found()

    @cached_property
    def handling(self) -> Handling:
        """What handlers of exceptions do with what failed."""
        return Handling(self)

    @cached_property
    def loop_lengths(self) -> LoopLengths:
        """How long loops run."""
        return LoopLengths(self)

    @cached_property
    def recordings(self) -> list[Recording]:
        """Histories of the allocator that a training fills without end."""
        return recordings(self)

    @cached_property
    def debuggings(self) -> list[Debugging]:
        """Debugging modes that are on for a whole run."""
        return debuggings(self)

    @cached_property
    def profilings(self) -> list[Profiling]:
        """Profilers that record a whole training."""
        return profilings(self)

    @cached_property
    def open_figures(self) -> list[OpenFigure]:
        """Figures that are made in each step or epoch and stay open."""
        return open_figures(self)

    @cached_property
    def hoards(self) -> list[Hoard]:
        """Objects of data sets that every worker of a loader has for itself in time."""
        return hoards(self)

    @cached_property
    def zeroings(self) -> list[Zeroing]:
        """Calls that fill gradients with zeros in every step where they could free them."""
        return zeroings(self)

    @cached_property
    def emptyings(self) -> list[Emptying]:
        """Calls that empty the allocator's cache or run the collector in every step."""
        return emptyings(self)

    @cached_property
    def idle_guards(self) -> list[IdleGuard]:
        """Guards that guard nothing."""
        return idle_guards(self)

    def start_guarding(self, guard: IdleGuard) -> Fix | None:
        """The repair of an idle guard, if there is an automatic one."""
        return start_guarding(self, guard)

    @cached_property
    def guarded_in_vain(self) -> frozenset[Function]:
        """Functions whose inference records graphs only since a guard guards nothing."""
        return guarded_in_vain(self)

    def retention(self, holder: Value, uses: Sequence[Use], *, may_leave: bool = True) -> Retention | None:
        """What keeping values in a holder costs, None when it is no loss; see :func:`retention_of`."""
        return retention_of(self, holder, uses, may_leave=may_leave)

    def retention_in(self, statement: cst.CSTNode, holders: Sequence[Value], uses: Sequence[Use]) -> Retention | None:
        """What keeping by a statement costs, None when it is no loss; see :func:`retention_in`."""
        return retention_in(self, statement, holders, uses)

    def close_figure(self, figure: OpenFigure) -> Fix | None:
        """The repair that closes a figure, if there is an automatic one."""
        return close(self, figure)
