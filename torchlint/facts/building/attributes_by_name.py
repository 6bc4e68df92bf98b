"""Attributes that are named by a text: ``getattr``, ``setattr``, ``vars`` and the ``__dict__`` of an object.

``o.__dict__["rows"]`` is ``o.rows``. A name that is computed stands for the attributes that it may be, where the file
says which: a loop over texts, over the object's own attributes, or over the keywords that the callers write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.building.data_classes import DataField
from torchlint.facts.building.iteration import IterationBuilder
from torchlint.facts.building.keyword_setters import KeywordSetter, keyword_setter
from torchlint.facts.building.named_by_callers import NamedByCallers
from torchlint.facts.building.names import OWN, attribute_set_by, bound_targets, constant_of, path_of
from torchlint.facts.building.setting import SETTING, setting_of
from torchlint.facts.values.graph import Class, Kind, Op, Reset, Value
from torchlint.facts.values.parameters import star_of
from torchlint.syntax.tree import dotted, nodes_of, walk

FIELDS = "dataclasses.fields"
"""Gives what is said of each field of a data class: https://docs.python.org/3/library/dataclasses.html."""


class AttributeBuilder(IterationBuilder):
    """Reads and sets attributes by their names.

    Attributes:
        fields: those of each data class.
        named_by_callers: the reads whose name the callers write, each with the names.
    """

    fields: dict[Class, tuple[DataField, ...]]

    @cached_property
    def named_by_callers(self) -> dict[Value, list[str]]:
        """Filled while the graph is built."""
        return {}

    # -- functions that take a name -----------------------------------------------------------------------------------

    def set_attribute(self, node: cst.Call, given: Sequence[Value]) -> bool:
        """``setattr(o, "name", x)``; False where nobody can say what it sets."""
        target, value = attribute_set_by(node), node.args[2].value
        if target is not None:
            self.assign(target, given[2], value)
            return True
        names = self._names(given[0], given[1], node.args[1].value)
        for attribute in names:
            self.keep(Kind.ASSIGN, given[2], value, holder=given[0], attribute=attribute, target=node)
        return bool(names)

    def set_by_method(self, node: cst.Call) -> Value | None:
        """``object.__setattr__(o, "name", x)``; None for other calls, and where nobody can say what it sets."""
        if type(node.func) is not cst.Attribute or node.func.attr.value != SETTING:
            return None
        written = setting_of(node)
        if written is None or (dotted(node.func.value) != "object" and SETTING in self._methods):
            return None  # one of the file's own
        given = [self.visit(one) for one in (written.object, written.name, written.value)]
        return self.unknown(node) if self.set_attribute(written.as_call(), given) else None

    def set_by_keywords(self, node: cst.Call, call: Value) -> None:
        """``self.note(loss=loss)``, by a function that keeps each keyword as the attribute of its object."""
        if not any(isinstance(key, str) for key in call.keys):
            return
        function = self._called(call.callee)
        if function is not None and function not in self._setters:
            self._setters[function] = keyword_setter(function)
        setter = self._setters[function] if function is not None else None
        if setter is None:
            return
        is_of_method = call.callee.op is Op.ATTRIBUTE
        holder = call.callee.inputs[0] if is_of_method else call.argument(setter.holder)
        if holder is None or (is_of_method and setter.holder != 0):
            return
        written = node.func.value if isinstance(node.func, cst.Attribute) else node.args[setter.holder].value
        for argument, key, value in zip(node.args, call.keys[1:], call.arguments, strict=False):
            name = setter.attribute(key) if isinstance(key, str) and argument.keyword is not None else None
            if name is not None:
                target = cst.Attribute(written, cst.Name(name))
                # Without its text: what is detached there is no longer what the function gives back.
                self.keep(Kind.ASSIGN, value, None, holder=holder, attribute=name, target=target)
                self.state.forget(path_of(target) or "")

    def _called(self, callee: Value) -> cst.CSTNode | None:
        """The definition, in this file, of a function or a method of the own object, where it is the only one."""
        if callee.op is Op.FUNCTION and callee.reference is not None:
            return callee.reference.syntax
        if callee.op is Op.ATTRIBUTE and self._is_itself(callee.inputs[0]):
            method = self.function.owner.method(callee.name) if self.function.owner is not None else None
            return method.syntax if method is not None and not method.is_foreign else None
        is_of_module = callee.op is Op.READ and callee.place is not None and callee.place.owner is self.graph.module
        found = self._functions.get(callee.name, []) if is_of_module else []
        return found[0] if len(found) == 1 else None

    @cached_property
    def _setters(self) -> dict[cst.CSTNode, KeywordSetter | None]:
        """Filled while the graph is built."""
        return {}

    @cached_property
    def _functions(self) -> dict[str, list[cst.FunctionDef]]:
        """The functions of the first level of the file, by name."""
        found: dict[str, list[cst.FunctionDef]] = defaultdict(list)
        for node in self._module.body:
            if isinstance(node, cst.FunctionDef):
                found[node.name.value].append(node)
        return found

    @cached_property
    def _methods(self) -> frozenset[str]:
        """The names of all that the file defines."""
        return frozenset(node.name.value for node in nodes_of(cst.FunctionDef, self._module))

    def get_attribute(self, node: cst.Call, base: Value, name: Value) -> Value | None:
        """``getattr(o, "name")``; None where nobody can say what it gives."""
        target = attribute_set_by(node)
        if target is not None:
            return self.visit(target)
        if self._names_methods(base, name):
            return None  # each caller runs the one that it names, in a grad mode of its own
        return self._read_computed(base, name, node.args[1].value, node)

    def _names(self, base: Value, name: Value, written: cst.CSTNode) -> list[str]:
        """What a computed name may be, with the text of it as it is written; of another object what is listed.

        Under that text ``getattr`` finds what ``setattr`` puts there.
        """
        return [self._text(written), *self._names_of(name)] if self._is_itself(base) else self._listed_names(name)

    def _listed_names(self, name: Value) -> list[str]:
        """What a loop goes through that is written there, or at the top of the file: ``for name in ("a", "b")``."""
        source = name.inputs[0] if name.op is Op.ELEMENT else None
        if source is None or source.op is not Op.READ:
            return _listed(source.syntax) if source is not None else []
        stored = [store.value for store in self.graph.stores if store.place == source.place]
        return _listed(stored[0].syntax) if len(stored) == 1 else []

    def _read_computed(self, base: Value, name: Value, written: cst.CSTNode, node: cst.CSTNode) -> Value | None:
        names = self._names(base, name, written)
        found = self._one_of(base, names, node) if names else None
        if found is not None and (named := self._data_among(self._named_by_callers(name))):
            self.named_by_callers[found] = named
        return found

    def as_holder(self, receiver: Value) -> Value:
        """What something is put into: ``getattr(self, name).append(x)`` is any of the lists that the callers name.

        What is read by such a name is another thing for each caller, and stays unknown.
        """
        names = self.named_by_callers.get(receiver, ()) if receiver.op is Op.ATTRIBUTE else ()
        found = [self.make(Op.ATTRIBUTE, receiver.inputs, receiver.syntax, name=one) for one in names]
        return self.make(Op.PHI, (receiver, *found), receiver.syntax) if found else receiver

    def _one_of(self, base: Value, names: Sequence[str], node: cst.CSTNode | None) -> Value:
        found = [self.make(Op.ATTRIBUTE, (base,), node, name=one) for one in dict.fromkeys(names)]
        return found[0] if len(found) == 1 else self.make(Op.PHI, tuple(found), node)

    # -- the dictionary of an object ----------------------------------------------------------------------------------

    def own_attribute(self, node: cst.CSTNode) -> cst.Attribute | None:
        """``o.name`` of ``o.__dict__["name"]`` and ``vars(o)["name"]``; None for other items."""
        owner = self._whose_dictionary(node.value) if type(node) is cst.Subscript else None
        key = _key_of(node) if owner is not None else None
        name = constant_of(key) if key is not None else None
        return cst.Attribute(owner, cst.Name(name)) if owner and isinstance(name, str) and name.isidentifier() else None

    def own_item(self, node: cst.Subscript) -> Value | None:
        """``self.__dict__[name]``, read; None for what is no item of an object's dictionary."""
        meant = self.own_attribute(node)
        if meant is not None:
            return self.visit(meant)
        owner, key = self._whose_dictionary(node.value), _key_of(node)
        if owner is None or key is None:
            return None
        return self._read_computed(self.visit(owner), self.visit(key), key, node)

    def assign(self, target: cst.CSTNode, value: Value, syntax: cst.CSTNode | None) -> None:
        """Bind ``target``, also where it is an item of an object's dictionary."""
        owner = self._whose_dictionary(target.value) if type(target) is cst.Subscript else None
        meant, key = self.own_attribute(target), _key_of(target)
        if owner is not None and meant is None and key is not None:
            base = self.visit(owner)
            names = self._names(base, self.visit(key), key)
            for attribute in names:
                self.keep(Kind.ASSIGN, value, syntax, holder=base, attribute=attribute, target=target)
            if names:
                return
        super().assign(meant or target, value, syntax)

    def update(self, target: cst.CSTNode, value: Value, added: Value | None, syntax: cst.CSTNode | None) -> None:
        """``target`` holds something new, also where it is an item of an object's dictionary."""
        super().update(self.own_attribute(target) or target, value, added, syntax)

    def of_dictionary(self, node: cst.Call) -> Value | None:
        """What a method of an object's dictionary gives and does: ``self.__dict__.setdefault("rows", [])``.

        None for other calls, and for methods that are left to the dictionary itself.
        """
        function = node.func
        owner = self._whose_dictionary(function.value) if isinstance(function, cst.Attribute) else None
        if owner is None or any(argument.star for argument in node.args):
            return None
        assert isinstance(function, cst.Attribute)
        if function.attr.value == "update":
            return self._update_dictionary(node, owner)
        name = constant_of(node.args[0].value) if node.args else None
        is_asked = function.attr.value in ("get", "pop", "setdefault", "__getitem__")
        if not is_asked or not isinstance(name, str) or not name.isidentifier():
            return None
        meant = cst.Attribute(owner, cst.Name(name))
        if len(node.args) < 2:
            found = self.visit(meant)
        else:
            default = self.visit(node.args[1].value)
            if function.attr.value == "setdefault":
                self.graph.beginnings.add(default)  # it is kept where nothing was before
                self.assign(meant, default, node.args[1].value)
                self.state.forget(path_of(meant) or "")
                return self.visit(meant)
            found = self.make(Op.PHI, (self.visit(meant), default), node)
        if function.attr.value == "pop":
            self.graph.resets.append(Reset(self.visit(meant), self.function, self.loop))
            self.state.forget(path_of(meant) or "")
        return found

    def _update_dictionary(self, node: cst.Call, owner: cst.BaseExpression) -> Value | None:
        """``vars(o).update(loss=x)``, ``o.__dict__.update({"loss": x})``."""
        pairs: list[tuple[str, cst.BaseExpression]] = []
        for argument in node.args:
            written = argument.value
            if argument.keyword is not None:
                pairs.append((argument.keyword.value, written))
                continue
            items = written.elements if isinstance(written, cst.Dict) else (None,)
            for item in items:
                name = constant_of(item.key) if isinstance(item, cst.DictElement) else None
                if not isinstance(item, cst.DictElement) or not isinstance(name, str):
                    return None
                pairs.append((name, item.value))
        for name, value in pairs:
            self.assign(cst.Attribute(owner, cst.Name(name)), self.visit(value), value)
        return self.make(Op.CONSTANT, (), node, name="None")

    def element(self, iterable: Value, key: int | None) -> Value:
        """An item of ``iterable``; of ``vars(self).values()`` any attribute of the object."""
        callee = iterable.callee if iterable.op is Op.CALL and len(iterable.inputs) == 1 else None
        is_read = callee is not None and callee.op is Op.ATTRIBUTE and callee.name in ("values", "items")
        if callee is None or not is_read or not self._is_own_dictionary(callee.inputs[0]):
            return super().element(iterable, key)
        base = callee.inputs[0].inputs[0]
        names = self._attributes_of(base)
        if not names:
            return super().element(iterable, key)
        held = self._one_of(base, names, iterable.syntax)
        if callee.name == "values":
            return held
        return self.make(Op.CONTAINER, (self.make(Op.CONSTANT, (), None), held), None, keys=(0, 1))

    def _whose_dictionary(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """``o`` of ``o.__dict__`` and of ``vars(o)``."""
        if type(node) is cst.Attribute and node.attr.value == OWN:
            return node.value
        is_call = type(node) is cst.Call and type(node.func) is cst.Name and node.func.value == "vars"
        if not is_call or len(node.args) != 1 or node.args[0].star or not self._is_built_in("vars"):  # type: ignore[attr-defined]
            return None
        owner: cst.BaseExpression = node.args[0].value  # type: ignore[attr-defined]
        return owner

    def _is_built_in(self, name: str) -> bool:
        return name not in self.imports and name not in self.names.assigned and self.resolve(name) is None

    # -- which names a computed one may be ----------------------------------------------------------------------------

    def _names_of(self, name: Value) -> list[str]:
        """The attributes of this object that a computed name goes through; none where nobody can say."""
        source = name.inputs[0] if name.op is Op.ELEMENT else None
        if name.op is Op.ATTRIBUTE and name.name == "name" and name.inputs[0].op is Op.ELEMENT:
            told = name.inputs[0].inputs[0]
            if told.op is Op.CALL and told.callee.name == FIELDS and self._is_itself(told.arguments[0]):
                return self._attributes_of(told.arguments[0])
        if source is None:
            return []
        if self._is_own_dictionary(source):
            return self._attributes_of(source.inputs[0])
        held = _half_of_pair(name)
        if held is None:
            return _listed(source.syntax) or self._listed_by_class(source)
        own = [one for one in (held.inputs if held.op is Op.PHI else (held,)) if one.op is Op.ATTRIBUTE]
        return [one.name for one in own] if own and self._is_itself(own[0].inputs[0]) else []

    def _listed_by_class(self, source: Value) -> list[str]:
        """``for name in self.columns``, where the body of the class writes them out and no method sets others."""
        owner = self.function.owner
        if owner is None or source.op is not Op.ATTRIBUTE or not self._is_itself(source.inputs[0]):
            return []
        if source.name in self._attributes_of(source.inputs[0]):
            return []
        above = (cls for cls in owner.lineage() if not cls.is_foreign)
        listed = (_listed(value) for cls in above for name, value in _fields_of(cls) if name == source.name)
        return next(listed, [])

    def _named_by_callers(self, name: Value) -> list[str]:
        """The texts that callers pass for a name, or the keywords that a loop over ``**named`` goes through."""
        if name.op is Op.PARAMETER:
            return self._callers.texts_for(name)
        held = _half_of_pair(name)
        is_item = held is not None and held.op is Op.ELEMENT and held.name == "values"
        source = held.inputs[0] if held is not None and is_item else name.inputs[0] if name.op is Op.ELEMENT else None
        is_gathered = source is not None and source.op is Op.PARAMETER and star_of(source) == "**"
        return self._callers.keywords_of(source.function) if source is not None and is_gathered else []

    def _names_methods(self, base: Value, name: Value) -> bool:
        """Whether callers name a method of this object: ``self.run("score", x)``."""
        if name.op is not Op.PARAMETER or not self._is_itself(base):
            return False
        return len(self._data_among(texts := self._named_by_callers(name))) < len(texts)

    def _data_among(self, names: Sequence[str]) -> list[str]:
        """The names without those of methods."""
        owner = self.function.owner
        return [name for name in names if owner is None or owner.method(name) is None]

    @cached_property
    def _callers(self) -> NamedByCallers:
        return NamedByCallers(self._module)

    def _attributes_of(self, itself: Value) -> list[str]:
        """The attributes that the class of this object gives it, as its text and those of its bases say."""
        owner = self.function.owner
        return list(dict.fromkeys(name for cls in owner.lineage() for name in self._given_by(cls))) if owner else []

    def _given_by(self, cls: Class) -> list[str]:
        if cls.is_foreign:
            return []
        fields = [field.name for field in self.fields.get(cls, ())]
        return [*fields, *(name for node in cls.syntax.body.body for name in _set_on_itself(node))]

    def _is_own_dictionary(self, value: Value) -> bool:
        return value.op is Op.ATTRIBUTE and value.name == OWN and self._is_itself(value.inputs[0])

    def _is_itself(self, base: Value) -> bool:
        """Whether an object is the one whose method this is: a name that it computes is one of its own, as written."""
        return self.function.owner is not None and base in self.function.parameters[:1]

    def _text(self, node: cst.CSTNode) -> str:
        module = self.graph.module.syntax
        assert isinstance(module, cst.Module)
        return module.code_for_node(node)


def _set_on_itself(method: cst.CSTNode) -> Iterator[str]:
    """The attributes that a method sets on its own object."""
    if isinstance(method, cst.FunctionDef) and method.params.params:
        itself = method.params.params[0].name.value
        for target in (target for node in walk(method.body) for target in bound_targets(node)):
            if type(target) is cst.Attribute and dotted(target.value) == itself:
                yield target.attr.value


def _fields_of(cls: Class) -> Iterator[tuple[str, cst.BaseExpression]]:
    """What the body of a class binds, each with what it is bound to."""
    for line in cls.syntax.body.body:
        for node in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(node, cst.Assign):
                yield from ((dotted(target.target) or "", node.value) for target in node.targets)
            elif isinstance(node, cst.AnnAssign) and node.value is not None:
                yield dotted(node.target) or "", node.value


def _half_of_pair(name: Value) -> Value | None:
    """What lies under a name in ``for name, value in values.items()``: the other half of the pair."""
    pair = name.inputs[0] if name.op is Op.ELEMENT and name.keys == (0,) else None
    is_pair = pair is not None and pair.op is Op.CONTAINER and pair.syntax is None and len(pair.inputs) == 2
    return pair.inputs[1] if pair is not None and is_pair else None


def _key_of(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The key of an item that has one."""
    slices = node.slice if isinstance(node, cst.Subscript) else ()
    return slices[0].slice.value if len(slices) == 1 and isinstance(slices[0].slice, cst.Index) else None


def _listed(written: cst.CSTNode | None) -> list[str]:
    """The names that a loop goes through, where they are written out: ``for name in ("low", "high")``."""
    if not isinstance(written, cst.Tuple | cst.List):
        return []
    constants = [constant_of(element.value) for element in written.elements]
    names = [one for one in constants if isinstance(one, str) and one.isidentifier()]
    return names if len(names) == len(constants) else []
