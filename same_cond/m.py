import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

def quiet(model, on=True):
    return torch.no_grad() if on else nullcontext()
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
