import torch
from torch import nn
from q import quiet

def answer(model, loader):
    found = []
    with quiet(model):
        for x in loader:
            found.append(model(x).argmax(1).tolist())
    return found

def main(loader):
    return answer(nn.Linear(3, 3), loader)
