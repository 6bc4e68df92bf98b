
import torch

def evaluate(model, loader):
    model.eval()
    found = []
    for x in loader:
        found.append(model(x).argmax(1).tolist())
    return found
