"""What other files of a run make of what a file keeps and gives: with the tensor, or with its numbers alone."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cached_property

from torchlint.project.called_names import OF_OBJECTS
from torchlint.project.differentiated import differentiates_result, may_differentiate
from torchlint.project.excerpt import empties, sets_anew
from torchlint.project.given_files import GivenFiles
from torchlint.project.trained import may_train, trains_on_attribute
from torchlint.project.training_beside import trains_beside
from torchlint.project.uses import BY_NAME, cuts_attribute, lets_go, uses_attribute, uses_result

__all__ = ["Readers"]

_READING_BY_NAME = re.compile(rf"\b({'|'.join(sorted(BY_NAME))})\(")


class Readers:
    """Answers it for the attributes and functions of one file after the other, by their names."""

    def __init__(self, files: GivenFiles) -> None:
        """Look through ``files`` when first asked."""
        self._files = files
        self._reached: dict[str, bool] = {}
        self._mentioned_below: dict[tuple[str, str], bool] = {}

    def never_mention(self, path: str, name: str) -> bool:
        """Whether other files of the run reach ``path``, and ``name`` stands in none of those."""
        with self._files.asked():
            return self._is_reached(path) and not self.mention(path, name)

    def _is_reached(self, path: str) -> bool:
        if path not in self._reached:
            self._reached[path] = any(self._files.works_on(other, path) for other in self._files.others(path))
        return self._reached[path]

    @cached_property
    def _training(self) -> frozenset[str]:
        """The files of the run that may train."""
        return frozenset(one for one in self._files.given if may_train(self._files.text_of(one)))

    def mention(self, path: str, name: str) -> bool:
        """Whether ``name`` stands in another file of the run that reaches ``path``."""
        with self._files.asked():
            mentioning = self._files.mentioning_others(path, name)
            return any(self._files.works_on(other, path) for other in mentioning)

    def mention_below(self, path: str, name: str) -> bool:
        """Whether an attribute of that name, or its text, stands in another file that ``path`` imports, however far."""
        with self._files.asked():
            if (path, name) not in self._mentioned_below:  # each function that is decorated asks
                self._mentioned_below[path, name] = self._mention_below(path, name)
            return self._mentioned_below[path, name]

    def _mention_below(self, path: str, name: str) -> bool:
        word = re.compile(rf"\.{re.escape(name)}\b|['\"]{re.escape(name)}['\"]")
        below = self._files.mentioning_among(self._files.reached_by(path) - {path}, name)
        return any(word.search(self._files.text_of(one)) is not None for one in below)

    def train_on_result(self, path: str, name: str) -> bool:
        """Whether a file that imports ``path`` runs a backward over what its function ``name`` returns.

        ``Criterion()`` is what is called where the objects of a class are.
        """
        with self._files.asked():
            calling = self._files.calling_others(path, name.removesuffix(OF_OBJECTS))
            others = (one for one in calling if self._files.imports(one, path))
            trees = (self._files.tree_of(other) for other in others if may_differentiate(self._files.text_of(other)))
            return any(tree is not None and differentiates_result(tree, name) for tree in trees)

    def train_through(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` may run a backward over what it computes of such an attribute."""
        with self._files.asked():
            mentioning = self._files.mentioning_others(path, attribute)
            trainers = [one for one in mentioning if one in self._training]
            trees = (self._files.tree_of(one) for one in trainers if self._files.works_on(one, path))
            return any(tree is None or trains_on_attribute(tree, attribute) for tree in trees)

    def only_read(self, path: str, name: str) -> bool:
        """Whether a file that reaches ``path`` calls what has this name, and nobody goes on with more than numbers."""
        with self._files.asked():
            if not any(self._files.works_on(other, path) for other in self._files.calling_others(path, name)):
                return False
            trees = map(self._files.tree_of, self._files.mentioning_others(path, name))
            return not any(tree is None or uses_result(tree, name) for tree in trees)

    def trains_without(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` trains, and no other file uses an ``attribute`` of any object.

        Of a file that does not reach ``path``, directly or through what it imports, only that name counts.
        """
        with self._files.asked():
            mentioning = frozenset(self._files.mentioning_others(path, attribute))
            return self._are_trained(path) and not any(
                self._asks(other, path, mentioning) and self._uses(other, attribute)
                for other in self._files.others(path)
            )

    def train(self, path: str) -> bool:
        """Whether a file that reaches ``path`` trains."""
        with self._files.asked():
            return self._are_trained(path)

    def _are_trained(self, path: str) -> bool:
        return any(other != path and self._files.works_on(other, path) for other in self._training)

    def train_beside(self, path: str, cls: str, ending: str) -> bool:
        """Whether a file that reaches ``path`` trains while it has an object of its class ``cls``.

        It is made before, and the method ``ending`` is called after that at best.
        """
        with self._files.asked():
            making = [one for one in self._files.mentioning_others(path, cls) if self._files.works_on(one, path)]
            trees = (self._files.tree_of(one) for one in making if may_train(self._files.text_of(one)))
            return any(tree is not None and trains_beside(tree, cls, ending) for tree in trees)

    def train_on(self, path: str, attribute: str, *, by_bases: bool = True) -> bool:
        """Whether a file that reaches ``path`` trains, and goes on with an ``attribute`` of some object.

        ``by_bases``: or one that has a base of a class of ``path``.

        One that Python asks for, ``__call__``, is written nowhere: whoever trains may go on with it.
        """
        is_written = not attribute.startswith("__")
        with self._files.asked():
            mentioning = frozenset(self._files.mentioning_others(path, attribute))
            return any(
                other != path
                and (not is_written or f".{attribute}" in self._files.text_of(other))
                and (self._files.works_on(other, path) if by_bases else path in self._files.reached_by(other))
                and (not is_written or (self._asks(other, path, mentioning) and self._uses(other, attribute)))
                for other in self._training
            ) or (is_written and any(self._trains_beside(other, path, attribute) for other in mentioning))

    def _trains_beside(self, other: str, path: str, attribute: str) -> bool:
        """Whether a file trains on such an attribute of an object that it may be given by who imports both files."""
        if other not in self._training or self._files.works_on(other, path):
            return False
        read = re.compile(rf"(?<!\bself)\.{re.escape(attribute)}\b(?![ \t]*\()")
        if not read.search(self._files.text_of(other)):
            return False
        if not any(other in self._files.reached_by(one) for one in self._files.importers(path)):
            return False
        tree = self._files.tree_of(other)
        return tree is None or trains_on_attribute(tree, attribute)

    def used_below(self, path: str, attribute: str) -> bool:
        """Whether a file that ``path`` imports, be it over others, goes on with such an attribute of what it is given.

        Of its own objects only one that has a base of the classes of ``path``: they are objects of these as well.
        """
        below = sorted(self._files.reached_by(path) - {path})
        bases = self._files.bases_of(path)
        mentioning = self._files.mentioning_among(below, attribute)
        using = [one for one in mentioning if re.search(rf"\.{re.escape(attribute)}\b", self._files.text_of(one))]
        trees = ((one, self._files.tree_of(one)) for one in using)
        return any(tree is None or uses_attribute(tree, attribute, of_own=one in bases) for one, tree in trees)

    def look_at(self, path: str, attribute: str) -> bool:
        """Whether other files of the run read such an attribute of objects, and all of them only its numbers."""
        with self._files.asked():
            mentioning = self._files.mentioning_others(path, attribute)
            trees = [self._files.tree_of(one) for one in mentioning]
            known = [tree for tree in trees if tree is not None and not uses_attribute(tree, attribute)]
            return len(known) == len(trees) and any(cuts_attribute(tree, attribute) for tree in known)

    def let_go(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` takes away what objects have as ``attribute``: it sets it to None.

        Of its own objects only one that has a class above, or below, one of ``path``.
        """
        with self._files.asked():
            mentioning = self._files.mentioning_others(path, attribute)
            trees = [(one, self._files.tree_of(one)) for one in mentioning if self._files.works_on(one, path)]
            related = {one for one, _ in trees if self._files.are_related(one, path)}
            return any(tree is None or lets_go(tree, attribute, of_own=one in related) for one, tree in trees)

    def empty(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` empties what objects have as ``attribute``, or sets it anew."""
        with self._files.asked():
            mentioning = self._files.mentioning_others(path, attribute)
            others = ((other, self._files.text_of(other)) for other in mentioning)
            emptying = (other for other, text in others if empties(attribute, text) or sets_anew(text, attribute))
            return any(self._files.works_on(other, path) for other in emptying)

    def _asks(self, other: str, path: str, mentioning: Set[str]) -> bool:
        """Whether a file says a name, as those ``mentioning`` it do, or may ask objects of ``path`` for any name."""
        return other in mentioning or (other in self._reading_by_name and self._files.works_on(other, path))

    @cached_property
    def _reading_by_name(self) -> frozenset[str]:
        """The files of the run that read attributes by names which they compute."""
        return frozenset(one for one in self._files.given if _READING_BY_NAME.search(self._files.text_of(one)))

    def _uses(self, other: str, attribute: str) -> bool:
        tree = self._files.tree_of(other)
        return tree is None or uses_attribute(tree, attribute)
