"""What stands in a forward is of one step: its loops, what it is given, what it makes."""

from __future__ import annotations

from textwrap import dedent

import pytest
from programs import Program

from torchlint import check_source
from torchlint.config import Settings
from torchlint.facts.autograd.left_to_callers import LeftToCallers


def found(text: str) -> list[str]:
    return [one.code for one in check_source(dedent(text), settings=Settings(notes=True))]


LAYER = """
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.norm, self.bias, self.depth = nn.LayerNorm(8), nn.Parameter(torch.zeros(8)), depth
            self.tables = nn.ModuleList(nn.Embedding(4, 8) for _ in range(depth))
            self.dense, self.cell = nn.Linear(8, 8), nn.GRUCell(8, 8)

        def forward(self, batch):
            {body}
            return {result}
"""

DEMO = """
    if __name__ == "__main__":
        print(Layer(3)(torch.zeros(2, 8)))
"""


def layer(body: str, result: str = "batch") -> str:
    return dedent(LAYER).replace("{result}", result).replace("{body}", dedent(body).strip().replace("\n", "\n        "))


@pytest.mark.parametrize(
    "body",
    [
        "batch.x = self.norm(batch.x)",
        "batch = self.dense(batch)\nif not isinstance(batch, torch.Tensor):\n    batch.x = self.norm(batch.x)",
        "for _ in range(self.depth):\n    batch.data['h'] = self.dense(batch.data['h'])",
        "batch.data['h'] = self.dense(batch.data['e']) * batch.data['norm']",
        "batch.data['h'] = batch.data['h'] + self.dense(batch.data['h'])",
        "for kind in batch.kinds:\n    batch.nodes[kind].data[kind] = self.dense(batch.nodes[kind].data['x'])",
    ],
)
def test_what_a_forward_writes_on_what_it_is_given_is_its_callers(body: str) -> None:
    assert not found(layer(body))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("total = 0\nfor i in range(batch.shape[1]):\n    total += self.tables[i](batch[:, i])", "total"),
        ("for i in range(self.depth):\n    batch = self.dense(batch)\n    batch = batch + self.bias", "batch"),
        ("rows = []\nfor i in range(self.depth):\n    rows.append(self.dense(batch))", "torch.cat(rows)"),
        ("rows = [self.tables[i](batch) for i in range(self.depth)]", "rows"),
        ("best = torch.zeros(9) - 1\nfor i in range(len(batch)):\n    best[i] = self.dense(batch).max()", "best"),
    ],
)
@pytest.mark.parametrize("demo", ["", DEMO])
def test_loops_of_a_forward_are_no_steps(body: str, result: str, demo: str) -> None:
    assert not set(found(layer(body, result) + dedent(demo))) & {"TLK101", "TLK102", "TLK103", "TLK104", "TLK105"}


def test_a_function_that_calls_itself_may_have_other_callers() -> None:
    assert not found(
        """
        from torch import nn

        def embed(model: nn.Module, columns, apart=True):
            if apart:
                return [model(columns[0])["e"], *embed(model, columns[1:], apart=False)]
            return [model(column)["e"] for column in columns]
        """
    )


def test_what_stays_on_the_module_is_told_as_ever() -> None:
    assert "TLK102" in found(layer("for i in range(self.depth):\n    self.seen.append(self.dense(batch))"))


FLOWS = """
    import torch
    from torch import nn

    class Flows(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.depth, self.flows = depth, nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))

        def infer(self, noise):
            rows = noise.new_zeros(self.depth, 8)
            for k in reversed(range(self.depth)):
                noise = noise - self.flows[k](noise)
                rows[k] = noise[0]
            return noise, rows
"""


def test_a_loop_that_picks_layers_by_their_number_walks_them() -> None:
    assert not set(found(FLOWS)) & {"TLK101", "TLK103", "TLK104", "TLK105"}


CACHES = """
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = nn.Linear(8, 8)

        def keep(self, cache, x):
            cache["keys"] = self.keys(x)
            cache["all"].append(self.keys(x))

        def step(self, x, cache=None):
            if cache is not None:
                self.keep(cache, x)
            return x
"""


def test_what_the_methods_of_a_module_are_given_is_their_callers() -> None:
    assert not set(found(CACHES)) & {"TLK102", "TLK105"}


