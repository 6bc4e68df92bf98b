"""Bare trees: libcst's trees of code without white space, made of the standard library's.

libcst's parser makes an object of every blank; that is most of what it does, and nobody who only reads code asks for
one. Python parses the same text in an eighth of the time, and its tree is the same code: turned into libcst's nodes it
costs a fifth. A bare tree can be walked and read, and its expressions asked for their text; what only white space, a
position or an edit would answer raises AttributeError, until the tree is filled in from libcst's own.
"""

from torchlint.syntax.bare.completion import complete
from torchlint.syntax.bare.statements import BareModule, bare_module

__all__ = ["BareModule", "bare_module", "complete"]
