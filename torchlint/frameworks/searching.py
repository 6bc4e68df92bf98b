"""What searches for good settings promise: they call a function again and again, each call a whole trial."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_OPTUNA = "https://optuna.readthedocs.io/en/stable/reference/generated/optuna.study.Study.html"

SEARCHING = (
    Row("Optuna", ("optuna.create_study", "optuna.load_study"), Holds.EACH_TRIAL,
        f"{_OPTUNA}#optuna.study.Study.optimize", ("optimize",), (0, "func")),
    Row("hyperopt", ("hyperopt.fmin",), Holds.EACH_TRIAL,
        "https://hyperopt.github.io/hyperopt/getting-started/minimizing_functions/", argument=(0, "fn")),
    Row("Weights & Biases", ("wandb.agent",), Holds.EACH_TRIAL, "https://docs.wandb.ai/ref/python/agent/",
        argument=(1, "function")),
)  # fmt: skip
"""Searches, which call a function for each trial; none of them is built on torch."""