@pytest.mark.parametrize(
    ("each", "codes"),
    [
        ("heads.weight.data[step] = heads(x).mean(0)", set()),
        ("rows.append(net if step else net(x))", set()),
        ("rows.append(net(x))", {"TLK102"}),
    ],
)
def test_what_is_put_where_no_graph_can_be(each: str, codes: set[str]) -> None:
    program = f"""
        import torch
        from torch import nn

        def collect(loader):
            net, heads, rows = nn.Linear(8, 8), nn.Linear(8, 8), []
            for step, x in enumerate(torch.utils.data.DataLoader(loader)):
                {each}
            print(len(rows))
    """
    assert set(found(program)) & {"TLK102", "TLK105"} == codes


def test_a_cast_of_a_parameter_adds_nothing() -> None:
    body = "if self.norm.weight.dtype != torch.float:\n    self.norm.weight = self.norm.weight.float()"
    assert "TLK103" not in found(layer(body))


def test_what_is_put_into_the_result_is_its_callers_to_judge() -> None:
    stitch = """
        import torch
        from torch import nn

        def stitch(net: nn.Module, windows, size):
            net.eval()
            out = torch.zeros(size)
            for at, window in torch.utils.data.DataLoader(windows):
                out[at] = net(window).sum()
            return {result}
    """
    assert "TLK105" not in found(stitch.format(result="out"))
    assert "TLK105" in found(stitch.format(result="out.max().item()"))


@pytest.mark.parametrize("name", ["test_sums", "check_sums"])
def test_what_a_unit_test_keeps_is_gone_with_it(name: str) -> None:
    program = f"""
        import torch
        from torch import nn

        def {name}(tmp_path):
            net, kept, total = nn.Linear(8, 8), [], 0
            for i in range(len(tmp_path)):
                out = net(torch.ones(i, 8)).sum()
                kept.append(out)
                total += out
            assert total > 0
    """
    assert bool({"TLK101", "TLK102"} & set(found(program))) is (name == "check_sums")


PROCESSOR = """
class Attention(nn.Module):
    def __init__(self, processor):
        super().__init__()
        self.query, self.processor = nn.Linear(8, 8), processor or Plain()
    def forward(self, x):
        return {call}
class Plain:
    def __call__(self, layer: Attention, x):
        return layer.query(x)
"""


@pytest.mark.parametrize(("call", "expected"), [("self.processor(self, x)", True), ("x", False)])
def test_what_only_a_forward_calls_is_a_part_of_it(call: str, expected: bool) -> None:
    facts = Program(PROCESSOR.format(call=call)).facts
    (helper,) = (one for one in facts.graph.functions if one.name == "__call__")
    assert LeftToCallers(facts.solution, facts.steps).has(helper) is expected


OUTPUT = """
    import torch
    from torch import nn

    class Tree(nn.Module):
        def __init__(self, cells):
            super().__init__()
            self.cells, self.head = nn.ModuleList(cells), nn.Linear(3, 3)
        def forward(self, tree, rain):
            for day in rain:
                tree = self.grow(tree, day)
            return tree
        def grow(self, tree, day):
            for cell in self.cells:
                new = cell(tree) if self.training else cell(tree, day)
            {holder}.leaves += self.head(day)
            return new
"""


def test_what_layers_give_is_of_the_forward_that_adds_to_it() -> None:
    assert "TLK101" not in found(OUTPUT.format(holder="new"))
    assert "TLK101" in found(OUTPUT.format(holder="self"))


def test_what_a_module_gives_is_another_object_in_each_step() -> None:
    program = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
            def forward(self, x):
                return wrap(self.layer(x))

        def main(stream: torch.utils.data.DataLoader):
            net, head = Net(), nn.Linear(3, 3)
            {before}
            for x in stream:
                {each}
                out.cost += head(x).sum()
                print(out.cost.item())
    """
    assert "TLK101" not in found(program.format(before="pass", each="out = net(x)"))
    assert "TLK101" in found(program.format(before="out = net(torch.zeros(3))", each="pass"))


PAST = """
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.Linear(8, 8)
        def forward(self, x, past):
            self.put(past, self.mix(x))
            return x
        def reorder(self, past, order):
            self.put(past, self.mix(past[0]).index_select(1, order))
        def put(self, past, x):
            past.append(x)
"""


@pytest.mark.parametrize(("each", "outlives"), [("pass", False), ("self.put(past, self.mix(x))", True)])
def test_the_past_of_a_decoder_belongs_to_who_holds_the_decoder(each: str, outlives: bool) -> None:
    source = dedent(PAST) + "    def fill(self, past, loader: torch.utils.data.DataLoader):\n"
    facts = Program(f"{source}        for x in loader:\n            {each}\n").facts
    put = next(function for function in facts.graph.functions if function.name == "put")
    assert facts.lifetimes.outlives([put.parameters[1]], put, None) is outlives
