"""Functions of other files that keep the models which they give: whoever gives one up frees nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NETS = """
    import weakref
    from torch import nn

    KNOWN = {{"linear": lambda size: nn.Linear(size, size)}}
    LIVE = {made}

    class Pool:
        def __init__(self):
            self.rows = []

        def put(self, net):
            self.rows.append(net)

    POOL = Pool()

    def build(name, size=1024):
        net = {net}
        {kept}
        return net

    def names():
        return {told}
"""

RUN = """
    import torch
    from nets import build, names
    {imports}

    def run(loader):
        encoder = build("linear").to("cuda").eval()
        with torch.no_grad():
            codes = torch.cat([encoder(x.to("cuda")).cpu() for x in loader])
        {before}
        del encoder
        {asked}
        decoder = build("linear").to("cuda")
        optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
        for code in codes.split(64):
            decoder(code.to("cuda")).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        print(names())
"""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, True),
        ({"net": "KNOWN[name](size)"}, True),
        ({"made": "[]", "kept": "LIVE.append(net)", "told": "len(LIVE)"}, True),
        ({"kept": "note(name, net)", "told": "sorted(LIVE)\n\ndef note(name, net):\n    LIVE[name] = net"}, True),
        ({"kept": "POOL.put(net)"}, True),
        ({"kept": "Pool().put(net)"}, False),
        ({"kept": "POOL.put(net)", "imports": "from nets import POOL", "before": "POOL.rows.clear()"}, False),
        ({"kept": "pass"}, False),
        ({"kept": "LIVE[name] = size"}, False),
        ({"kept": "if size > 4096: LIVE[name] = net"}, False),
        ({"made": "weakref.WeakValueDictionary()"}, False),
        ({"told": "LIVE['linear']"}, False),
        ({"told": "list(LIVE.values())"}, False),
        ({"told": "sorted(LIVE)\n\ndef forget(name):\n    del LIVE[name]"}, False),
        ({"net": "LIVE[name] if name in LIVE else nn.Linear(size, size)"}, False),
        ({"imports": "import nets", "before": "nets.LIVE.clear()"}, False),
        ({"asked": "pass"}, False),
    ],
)
def test_a_factory_of_another_file_keeps_what_it_gives(tmp_path: Path, changed: dict[str, str], told: bool) -> None:
    written = {
        "made": "{}",
        "net": "nn.Linear(size, size)",
        "kept": "LIVE[name] = net",
        "told": "sorted(LIVE)",
        "imports": "",
        "before": "pass",
        "asked": "torch.cuda.empty_cache()",
        **{key: text.replace("\n", "\n" + " " * 4) for key, text in changed.items()},
    }
    files = {"nets.py": NETS.format(**written), "run.py": RUN.format(**written)}
    found = [one for one in Project(tmp_path, files).found() if "TLK408" in one]
    assert found == ["run.py: TLK408 warning"] * told
