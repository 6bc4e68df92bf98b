"""Requests that are answered where the application, or the router, is imported from another file of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

HANDLER = """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    {imports}

    tokenizer = AutoTokenizer.from_pretrained("roberta-base")

    @{app}.post("/score")
    def score(text: str):
        {load}
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).logits.tolist()
"""

LOAD = 'model = AutoModelForSequenceClassification.from_pretrained("roberta-base").eval()'
APP = "from fastapi import FastAPI\napp = FastAPI()\n"
ROUTER = "from fastapi import APIRouter\napp = APIRouter()\n"
TABLE = """
class Table:
    def __init__(self):
        self.rows = {}

    def post(self, path):
        return lambda function: self.rows.setdefault(path, function)

app = Table()
"""


@pytest.mark.parametrize(
    ("web", "load", "is_told"),
    [
        (APP, LOAD, True),
        (ROUTER, LOAD, True),
        (APP, 'model = torch.load("model.pt").eval()', True),
        (APP, "model = given()", False),
        (TABLE, LOAD, False),
        ("app = make_app()\n", LOAD, False),
    ],
)
def test_what_is_loaded_for_each_request_is_told(tmp_path: Path, web: str, load: str, is_told: bool) -> None:
    files = {"web.py": web, "score.py": HANDLER.format(imports="from web import app", app="app", load=load)}
    found = [one for one in Project(tmp_path, files).found() if "TLK302" in one]
    assert found == (["score.py: TLK302 warning"] if is_told else [])


@pytest.mark.parametrize(("imports", "app"), [("import web", "web.app"), ("from web import app as service", "service")])
def test_however_it_is_imported(tmp_path: Path, imports: str, app: str) -> None:
    files = {"web.py": APP, "score.py": HANDLER.format(imports=imports, app=app, load=LOAD)}
    assert "score.py: TLK302 warning" in Project(tmp_path, files).found()


def test_what_is_loaded_as_the_application_starts_is_not_told(tmp_path: Path) -> None:
    start = """
        import torch
        from web import app

        @app.on_event("startup")
        def start():
            app.state.model = torch.load("model.pt").eval()
    """
    assert [one for one in Project(tmp_path, {"web.py": APP, "start.py": start}).found() if "TLK302" in one] == []
