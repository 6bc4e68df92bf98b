"""The table: what frameworks promise, each row with the documentation that it comes from.

Where a framework's documentation does not say it, the source is the line of its code that does, at a release. A row is
true of the released framework; where it changed, ``framework`` names the versions. A program that is written for an
older version uses the names of that version, so that a row for old hooks is harmless in new programs.

``tests/contract_programs.py`` has a small program for each row in which it makes a difference.
"""

from __future__ import annotations

from torchlint.frameworks.fastai import FASTAI
from torchlint.frameworks.hugging_face import HUGGING_FACE
from torchlint.frameworks.lightning import LIGHTNING
from torchlint.frameworks.recording import RECORDING
from torchlint.frameworks.searching import SEARCHING
from torchlint.frameworks.serving import SERVING
from torchlint.frameworks.training import TRAINING

ROWS = (*LIGHTNING, *HUGGING_FACE, *FASTAI, *TRAINING, *RECORDING, *SERVING, *SEARCHING)
