"""``[tool.torchlint]``: which file counts, what it may say, and how the command line goes over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.catalog import codes
from torchlint.config import BadConfig, Overrides, Settings, check_codes, nearest_settings, read_settings
from torchlint.selection import Choice, resolve

KNOWN = ("TLK101", "TLK102", "TLK201", "TLK202", "TLK301")


def settings_of(folder: Path, table: str) -> Settings:
    """The settings that a pyproject.toml with this table gives."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.torchlint]\n{table}\n")
    settings = read_settings(folder / "pyproject.toml")
    assert settings is not None
    return settings


def enabled(*choices: Choice) -> set[str]:
    return set(resolve(choices, KNOWN)[0])


class TestCodes:
    def test_all_are_on_at_first(self):
        assert enabled() == set(KNOWN)

    def test_select_takes_prefixes(self):
        assert enabled(Choice(select=("TLK1", "TLK301"))) == {"TLK101", "TLK102", "TLK301"}

    def test_an_empty_select_turns_all_off(self):
        assert enabled(Choice(select=())) == set()

    def test_ignore_goes_over_select(self):
        assert enabled(Choice(select=("TLK1",), ignore=("TLK102",))) == {"TLK101"}
        assert enabled(Choice(select=("TLK101",), ignore=("TLK101",))) == set()

    def test_the_longer_prefix_wins(self):
        assert enabled(Choice(select=("TLK102",), ignore=("TLK1",))) == {"TLK102"}
        assert enabled(Choice(ignore=("TLK1",), extend_select=("TLK102",))) == set(KNOWN) - {"TLK101"}

    def test_extend_select_adds(self):
        assert enabled(Choice(select=("TLK1",), extend_select=("TLK301",))) == {"TLK101", "TLK102", "TLK301"}

    def test_a_later_select_forgets_all_before_it(self):
        assert enabled(Choice(select=("TLK2",), ignore=("TLK101",)), Choice(select=("TLK1",))) == {
            "TLK101",
            "TLK102",
        }

    def test_a_later_ignore_or_extend_select_goes_over_what_came_before(self):
        first = Choice(select=("TLK1",))
        assert enabled(first, Choice(ignore=("TLK101",))) == {"TLK102"}
        assert enabled(first, Choice(extend_select=("TLK2",))) == {"TLK101", "TLK102", "TLK201", "TLK202"}

    def test_only_a_whole_code_is_named(self):
        assert resolve([Choice(select=("TLK1",), extend_select=("TLK201",))], KNOWN)[1] == {"TLK201"}
        assert resolve([Choice(extend_select=("TLK201",)), Choice(ignore=("TLK2",))], KNOWN)[1] == frozenset()

    def test_unknown_ones_are_refused(self):
        for code in ("TLK9", "TLK1011", "tlk101", "E501", "", "T"):
            with pytest.raises(BadConfig, match="here: unknown rule code"):
                check_codes([code], "here")
        assert check_codes(["TLK", *codes()], "here") == ("TLK", *codes())


