"""What weights are loaded for, and what a program wrote from the host itself."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.keeping.purposes import Purpose

NET = """
from elsewhere import fit, restore, shrink
def build():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())
model = build()
"""

READ = "\nmodel.load_state_dict(torch.load('best.pt'))"


def purpose(source: str) -> Purpose | None:
    """What the only ``torch.load`` of the program is for."""
    facts = Program(NET + source).facts
    (load,) = (load for load in facts.loads.found if load.name == "torch.load")
    return facts.purposes.of(load)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("model.load_state_dict(torch.load(path))", Purpose.COPIED),
        ("restore(model, torch.load(path))", Purpose.COPIED),
        ("model.take_over(torch.load(path)['weights'])", Purpose.COPIED),
        ("plan = torch.optim.lr_scheduler.StepLR(fit(), 3)\nplan.load_state_dict(torch.load(path))", None),
        ("plan = fit(model)\nplan.load_state_dict(torch.load(path))\nplan.step()", None),
        ("opt = fit(model)\nopt.load_state_dict(torch.load(path))\nopt.zero_grad()\nopt.step()", Purpose.COPIED),
        ("model.from_pretrained(None, state=torch.load(path))", None),
        ("fit(torch.load(path))", None),
        ("print(torch.load(path)['state_dict'].keys())", Purpose.READ),
        ("net = torch.load(path)\ntorch.nn.utils.remove_weight_norm(net[0])\ntorch.save(net, target)", Purpose.READ),
        ("net = torch.load(path)\nnet.eval()\ntorch.save(net, target)", Purpose.READ),
        ("net = torch.load(path)\nnet.eval()\nprint(net(x))\ntorch.save(net, target)", None),
        ("net = torch.load(path)\nnet.eval()\nfit(net)", None),
        ("saved = torch.load(path)\nmodel = saved['model']\nfit(model=model, other=saved['other'])", None),
        ("words = torch.load(path)\ntorch.save(words + 1, target)", None),
        ("layer = torch.load(path)\nlayer['weight'].copy_(layer['weight'].round())", None),
        ("model[0].weight.data.copy_(torch.load(path)['weight'])", Purpose.COPIED),
        ("net, words = torch.load(path)\nnet.to(device).eval()\nprint(words)", Purpose.MOVED),
        ("net, words = torch.load(path)\nnet.cuda().eval()\nprint(words)", None),
        ("sound, labels = torch.load(path)\nsound = sound.to(device)", None),
        ("net, opt = torch.load(path)\nnet.to(device).train()\nopt.zero_grad()\nopt.step()", None),
    ],
)
def test_what_is_done_with_what_was_loaded(source: str, told: Purpose | None) -> None:
    assert purpose(source) is told


@pytest.mark.parametrize(
    "saving",
    [
        "torch.save(model.state_dict(), 'best.pt')",
        "model.to(device)\nmodel.cpu()\ntorch.save(model.state_dict(), 'last.pt')",
        "model.cuda()\nmodel.to('cpu')\ntorch.save({'model': model.state_dict(), 'epoch': 3}, 'last.pt')",
        "model.cuda()\ntorch.save({k: v.cpu() for k, v in model.state_dict().items()}, 'last.pt')",
        "from torch.distributed.fsdp import FullStateDictConfig\nFullStateDictConfig(offload_to_cpu=True)\n"
        "torch.save(model.cuda().state_dict(), 'last.pt')",
        "model.to(dtype=torch.float16)\ntorch.save(model, 'best.pt')",
    ],
)
def test_what_the_program_wrote_from_the_host_comes_back_there(saving: str) -> None:
    assert purpose(saving + READ) is None


@pytest.mark.parametrize(
    "saving",
    [
        "model.to(device)\ntorch.save(model.state_dict(), 'best.pt')",
        "model.cpu()\nmodel.to(torch.device('cuda'))\ntorch.save(model.state_dict(), 'best.pt')",
        "import argparse\nargs = argparse.ArgumentParser().parse_args()\ndevice = torch.device(args.device)\n"
        "model.to(device)\ntorch.save(model.state_dict(), 'best.pt')",
        "torch.save(build().cuda().state_dict(), 'best.pt')",
        "fit(model)\ntorch.save(model.state_dict(), 'best.pt')",
        "torch.save(fit(), 'best.pt')",
        "",
    ],
)
def test_what_comes_from_the_device_or_from_nobody_knows_where(saving: str) -> None:
    assert purpose(saving + READ) is Purpose.COPIED


def test_data_that_the_program_wrote_is_no_checkpoint() -> None:
    source = "vectors = torch.load(args.cache)\nmodel[0].weight.data.copy_(vectors)\n"
    assert purpose(source) is Purpose.COPIED
    assert purpose(source + "torch.save(shrink(vectors), args.cache)") is None


@pytest.mark.parametrize(
    "source",
    [
        "opt = torch.optim.Adam(model.parameters())\nopt.load_state_dict(torch.load(path))",
        "small = torch.ao.quantization.quantize_dynamic(model)\nsmall.load_state_dict(torch.load(path))",
        "def test_restore():\n    model.load_state_dict(torch.load(path))\n    assert model",
    ],
)
def test_states_that_are_adopted_made_on_the_host_or_loaded_by_a_test_need_no_device(source: str) -> None:
    assert purpose(source) is None
