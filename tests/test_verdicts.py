"""From figures to verdicts: what is a leak, what is none, what cannot be said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.rule import Harm
from torchlint.verify.programs import BadSettings, imports_of, read_folder, read_settings
from torchlint.verify.results import difference, flatten
from torchlint.verify.slope import rising_share, theil_sen
from torchlint.verify.verdict import Answer, Figures, judge

STEPS = 16


def figures(payload: int = 0, builds: int = 0, **series: Any) -> Figures:
    named = {name.replace("_", ".", 1): tuple(values) for name, values in series.items()}
    return Figures(named, drawn=STEPS, warm_up=4, payload=payload, builds=builds)


def answer(harm: Harm, mine: Figures, reference: Figures | None = None) -> Answer:
    found = judge(harm, mine, reference)
    assert found.sentence
    assert "\n" not in found.sentence
    return found.answer


# -- the slope --------------------------------------------------------------------------------------------------------


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(2, 20))
def test_the_slope_of_a_line_is_its_own(start: int, rise: int, count: int) -> None:
    assert theil_sen([start + rise * n for n in range(count)]) == rise


@given(st.lists(st.integers(0, 100), min_size=8, max_size=16), st.integers(0, 7), st.integers(10**6, 10**9))
def test_one_spike_does_not_make_a_flat_line_rise(noise: list[int], place: int, spike: int) -> None:
    flat = [5] * len(noise)
    flat[place] = spike
    assert theil_sen(flat) == 0


def test_no_slope_without_two_samples() -> None:
    assert theil_sen([]) == theil_sen([3]) == rising_share([3]) == 0


def test_batches_of_varying_size_do_not_rise() -> None:
    assert rising_share([(8, 6, 7)[n % 3] for n in range(12)]) < 0.6
    assert rising_share(range(12)) == 1


# -- survivors --------------------------------------------------------------------------------------------------------


def test_nodes_left_of_every_step_are_a_leak() -> None:
    assert answer(Harm.NODES, figures(nodes_survivors=[11] * STEPS)) is Answer.LEAKS


def test_nodes_of_the_warm_up_and_of_the_last_steps_are_none() -> None:
    assert answer(Harm.NODES, figures(nodes_survivors=[9, 9, 9, 9, *[0] * 9, 9, 9, 9])) is Answer.QUIET


def test_nodes_left_of_some_steps_prove_nothing_and_refuse_a_clean_program() -> None:
    assert answer(Harm.NODES, figures(nodes_survivors=[0, 5] * (STEPS // 2))) is Answer.PARTLY


def test_what_was_not_measured_is_not_said() -> None:
    for harm in Harm:
        assert answer(harm, figures()) is Answer.UNKNOWN


@pytest.mark.parametrize(("kept", "expected"), [(2560, Answer.QUIET), (2564, Answer.LEAKS)])
def test_bytes_that_are_meant_to_be_kept_are_none(kept: int, expected: Answer) -> None:
    live = [kept * n for n in range(STEPS + 1)]
    mine = figures(payload=2560, storages_survivors=[kept] * STEPS, storages_live=live)
    assert answer(Harm.BYTES, mine) is expected


def test_growth_without_survivors_is_a_leak_of_bytes() -> None:
    live = [100 + 64 * n for n in range(STEPS + 1)]
    assert answer(Harm.BYTES, figures(storages_survivors=[0] * STEPS, storages_live=live)) is Answer.LEAKS


def test_growth_that_the_allocator_alone_sees_is_a_leak_of_bytes() -> None:
    flat = {"storages_survivors": [0] * STEPS, "storages_live": [100] * (STEPS + 1)}
    mine = figures(**flat, cuda_requested=[512 * n for n in range(STEPS + 1)])
    assert answer(Harm.BYTES, mine) is Answer.LEAKS


def test_live_bytes_that_only_vary_are_quiet() -> None:
    live = [(800, 600, 700)[n % 3] for n in range(STEPS + 1)]
    assert answer(Harm.BYTES, figures(storages_survivors=[0] * STEPS, storages_live=live)) is Answer.QUIET


def test_garbage_in_every_step_is_a_cycle() -> None:
    assert answer(Harm.CYCLE, figures(storages_cyclic=[0, *[64] * STEPS])) is Answer.LEAKS
    assert answer(Harm.CYCLE, figures(storages_cyclic=[0] * (STEPS + 1))) is Answer.QUIET


def test_bytes_that_no_backward_reads_are_waste_beyond_what_is_meant() -> None:
    assert answer(Harm.UNUSED, figures(saved_unused=[256] * STEPS)) is Answer.LEAKS
    assert answer(Harm.UNUSED, figures(payload=256, saved_unused=[256] * STEPS)) is Answer.QUIET


@pytest.mark.parametrize(("off_host", "expected"), [(768, Answer.LEAKS), (0, Answer.QUIET)])
def test_what_is_moved_to_the_host_is_not_kept_on_the_device(off_host: int, expected: Answer) -> None:
    kept = {"storages_survivors": [768] * STEPS, "storages_live": range(0, 768 * (STEPS + 1), 768)}
    device = {"storages_survivors_off_host": [off_host] * STEPS, "cuda_requested": [0] * (STEPS + 1)}
    assert answer(Harm.DEVICE, figures(**kept, **device)) is expected
    assert answer(Harm.BYTES, figures(**kept, **device)) is Answer.LEAKS


def test_the_host_alone_has_no_device() -> None:
    assert answer(Harm.DEVICE, figures(storages_survivors_off_host=[0] * STEPS)) is Answer.UNKNOWN


# -- against the repaired program -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("peak", "expected"), [(1019, Answer.QUIET), (1020, Answer.LEAKS), (900, Answer.QUIET)])
def test_a_peak_is_a_waste_from_two_percent_on(peak: int, expected: Answer) -> None:
    fixed = figures(storages_peak=[1000] * STEPS)
    assert answer(Harm.PEAK, figures(storages_peak=[9999] * 4 + [peak] * 12), fixed) is expected


def test_a_peak_alone_says_nothing() -> None:
    assert answer(Harm.PEAK, figures(storages_peak=[1000] * STEPS)) is Answer.UNKNOWN


def test_on_cuda_the_allocator_tells_the_peak() -> None:
    mine = figures(storages_peak=[1000] * STEPS, cuda_peak=[4096] * STEPS)
    fixed = figures(storages_peak=[1000] * STEPS, cuda_peak=[2048] * STEPS)
    assert answer(Harm.PEAK, mine, fixed) is Answer.LEAKS


def test_on_cuda_the_host_has_a_peak_of_its_own() -> None:
    mine = figures(storages_peak=[4096] * STEPS, cuda_peak=[1000] * STEPS)
    fixed = figures(storages_peak=[2048] * STEPS, cuda_peak=[1000] * STEPS)
    found = judge(Harm.PEAK, mine, fixed)
    assert (found.answer, found.figure, found.against) == (Answer.LEAKS, 4096, 2048)


def test_the_peaks_of_the_device_are_compared_where_a_run_failed_before_the_host_was_measured() -> None:
    whole, part = figures(cuda_peak=[4096] * STEPS, storages_peak=[1] * STEPS), figures(cuda_peak=[2048] * STEPS)
    assert answer(Harm.PEAK, whole, part) is Answer.LEAKS
    assert answer(Harm.PEAK, part, whole) is Answer.QUIET


def test_segments_that_the_driver_gives_in_every_step_are_churn() -> None:
    quiet = {"calls_built": [0] * STEPS, "calls_made": [100] * STEPS}
    fixed = figures(**quiet, cuda_taken=[0] * STEPS)
    assert answer(Harm.CHURN, figures(**quiet, cuda_taken=[4] * STEPS), fixed) is Answer.LEAKS
    assert answer(Harm.CHURN, figures(**quiet, cuda_taken=[0, 0, 0, 1] * (STEPS // 4)), fixed) is Answer.QUIET


def test_what_is_built_more_often_than_when_repaired_is_churn() -> None:
    fixed = figures(calls_built=[0] * STEPS, calls_made=[100] * STEPS)
    assert answer(Harm.CHURN, figures(calls_built=[1] * STEPS, calls_made=[100] * STEPS), fixed) is Answer.LEAKS
    assert answer(Harm.CHURN, figures(calls_built=[0] * STEPS, calls_made=[105] * STEPS), fixed) is Answer.QUIET
    assert answer(Harm.CHURN, figures(calls_built=[0] * STEPS, calls_made=[120] * STEPS), fixed) is Answer.LEAKS


def test_a_program_that_is_meant_to_build_is_quiet() -> None:
    assert answer(Harm.CHURN, figures(calls_built=[8] * STEPS)) is Answer.LEAKS
    assert answer(Harm.CHURN, figures(builds=8, calls_built=[8] * STEPS)) is Answer.QUIET
    assert answer(Harm.CHURN, figures(calls_built=[3, 0] * (STEPS // 2))) is Answer.QUIET


def growing(a_step: int) -> list[int]:
    return [10**6 + a_step * n for n in range(STEPS + 1)]


def test_a_heap_that_grows_more_than_when_repaired_is_a_leak() -> None:
    fixed = figures(objects_live=growing(0), heap_bytes=growing(1500))
    assert answer(Harm.HOST, figures(objects_live=growing(0), heap_bytes=growing(9000)), fixed) is Answer.LEAKS
    assert answer(Harm.HOST, figures(objects_live=growing(0), heap_bytes=growing(2500)), fixed) is Answer.QUIET
    assert answer(Harm.HOST, figures(objects_live=growing(2), heap_bytes=growing(1500)), fixed) is Answer.LEAKS


def test_without_glibc_a_quiet_heap_is_not_claimed() -> None:
    assert answer(Harm.HOST, figures(objects_live=growing(0))) is Answer.UNKNOWN


def test_workers_that_copy_page_by_page_are_a_leak() -> None:
    assert answer(Harm.WORKERS, figures(workers_private=growing(400_000))) is Answer.LEAKS
    assert answer(Harm.WORKERS, figures(workers_private=growing(8_192))) is Answer.QUIET


# -- results ----------------------------------------------------------------------------------------------------------


def test_equal_results_do_not_differ() -> None:
    result = {"loss": [0.1, float("nan")], "name": "a", "seen": {3, 1}, "none": None}
    assert difference(flatten(result), flatten(result), 0.0) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1.0], [1.0000001]),
        ([1], [1.0]),
        ([1, 2], [1]),
        ({"a": 1}, {"b": 1}),
        ("x", "y"),
        (math.inf, -math.inf),
        (0.0, math.nan),
        (0.0, -0.0),
    ],
)
def test_results_that_differ_are_told_apart(one: object, other: object) -> None:
    assert difference(flatten(one), flatten(other), 0.0)


def test_a_tolerance_is_relative() -> None:
    assert difference(flatten([1000.0]), flatten([1000.0001]), 2e-7) == ""
    assert difference(flatten([1000.0]), flatten([1000.001]), 2e-7)


def test_what_cannot_be_compared_is_named() -> None:
    pytest.importorskip("torch", reason="a tensor can only be told from other objects by torch")
    with pytest.raises(TypeError, match="object"):
        flatten([object()])


# -- what a program says of itself ------------------------------------------------------------------------------------


def test_a_program_says_what_must_be_known_of_it() -> None:
    said = read_settings("# verify: payload=2560 tolerance=2e-7 results=differ harms=host,nodes because: it is so\n")
    assert (said.payload, said.tolerance, said.results_differ, said.because) == (2560, 2e-7, True, "it is so")
    assert said.harms == (Harm.HOST, Harm.NODES)


def test_a_program_need_not_say_anything() -> None:
    assert read_settings("import torch\n") == read_settings("")


@pytest.mark.parametrize(
    "words",
    ["payload=many", "paylod=3", "needs=tpu", "results=same", "harms=everything", "payload"],
)
def test_what_means_nothing_is_refused_in_one_line(words: str) -> None:
    with pytest.raises(BadSettings) as refused:
        read_settings(f"# verify: {words} because: no\n")
    assert "\n" not in str(refused.value)


def test_what_a_program_imports_is_known_but_not_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("x = 1\n")
    (tmp_path / "clean_a.py").write_text(
        "import beside, json.decoder\nfrom torch import nn\nmodel = torch.compile(nn)\n"
    )
    (program,) = read_folder(tmp_path).programs
    assert imports_of(program) == {"json.decoder", "torch", "torch._dynamo"}
