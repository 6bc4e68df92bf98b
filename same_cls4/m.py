import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

class quiet(torch.no_grad):
    def __init__(self, model):
        super().__init__()
        self.model = model
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
