import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

quiet = lambda model: torch.no_grad()
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
