"""What is known of a program: the facts that rules ask."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.accumulations import Accumulation, Accumulations
from torchlint.facts.autograd.carried import Carried
from torchlint.facts.autograd.carrying import CarriedStates
from torchlint.facts.autograd.context_repairs import save_for_backward
from torchlint.facts.autograd.contexts import on_contexts
from torchlint.facts.autograd.contracts import contracts
from torchlint.facts.autograd.gradient_readers import gradient_readers
from torchlint.facts.autograd.gradients import zeroings
from torchlint.facts.autograd.handovers import Handovers
from torchlint.facts.autograd.inference import Inference, Inferences
from torchlint.facts.autograd.insertions import Insertion, Insertions
from torchlint.facts.autograd.kept_clones import kept_clones
from torchlint.facts.autograd.leftovers import Leftover, Leftovers
from torchlint.facts.autograd.other_branches import is_known_by_other_branch
from torchlint.facts.autograd.phases import idle_phases
from torchlint.facts.autograd.records import Record, Records
from torchlint.facts.autograd.references import reference_forwards
from torchlint.facts.autograd.resting_memos import resting_memos
from torchlint.facts.autograd.retained_states import retained_states
from torchlint.facts.autograd.retaining import retained_in_vain
from torchlint.facts.autograd.retention import cost_of, retention_in, retention_of
from torchlint.facts.autograd.second_order import gradient_cycles
from torchlint.facts.autograd.summed_loss import summed_losses
from torchlint.facts.autograd.supposed import Suppositions
from torchlint.facts.autograd.trained_elsewhere import TrainedElsewhere
from torchlint.facts.autograd.untrained import UntrainedForward, untrained_forwards
from torchlint.facts.autograd.written_buffers import is_read_by_forward
from torchlint.facts.guards.guard_repairs import start_guarding
from torchlint.facts.guards.guarding import guarded_in_vain, idle_guards
from torchlint.facts.hooks.circles import circles
from torchlint.facts.hooks.forgotten import forgotten
from torchlint.facts.hooks.forward_hooks import Hooks
from torchlint.facts.hooks.hook_lifetimes import HookLifetimes, PiledHook
from torchlint.facts.hooks.hook_store import hook_stores
from torchlint.facts.hooks.hooks_elsewhere import hooks_elsewhere
from torchlint.facts.hooks.left_hooks import left_hooks
from torchlint.facts.hooks.piles import clearings, piles
from torchlint.facts.hooks.registrations import registrations
from torchlint.facts.hooks.taps import Taps
from torchlint.facts.hooks.untaken import untaken
from torchlint.facts.host.datasets import hoards
from torchlint.facts.host.debugging import debuggings
from torchlint.facts.host.emptying import emptyings
from torchlint.facts.host.figure_repairs import close
from torchlint.facts.host.figures import open_figures
from torchlint.facts.host.profiling import profilings
from torchlint.facts.host.recording import recordings
from torchlint.facts.keeping.averaged import averaged_loads
from torchlint.facts.keeping.caching import CacheGrowth, Caching
from torchlint.facts.keeping.checkpoint_repairs import load_on_host
from torchlint.facts.keeping.checkpoints import checkpoints
from torchlint.facts.keeping.collected import collections
from torchlint.facts.keeping.handling import Handling, Retry
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere
from torchlint.facts.keeping.kept_exceptions import KeptException, KeptExceptions
from torchlint.facts.keeping.kept_views import kept_views
from torchlint.facts.keeping.loading import Loads
from torchlint.facts.keeping.memos import Memo, Memos
from torchlint.facts.keeping.own_caches import OwnCaches
from torchlint.facts.keeping.purposes import Purposes
from torchlint.facts.keeping.saving import Saves
from torchlint.facts.keeping.snapshots import snapshots
from torchlint.facts.keeping.tried_work import TriedWork
from torchlint.facts.keeping.unheeded import unheeded
from torchlint.facts.keeping.unloaded import Unloading
from torchlint.facts.keeping.unloading import Unloadings
from torchlint.facts.keeping.unread_copies import unread_copies
from torchlint.facts.repeated.compiling import compilations
from torchlint.facts.repeated.construction import constructions
from torchlint.facts.repeated.growth import growths, made_for
from torchlint.facts.repeated.reloading import reloads
from torchlint.facts.repeated.rereading import second_copies
from torchlint.facts.solved import Solved
from torchlint.facts.summaries.effects import Effects
from torchlint.facts.summaries.imports import Imports, NoImports
from torchlint.facts.turns.loop_lengths import LoopLengths
from torchlint.facts.turns.repetition import Repetitions
from torchlint.facts.turns.skipping import Skipping
from torchlint.facts.values.graph import Value
from torchlint.facts.values.novelty import Novelty

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

    # -- what all others ask ------------------------------------------------------------------------------------------

    effects = cached_property(Effects)
    """What the calls of this file do by functions of other files."""

    repetitions = cached_property(Repetitions)
    """How often things run."""

    skipping = cached_property(Skipping)
    """What need not run each time."""

    loop_lengths = cached_property(LoopLengths)
    """How long loops run."""

    @cached_property
    def novelty(self) -> Novelty:
        """What is another value in each turn."""
        return Novelty(self, self.tensors)

    @cached_property
    def _tried_work(self) -> TriedWork:
        return TriedWork(self, Holders(self))

    @cached_property
    def retries(self) -> list[Retry]:
        """Each handler of out of memory in which the work that failed is done again."""
        return Handling(self, self._tried_work).retries()

    @cached_property
    def kept_exceptions(self) -> list[KeptException]:
        """Each place where an exception of failed work is stored."""
        return KeptExceptions(self, self._tried_work).found()

    # -- graphs that are kept -----------------------------------------------------------------------------------------

    @cached_property
    def accumulations(self) -> list[Accumulation]:
        """Every update of a holder from itself and a tensor with a graph that outlives a step, each once."""
        return [a for a in self._accumulations.found if not self.unit_tests.is_brief(a.update)]

    @cached_property
    def accumulating(self) -> frozenset[cst.CSTNode]:
        """The statements of the accumulations that keep a graph, which tell so."""
        return frozenset(
            one.statement
            for one in self.accumulations
            if one.is_state or self.retention(one.held, one.added) is not None
        )

    @cached_property
    def _accumulations(self) -> Accumulations:
        return Accumulations(self.lifetimes)

    @cached_property
    def supposed_accumulations(self) -> list[Accumulation]:
        """Updates of holders that outlive a step from tensors which may have a graph, for all that is seen."""
        return Suppositions(self).accumulations()

    @cached_property
    def insertions(self) -> list[Insertion]:
        """Every insertion of a live tensor into a container that outlives a step."""
        objectives = self._accumulations.objectives
        return [
            i
            for i in Insertions(self.lifetimes).found()
            if not self.unit_tests.is_brief(i.parts[0].value)
            and not objectives.hold_all_in(i.allocation, i.values())
            and not is_read_by_forward(self, i.holder)
            and not all(is_known_by_other_branch(self, part.value, i.statement) for part in i.parts)
        ]

    @cached_property
    def inserting(self) -> frozenset[cst.CSTNode]:
        """The statements of the insertions, which tell what these keep."""
        return frozenset(insertion.statement for insertion in self.insertions)

    @cached_property
    def carried_states(self) -> list[Carried]:
        """Every recurrent state or cache that goes from step to step with its graph."""
        found = {(c.statement, c.name): c for c in (*retained_states(self), *CarriedStates(self).found())}
        return [carried for carried in found.values() if not self.unit_tests.is_brief(carried.value)]

    @cached_property
    def records(self) -> list[Record]:
        """Every tensor with a graph that is handed to an object, a callback or a buffer that keeps it."""
        return [*Records(self).found(), *Handovers(self).found()]

    @cached_property
    def supposed_records(self) -> list[KeptElsewhere]:
        """What layers hand to other files for running states, which may have a graph, for all that is seen."""
        told = {record.statement for record in self.records}
        return [kept for kept in Suppositions(self).records() if self.statement_of(kept.call) not in told]

    contracts = cached_property(contracts)
    """Every tensor that a framework keeps, or hands to a method that keeps it, with its graph."""

    kept_clones = cached_property(kept_clones)
    """Copies of tensors that an object keeps, with the graph if there is one."""

    @cached_property
    def leftovers(self) -> list[Leftover]:
        """Every tensor with a graph that a step leaves on an object or in a global, where no backward needs it."""
        return Leftovers(self).found()

    resting_memos = cached_property(resting_memos)
    """Every attribute of a layer that is set once where it does not train, to what has a graph."""

    gradient_readers = cached_property(gradient_readers)
    """The functions that read gradients of what they are given, and for which of their parameters, from 0."""

    @cached_property
    def trained_elsewhere(self) -> TrainedElsewhere:
        """Which values other files differentiate."""
        return TrainedElsewhere(self.flows, self.others_train_on_result)

    # -- graphs that are recorded in vain, or live too long -----------------------------------------------------------

    idle_phases = cached_property(idle_phases)
    """Every function that trains or not, run with gradients on where it does not."""

    @cached_property
    def untrained_forwards(self) -> list[UntrainedForward]:
        """Forwards in training steps through which nothing is trained."""
        return [u for u in untrained_forwards(self) if not self.unit_tests.is_brief(u.call)]

    reference_forwards = cached_property(reference_forwards)
    """Forwards with gradients on of networks that only follow another one, or with which one is compared."""

    @property
    def unguarded_inferences(self) -> list[Inference]:
        """Inference that records graphs and that no guard was meant for; of the others their guard is told.

        Nor is a network meant with which another one is compared, of which the loss that is returned trains that one.
        """
        compared = {reference.call for reference in self.reference_forwards}
        return [
            one
            for one in self.inferences.found.values()
            if one.function not in self.guarded_in_vain and not compared.issuperset(one.forwards)
        ]

    idle_guards = cached_property(idle_guards)
    """Guards that guard nothing."""

    guarded_in_vain = cached_property(guarded_in_vain)
    """Functions whose inference records graphs only since a guard guards nothing."""

    retained_in_vain = cached_property(retained_in_vain)
    """Every backward that keeps its graph for another one which never comes."""

    gradient_cycles = cached_property(gradient_cycles)
    """Every backward whose gradients keep their own graph, in each step a new one."""

    summed_losses = cached_property(summed_losses)
    """Every sum of independent losses over a loop that waits for one backward."""

    on_contexts = cached_property(on_contexts)
    """Tensors that functions with a backward of their own keep on their contexts."""

    zeroings = cached_property(zeroings)
    """Calls that fill gradients with zeros in every step where they could free them."""

    # -- hooks and circles --------------------------------------------------------------------------------------------

    registrations = cached_property(registrations)
    """Every hook that is registered."""

    hook_lifetimes = cached_property(HookLifetimes)
    """How long hooks stay."""

    @cached_property
    def piled_hooks(self) -> list[PiledHook]:
        """Hooks that are registered again and again and stay."""
        return self.hook_lifetimes.piled()

    left_hooks = cached_property(left_hooks)
    """Hooks that a method leaves on a module when it takes others of its object off."""

    hook_stores = cached_property(hook_stores)
    """Every place at which a forward hook keeps a graph that no backward wants."""

    hook_piles = cached_property(piles)
    """Every statement by which a forward hook adds one tensor more with each forward."""

    hooks_elsewhere = cached_property(hooks_elsewhere)
    """Every forward hook of another file that keeps one graph more with each forward."""

    list_clearings = cached_property(clearings)
    """Everything that empties a list or takes something out of it; asked where hooks fill lists."""

    forgotten_lists = cached_property(forgotten)
    """Every list that the hooks of an object fill and that a method leaves out which empties another one."""

    untaken = cached_property(untaken)
    """Every list that forward hooks fill and that only hooks of the backward empty, though gradients may be off."""

    circles = cached_property(circles)
    """Reference circles through functions."""

    # -- what is kept beyond its use ----------------------------------------------------------------------------------

    collections = cached_property(collections)
    """What passes over data collect at a cost, at most one for each statement."""

    kept_views = cached_property(kept_views)
    """Small views that outlive a step, or are saved, and keep large tensors with them."""

    snapshots = cached_property(snapshots)
    """Copies of a model that a container collects."""

    unread_copies = cached_property(unread_copies)
    """Copies of a model that a variable has and nobody reads."""

    @cached_property
    def growing_caches(self) -> list[CacheGrowth]:
        """Caches of functions that keep tensors which nobody asks for again."""
        return Caching(self, self.tensors, self.novelty).found()

    own_caches = cached_property(OwnCaches)
    """Which functions of decorators are caches that the program writes out."""

    @cached_property
    def growing_memos(self) -> list[Memo]:
        """Insertions into dictionaries that are used as caches and grow with each turn."""
        return Memos(self, self.tensors, self.novelty).found()

    @cached_property
    def unloadings(self) -> list[Unloading]:
        """Models that are given up and stay in memory."""
        return Unloadings(self).found()

    # -- what is read from files and written into them ----------------------------------------------------------------

    loads = cached_property(Loads)
    """What is read from files, and where it goes."""

    purposes = cached_property(Purposes)
    """What weights are read from files for."""

    saves = cached_property(Saves)
    """What is written into files, and from where."""

    checkpoints = cached_property(checkpoints)
    """What was copied into a model and is kept through its training all the same."""

    unheeded = cached_property(unheeded)
    """Loads without the ``map_location`` that the function which wants them was given."""

    averaged_loads = cached_property(averaged_loads)
    """Checkpoints that are all kept until they are added up."""

    second_copies = cached_property(second_copies)
    """Loads in training loops that read what is in memory already."""

    # -- what is made again in every turn -----------------------------------------------------------------------------

    constructions = cached_property(constructions)
    """What is built again and again, at most one thing for each statement."""

    reloads = cached_property(reloads)
    """Models and weights that are read again and again."""

    growths = cached_property(growths)
    """What every step adds to a module or an optimizer."""

    @cached_property
    def made_to_grow(self) -> frozenset[Value]:
        """The calls that make what is added in every step."""
        return frozenset(made for growth in self.growths for made in made_for(growth))

    compilations = cached_property(compilations)
    """What is compiled, traced or scripted again and again."""

    # -- the process around it ----------------------------------------------------------------------------------------

    hoards = cached_property(hoards)
    """Objects of data sets that every worker of a loader has for itself in time."""

    open_figures = cached_property(open_figures)
    """Figures that are made in each step or epoch and stay open."""

    recordings = cached_property(recordings)
    """Histories of the allocator that a training fills without end."""

    debuggings = cached_property(debuggings)
    """Debugging modes that are on for a whole run."""

    profilings = cached_property(profilings)
    """Profilers that record a whole training."""

    emptyings = cached_property(emptyings)
    """Calls that empty the allocator's cache or run the collector in every step."""

    # -- costs and repairs --------------------------------------------------------------------------------------------

    cost_of = cost_of
    """What keeping a value costs, wherever it is kept."""

    retention = retention_of
    """What keeping values in a holder costs, None when it is no loss; see :func:`retention_of`."""

    retention_in = retention_in
    """What keeping by a statement costs, None when it is no loss; see :func:`retention_in`."""

    save_for_backward = save_for_backward
    """The repair of a tensor on a context, if there is an automatic one."""

    load_on_host = load_on_host
    """The repair that gives a load its ``map_location``."""

    start_guarding = start_guarding
    """The repair of an idle guard, if there is an automatic one."""

    close_figure = close
    """The repair that closes a figure, if there is an automatic one."""
