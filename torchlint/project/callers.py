"""How other files of a run call a function or a class: in a loop, once, with batches, with which arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchlint.project.batches import batches_passed
from torchlint.project.called_names import OF_OBJECTS, called_names
from torchlint.project.given import given_arguments, gives_another, sets_attribute
from torchlint.project.given_files import GivenFiles
from torchlint.project.loaders import LOADER, NUM_WORKERS, argument, reads_with_workers
from torchlint.project.loops import called_in_loops
from torchlint.project.made_anew import MadeAnew
from torchlint.project.numbers import Numbers
from torchlint.project.single_calls import Parameter, PlacedCall, calls_of

__all__ = ["Callers"]

CALL_STEPS = 3
"""So many functions up it is asked whether each is called once."""


class Callers:
    """The calls in the files of a run, by the name that is called."""

    def __init__(self, files: GivenFiles, made_anew: MadeAnew, numbers: Numbers) -> None:
        """Look through ``files`` when first asked; ``made_anew`` says what is new with each call, ``numbers`` more."""
        self._files, self._made_anew, self._numbers = files, made_anew, numbers
        self._called_in_loops: dict[str, dict[str, list[tuple[int, ...]]]] = {}
        self._batches_passed: dict[tuple[str, str], frozenset[int | str]] = {}

    def loaded_in(self, path: str, name: str, *, or_here: bool = False) -> str | None:
        """The first of the other files in which workers read a data set ``name``, a class of the file ``path``.

        Be it by a function of a third file that makes the loader; ``or_here``: or that file itself.
        """
        with self._files.asked():
            for other in self._files.others(path) + ([path] if or_here else []):
                if name in self._files.text_of(other) and (other == path or self._files.imports(other, path)):
                    known = self._with_loaders(other)
                    tree = self._files.tree_of(other) if known else None
                    trees = [one for one in known.values() if one is not tree]
                    if tree is not None and reads_with_workers(tree, name, trees, self._idle(known)):
                        return other
        return None

    def _with_loaders(self, path: str) -> dict[str, ast.Module]:
        """What a file and those that it reaches say, as far as they make loaders."""
        reached = (one for one in sorted(self._files.reached_by(path)) if LOADER in self._files.text_of(one))
        return {one: tree for one in reached if (tree := self._files.tree_of(one)) is not None}

    def _idle(self, trees: Mapping[str, ast.Module]) -> list[ast.Call]:
        """The calls that make loaders without workers, as the settings of another file may say."""
        placed = ((path, one) for path, tree in trees.items() for one in calls_of(tree, LOADER))
        asked = ((path, one, argument(one.call, *NUM_WORKERS)) for path, one in placed)
        return [one.call for path, one, workers in asked if workers and not self._numbers.at(path, one.where, workers)]

    def repeats(self, path: str, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        """Whether another file that reaches ``path``, and no other definition of ``name``, calls that in a loop.

        In that loop, and those in it, none of the names of ``without`` may be called; ``is_open``: it has to be a
        ``while``. ``Stepper()`` is what is called where the objects of a class are.
        """
        with self._files.asked():
            others = self._files.calling_others(path, name.removesuffix(OF_OBJECTS))
            elsewhere = self._files.defining_others(path, name) if others else set()
            elsewhere -= self._files.bases_of(path) if elsewhere else set()  # what they define is overridden
            return any(
                self._files.works_on(other, path)
                and self._files.reached_by(other).isdisjoint(elsewhere)
                and self._is_in_loop(other, name, without, is_open=is_open)
                for other in others
            )

    def _is_in_loop(self, path: str, name: str, without: Sequence[str], *, is_open: bool) -> bool:
        if path not in self._called_in_loops:
            self._called_in_loops[path] = called_in_loops(self._files.tree_of(path) or ast.Module([], []))
        called = self._called_in_loops[path]
        taken = {loop for one in without for loops in called.get(one, ()) for loop in loops}
        tree = self._files.tree_of(path) if name.endswith(OF_OBJECTS) else None
        names = called_names(tree, name) if tree is not None else {name}
        innermost = (loops[-1] for one in names for loops in called.get(one, ()))
        return any(loop not in taken and (loop < 0 or not is_open) for loop in innermost)

    def pass_batches(self, path: str, name: str) -> frozenset[int | str]:
        """The arguments, by position or keyword, that are batches in all calls of ``name``, a function of ``path``.

        ``Stepper()`` is what is called where the objects of a class are.

        Of files that reach ``path``; nothing where one of these reaches another definition of the name.
        """
        with self._files.asked():
            if (path, name) not in self._batches_passed:
                self._batches_passed[path, name] = self._pass_batches(path, name)
            return self._batches_passed[path, name]

    def _pass_batches(self, path: str, name: str) -> frozenset[int | str]:
        calling = self._files.calling_others(path, name.removesuffix(OF_OBJECTS))
        others = [one for one in calling if path in self._files.reached_by(one)]
        elsewhere = self._files.defining_others(path, name) if others else ()
        if not all(self._files.reached_by(other).isdisjoint(elsewhere) for other in others):
            return frozenset()
        trees = [tree for other in others if (tree := self._files.tree_of(other)) is not None]
        passed = [found for tree in trees if (found := batches_passed(tree, name)) is not None]
        return frozenset.intersection(*passed) if passed else frozenset()

    def given_arguments(self, path: str, name: str) -> frozenset[int | str] | None:
        """The arguments, by position or keyword, that any call of ``name`` of the file ``path`` gives in other files.

        None where one of those that reach ``path`` may give others.
        """
        with self._files.asked():
            naming = self._files.mentioning_others(path, name)
            trees = [self._files.tree_of(other) for other in naming if path in self._files.reached_by(other)]
            found = [None if tree is None else given_arguments(tree, name) for tree in trees]
            known = [given for given in found if given is not None]
            return frozenset().union(*known) if len(known) == len(found) else None

    def leave_constant(self, path: str, cls: str, attribute: str, parameter: tuple[int, str], constant: object) -> bool:
        """Whether no file makes the ``attribute`` of objects of ``cls``, of the file ``path``, anything but a constant.

        ``parameter``: which decides on it, by position, from 0 and without ``self``, and name; -1 where none does.
        """
        with self._files.asked():
            texts = map(self._files.text_of, (*self._files.mentioning_others(path, attribute), path))
            if any(sets_attribute(text, attribute) for text in texts):
                return False
            callers = (*self._files.mentioning_others(path, cls), path) if parameter[0] >= 0 else ()
            trees = map(self._files.tree_of, callers)
            return not any(tree is None or gives_another(tree, cls, parameter, constant) for tree in trees)

    def call_once(self, path: str, name: str, parameters: Sequence[Parameter] = ()) -> bool:
        """Whether other files that import ``path`` call ``name``, and each of them once as a program runs.

        Or once for an object: for the one that is being made there, or for one that was just made in the same function
        and is given for all of the ``parameters``.
        """
        with self._files.asked():
            return self._are_single(path, name, tuple(parameters), CALL_STEPS, is_own=False)

    def _are_single(self, path: str, name: str, parameters: tuple[Parameter, ...], steps: int, *, is_own: bool) -> bool:
        """See :meth:`call_once`; ``is_own``: the calls of the file itself count as well."""
        users = [
            one
            for one in sorted(self._files.calling.get(name, ()))
            if (is_own if one == path else self._files.imports(one, path))
        ]
        trees = [(user, tree) for user in users if (tree := self._files.tree_of(user)) is not None]
        calls = [(user, call) for user, tree in trees for call in calls_of(tree, name)]
        return bool(calls) and all(self._is_single(user, call, parameters, steps) for user, call in calls)

    def _is_single(self, user: str, call: PlacedCall, parameters: tuple[Parameter, ...], steps: int) -> bool:
        if call.is_once or call.is_given_itself():
            return True
        if parameters and all(self._made_anew.is_new(user, call, call.given(one)) for one in parameters):
            return True
        around = call.runs_with if steps else ""
        return around != "" and self._are_single(user, around, call.handed_on(parameters), steps - 1, is_own=True)
