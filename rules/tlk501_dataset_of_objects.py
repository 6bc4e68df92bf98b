"""TLK501."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.datasets import Hoard


class DatasetOfObjects(Rule):
    """A data set keeps very many objects of Python, and worker processes read it.

    ## What it does
    Finds a `Dataset` that keeps a large list or dict (a comprehension over a large range, the lines or records of a
    file), or that fills a cache of its own in `__getitem__`, and a `DataLoader` with `num_workers` that reads it, in
    this file or in another one of the run.

    ## Why is this bad?
    A worker shares the memory of its parent until one of them writes to it, and in Python reading is writing: each
    object counts its references. So each worker copies the list page by page, until all of it is there once for each
    worker. A cache that workers fill is filled in each of them, and thrown away with them after the epoch.

    ## Example
    ```python
    class Texts(Dataset):
        def __init__(self, path):
            self.lines = open(path).readlines()

    loader = DataLoader(Texts(path), num_workers=8)
    ```

    ## Use instead
    ```python
            self.lines = pyarrow.array(open(path))  # or an array of bytes with offsets, or a mapped file
    ```

    ## When it is not a leak
    Arrays, tensors, Arrow tables and mapped files are one object each; `num_workers=0`; a short list; a cache with a
    bound.

    ## Fix safety
    There is no automatic fix: what the data is decides how it is kept.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    - https://github.com/pytorch/pytorch/issues/13246
    """

    code = "TLK501"
    name = "dataset-of-objects"
    level = Level.WARNING
    harms = (Harm.WORKERS,)
    symptoms = (Symptom.WORKERS_GROW, Symptom.HOST_GROWS)
    triggers = (Trigger(names=frozenset(["num_workers", "DataLoader", "Dataset", "IterableDataset"]), defines=True),)

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each large list, dict or cache that workers read."""
        for hoard in facts.hoards:
            yield _finding(facts, hoard)


def _finding(facts: Facts, hoard: Hoard) -> Finding:
    loader = facts.statement_of(hoard.loader) if hoard.loader is not None else None
    where = ("in line ", LineOf(loader)) if loader is not None else (f"in `{hoard.elsewhere}`",)
    if hoard.is_cache:
        message: tuple[str | LineOf, ...] = (
            f"`{hoard.name}` of `{hoard.cls.name}` is filled in each worker of the loader ",
            *where,
            " anew: host memory grows by all of it, once for each worker; fill it before, as one tensor or array, "
            "or bound it",
        )
    else:
        message = (
            f"`{hoard.name}` of `{hoard.cls.name}` holds very many objects, and counting references copies them into "
            "each worker of the loader ",
            *where,
            ": host memory grows until each has all of them; keep a tensor, an array, Arrow or a mapped file",
        )
    kept = Step(hoard.statement, "the objects are kept here")
    return Finding(
        node=hoard.statement,
        message=message,
        level=Level.WARNING,
        memory=Memory.HOST_GROWS,
        evidence=(kept,) if loader is None else (kept, Step(loader, "workers read them from here")),
    )
