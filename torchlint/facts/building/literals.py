"""Constants and displays: lists, tuples, sets, dictionaries and formatted strings."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.attributes_by_name import AttributeBuilder
from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Op, Value
from torchlint.syntax.number_tables import TABLE


class LiteralBuilder(AttributeBuilder):
    """Turns literals into values, with one value for each part of them."""

    def constant(self, node: cst.CSTNode) -> Value:
        return self.make(Op.CONSTANT, (), node)

    def string(self, node: cst.FormattedString | cst.ConcatenatedString) -> Value:
        parts = [p for p in getattr(node, "parts", ()) if isinstance(p, cst.FormattedStringExpression)]
        return self.make(Op.CONSTANT, tuple(self.visit(part.expression) for part in parts), node)

    def sequence(self, node: cst.List | cst.Tuple | cst.Set) -> Value:
        inputs, keys = [], []
        elements = node.elements
        if len(elements) > TABLE and all(_is_number(element.value) for element in elements):
            elements = elements[:TABLE]
        is_set = isinstance(node, cst.Set)
        for position, element in enumerate(elements):
            starred = type(element) is cst.StarredElement
            value = self.visit(element.value)
            inputs.append(self.element(value, None) if starred else value)
            keys.append(None if starred or is_set else position)
        return self.make(Op.CONTAINER, tuple(inputs), node, keys=tuple(keys))

    def dictionary(self, node: cst.Dict) -> Value:
        inputs, keys, spreads = [], [], []
        spread = [element for element in node.elements if not isinstance(element, cst.DictElement)]
        for element in node.elements:
            after = node.elements[node.elements.index(element) + 1 :]
            replaced = frozenset(constant_of(one.key) for one in after if isinstance(one, cst.DictElement))
            value = self.visit(element.value)
            if isinstance(element, cst.DictElement):
                self.visit(element.key)
                keys.append(constant_of(element.key))
            elif value.op is Op.CONTAINER and isinstance(value.syntax, cst.Dict) and None not in value.keys:
                kept = [(k, item) for k, item in zip(value.keys, value.inputs, strict=True) if k not in replaced]
                keys += [key for key, _ in kept]
                inputs += [item for _, item in kept]
                continue
            else:
                # What a spread dict holds may be replaced by what stands after it, so nothing is said of it then.
                is_certain = element is node.elements[-1] and len(spread) == 1
                if not is_certain and None not in replaced:
                    spreads.append((value, replaced))
                value = self.held(value) if is_certain else self.unknown(element)
                keys.append(None)
            inputs.append(value)
        made = self.make(Op.CONTAINER, tuple(inputs), node, keys=tuple(keys))
        if spreads:
            self.graph.spreads[made] = spreads
        return made

    def held(self, mapping: Value) -> Value:
        """Anything that a dictionary holds."""
        return self.make_element(mapping, None, name="values")

    def merged(self, left: Value, right: Value) -> Value | None:
        """``left | right`` where one of them is a dictionary that is written there; None for other operators."""
        written = [side for side in (left, right) if side.op is Op.CONTAINER and isinstance(side.syntax, cst.Dict)]
        if not written:
            return None
        parts = list(zip(left.keys, left.inputs, strict=True)) if left in written else []
        # What the left one holds may be replaced by what is in the right one.
        if right in written:
            replaced = set(right.keys)
            parts = [(key, item) for key, item in parts if key is not None and key not in replaced]
            parts += zip(right.keys, right.inputs, strict=True)
        else:
            parts = [(None, self.held(right)), *parts]
        keys, items = tuple(key for key, _ in parts), tuple(item for _, item in parts)
        return self.make(Op.CONTAINER, items, written[-1].syntax, keys=keys)


def _is_number(node: cst.BaseExpression) -> bool:
    return isinstance(node.expression if isinstance(node, cst.UnaryOperation) else node, cst.Integer | cst.Float)
