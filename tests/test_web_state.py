"""What a web application keeps for its handlers on ``app.state``."""

from __future__ import annotations

import pytest
from programs import HEAD, Program

SERVICE = """
{imports}
class Encoder:
    def __init__(self):
        self.net = nn.Linear(3, 3).eval()
{made}
@app.post("/encode")
def encode({given}, rows):
    encoder = {read}
    out = encoder.net(torch.tensor(rows))
    return out.detach().cpu().numpy().tolist()
"""

FASTAPI = "from fastapi import FastAPI, Request"

AT_START = """
app = FastAPI()
@app.on_event("startup")
def start():
    app.state.encoder = Encoder()
"""

LIFESPAN = """
from contextlib import asynccontextmanager
@asynccontextmanager
async def lifespan(app: FastAPI):
    app.state.encoder = Encoder()
    yield
app = FastAPI(lifespan=lifespan)
"""


def infers(made: str, given: str, read: str, imports: str = FASTAPI) -> list[str]:
    """The functions that infer with gradients on."""
    return Program(SERVICE.format(imports=imports, made=made, given=given, read=read), head=HEAD).infers()


@pytest.mark.parametrize("made", [AT_START, LIFESPAN, "app = FastAPI()\napp.state.encoder = Encoder()"])
@pytest.mark.parametrize(
    ("given", "read"),
    [("text: str", "app.state.encoder"), ("request: Request", "request.app.state.encoder")],
)
def test_what_is_kept_there_is_what_the_handlers_read(made: str, given: str, read: str) -> None:
    assert infers(made, given, read) == ["encode"]


@pytest.mark.parametrize(
    ("given", "read", "imports"),
    [
        ("text: str", "app.state.decoder", FASTAPI),
        ("other", "other.state.encoder", FASTAPI),
        ("text: str", "app.state.encoder", "from elsewhere import FastAPI, Request"),
    ],
)
def test_another_name_or_an_object_that_is_no_application_is_unknown(given: str, read: str, imports: str) -> None:
    made = LIFESPAN if "elsewhere" not in imports else AT_START.replace("app.state.encoder = Encoder()", "pass")
    assert infers(made, given, read, imports) == []
