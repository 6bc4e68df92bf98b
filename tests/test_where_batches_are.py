"""Where the batches of a pass are: what helpers, iterators and libraries that are not seen say of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

MOVES = """
    import torch

    def moved(batch, device):
        if isinstance(batch, dict):
            return {name: moved(part, device) for name, part in batch.items()}
        if isinstance(batch, (list, tuple)):
            return [moved(part, device) for part in batch]
        return batch.to(device)

    def moved_if_tensor(batch, device):
        if torch.is_tensor(batch):
            return batch.to(device)
        if isinstance(batch, dict):
            return {name: moved_if_tensor(part, device) for name, part in batch.items()}
        return batch

    def kept(batch, device):
        return [part.pin_memory() for part in batch]

    class Feed:
        def __init__(self, loader, device):
            self.loader, self.device = loader, device

        def __iter__(self):
            for batch in self.loader:
                yield moved(batch, self.device)

    class HostFeed(Feed):
        def __iter__(self):
            for batch in self.loader:
                yield kept(batch, self.device)
"""

EVALUATE = """
    import torch
    from torch import nn
    from library.batches import handed
    from moves import Feed, HostFeed, kept, moved, moved_if_tensor

    @torch.no_grad()
    def scores(net: nn.Module, loader, device):
        outs = []
        for batch in {loop}:
            batch = {batch}
            outs{put}
        return {end}
"""

HOST, DEVICE = "TLK401 warning", "TLK401 note"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"batch": "moved(batch, device)"}, DEVICE),
        ({"batch": "moved_if_tensor(batch, device)"}, DEVICE),
        ({"batch": "kept(batch, device)"}, None),
        ({"batch": "moved(batch, 'cpu')"}, None),
        ({"loop": "Feed(loader, device)"}, DEVICE),
        ({"loop": "Feed(loader, device)", "put": " += [net(batch['image']).cpu()]"}, None),
        ({"loop": "HostFeed(loader, device)"}, None),
        ({"batch": "handed(batch, net.device)"}, DEVICE),
        ({"batch": "handed(batch, torch.device('cuda'))"}, DEVICE),
        ({"batch": "handed(batch, torch.device('cpu'))"}, None),
        ({"batch": "handed(batch, loader.sampler)"}, None),
        ({"batch": "[one.cuda() if torch.cuda.is_available() else one for one in batch]"}, DEVICE),
        ({"batch": "[one.cuda() if len(batch) > 3 else batch[0] for one in batch]"}, None),
        ({"batch": "moved(batch, device)", "end": "torch.cat(outs).cpu().numpy()"}, HOST),
        (
            {"batch": "moved(batch, device)", "put": ".append(net(batch['image']).sum().item())", "end": "sum(outs)"},
            None,
        ),
    ],
)
def test_outputs_of_batches_that_were_moved(tmp_path: Path, changed: dict[str, str], told: str | None) -> None:
    usual = {"loop": "loader", "batch": "batch", "put": ".append(net(batch['image']))", "end": "torch.cat(outs)"}
    files = {"moves.py": MOVES, "evaluate.py": EVALUATE.format(**{**usual, **changed})}
    found = [one for one in Project(tmp_path, files).found() if "TLK401" in one]
    assert found == ([] if told is None else [f"evaluate.py: {told}"])


PASS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Pass:
        def __init__(self, network: nn.Module, rows, use_cuda):
            self.network, self.use_cuda = network, use_cuda
            self.loader = DataLoader(rows, batch_size=64)

        def __iter__(self):
            return map(self.{way}, iter(self.loader))

        def put(self, parts):
            return [part.cuda() if self.use_cuda else part for part in parts]

        def keep(self, parts):
            return [part.float() for part in parts]

        @torch.no_grad()
        def codes(self):
            codes = []
            for picture, label in self:
                codes += [self.network.encode(picture)[0]]
            return torch.cat(codes)
"""


@pytest.mark.parametrize(("way", "is_told"), [("put", True), ("keep", False)])
def test_an_object_that_goes_over_its_own_batches(tmp_path: Path, way: str, is_told: bool) -> None:
    found = Project(tmp_path, {"passing.py": PASS.format(way=way)}).found()
    assert [one for one in found if "TLK401" in one] == (["passing.py: TLK401 note"] if is_told else [])


SCORING = """
    import torch

    def scores(scorer, loader):
        rows = []
        for picture, label in loader:
            rows += [scorer.score({given})]
        return torch.cat(rows){end}
"""


@pytest.mark.parametrize(
    ("given", "end", "is_told"),
    [
        ("picture.cuda()", ".cpu()", True),
        ("picture", ".cpu()", False),
        ("picture.cuda().numel()", "", False),
        ("picture.cuda()", ".numpy()", False),
    ],
)
def test_who_gives_an_object_what_was_moved_makes_a_pass(tmp_path: Path, given: str, end: str, is_told: bool) -> None:
    found = Project(tmp_path, {"scoring.py": SCORING.format(given=given, end=end)}).found()
    assert [one for one in found if "TLK401" in one] == (["scoring.py: TLK401 warning"] if is_told else [])
