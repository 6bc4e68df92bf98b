import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

class quiet(torch.no_grad):
    def __init__(self, model):
        super().__init__()
        self.model = model

def answer(model, loader):
    found = []
    with quiet(model):
        for x in loader:
            found.append(model(x).argmax(1).tolist())
    return found

def main(loader):
    return answer(nn.Linear(3, 3), loader)