class TestFile:
    def test_the_nearest_one_with_the_table_counts(self, tmp_path):
        settings_of(tmp_path, "notes = true")
        settings_of(tmp_path / "a", "preview = true")
        (tmp_path / "a" / "b" / "c").mkdir(parents=True)
        (tmp_path / "a" / "b" / "pyproject.toml").write_text("[tool.other]\n")
        found = nearest_settings(tmp_path / "a" / "b" / "c")
        assert (found.preview, found.notes, found.root) == (True, False, tmp_path / "a")

    def test_an_empty_table_counts_too(self, tmp_path):
        settings_of(tmp_path, "notes = true")
        settings_of(tmp_path / "a", "")
        assert not nearest_settings(tmp_path / "a").notes

    def test_a_change_is_seen(self, tmp_path):
        settings_of(tmp_path, "notes = true")
        assert nearest_settings(tmp_path).notes
        settings_of(tmp_path, "notes = false")
        assert not nearest_settings(tmp_path).notes

    def test_every_key_is_read(self, tmp_path):
        settings = settings_of(
            tmp_path,
            """
            select = ["TLK1"]
            ignore = ["TLK102"]
            extend-select = ["TLK201"]
            exclude = ["a"]
            extend-exclude = ["./c/d/"]
            respect-gitignore = false
            preview = true
            notes = true
            max-file-size = 5
            per-file-ignores = {"tests/*" = ["TLK"]}
            """,
        )
        assert settings == Settings(
            choices=(Choice(("TLK1",), ("TLK201",), ("TLK102",)),),
            per_file_ignores=(("tests/*", ("TLK",)),),
            exclude=("a",),
            extend_exclude=(f"{tmp_path.as_posix()}/c/d",),
            respect_gitignore=False,
            preview=True,
            notes=True,
            max_file_size=5,
            root=tmp_path,
        )

    @pytest.mark.parametrize(
        ("table", "complaint"),
        [
            ("selct = []", "has the unknown key 'selct'; known are select, "),
            ("select = 'TLK1'", "select must be a list of strings"),
            ("select = [1]", "select must be a list of strings"),
            ("ignore = ['TLK9']", "ignore: unknown rule code 'TLK9'"),
            ("per-file-ignores = ['TLK1']", "per-file-ignores must be a table"),
            ("per-file-ignores = {a = ['X']}", "per-file-ignores 'a': unknown rule code 'X'"),
            ("notes = 1", "notes must be true or false"),
            ("max-file-size = true", "max-file-size must be a number of bytes"),
            ("max-file-size = 0", "max-file-size must be a number of bytes"),
            ("=", "not valid TOML"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line_with_the_file_and_the_key(self, tmp_path, table, complaint):
        with pytest.raises(BadConfig) as caught:
            settings_of(tmp_path, table)
        message = str(caught.value)
        assert message.startswith(f"{tmp_path / 'pyproject.toml'}: ")
        assert complaint in message
        assert "\n" not in message

    @pytest.mark.parametrize("text", ["[tool]\ntorchlint = 1\n", "[[tool.torchlint]]\n"])
    def test_a_table_that_is_none_is_refused(self, tmp_path, text):
        (tmp_path / "pyproject.toml").write_text(text)
        with pytest.raises(BadConfig, match="must be a table"):
            nearest_settings(tmp_path)

    @pytest.mark.parametrize("data", [b"\xff", b"a = 1\0", b"[" * 100_000])
    def test_what_is_no_toml_is_refused(self, tmp_path, data):
        (tmp_path / "pyproject.toml").write_bytes(data)
        with pytest.raises(BadConfig, match="not valid TOML"):
            nearest_settings(tmp_path)

    def test_a_folder_of_that_name_is_refused(self, tmp_path):
        (tmp_path / "pyproject.toml").mkdir()
        with pytest.raises(BadConfig, match="cannot be read"):
            nearest_settings(tmp_path)


class TestPerFileIgnores:
    @pytest.mark.parametrize(
        ("pattern", "path", "ignored"),
        [
            ("tests/*", "tests/a.py", True),
            ("tests/*", "tests/deep/a.py", True),
            ("tests/*", "src/tests.py", False),
            ("conftest.py", "src/conftest.py", True),
            ("src/a.py", "src/a.py", True),
            ("src/a.py", "other/src/a.py", False),
            ("!src/*", "tests/a.py", True),
            ("!src/*", "src/a.py", False),
        ],
    )
    def test_name_files_by_name_or_by_path_from_the_pyproject(self, tmp_path, pattern, path, ignored):
        settings = settings_of(tmp_path, f'per-file-ignores = {{"{pattern}" = ["TLK1"]}}')
        on = settings.selection(str(tmp_path / path)).enabled
        assert ("TLK101" not in on) == ignored
        assert "TLK201" in on


class TestOverrides:
    def test_say_nothing_by_default(self, tmp_path):
        settings = settings_of(tmp_path, "notes = true\nmax-file-size = 7\nexclude = ['a']")
        assert settings.overridden(Overrides()).selection("a.py") == settings.selection("a.py")
        assert settings.overridden(Overrides()).exclude == ("a",)

    def test_replace_plain_values_and_extend_lists(self):
        settings = Settings(notes=True, exclude=("a",), extend_exclude=("b",))
        over = settings.overridden(Overrides(notes=False, exclude=("c",), extend_exclude=("d",), max_file_size=3))
        assert (over.notes, over.exclude, over.extend_exclude, over.max_file_size) == (
            False,
            ("c",),
            ("b", "d"),
            3,
        )


class TestExclude:
    @pytest.mark.parametrize(
        ("pattern", "path", "excluded"),
        [
            ("old", "old/a.py", True),
            ("old", "src/old/deep/a.py", True),
            ("old", "src/old.py", False),
            ("*_pb2.py", "src/x_pb2.py", True),
            ("src/old", "src/old/a.py", True),
            ("src/old/", "src/old/a.py", True),
            ("./src/*", "src/a.py", True),
            ("src/old", "other/src/old/a.py", False),
        ],
    )
    def test_names_files_and_folders_by_name_or_by_path_from_the_pyproject(self, tmp_path, pattern, path, excluded):
        settings = settings_of(tmp_path, f'exclude = ["{pattern}"]')
        assert settings.excludes(str(tmp_path / path)) == excluded

    def test_does_not_look_above_the_pyproject(self, tmp_path):
        settings = settings_of(tmp_path / "build", 'exclude = ["build"]')
        assert not settings.excludes(str(tmp_path / "build" / "a.py"))

    def test_takes_a_folder_with_brackets_in_its_name(self, tmp_path):
        settings = settings_of(tmp_path / "[x]", 'exclude = ["a/b"]')
        assert settings.excludes(str(tmp_path / "[x]" / "a" / "b" / "c.py"))
