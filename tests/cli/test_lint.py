"""scripts/lint.sh: what `make lint` finds, and which sources count as changed."""

import os
import shutil
import subprocess

import pytest

from harness import ROOT

ENVIRONMENT = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": "/dev/null",
               **{f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
MISSING = [tool for tool in ("git", "clang-format", "ruff", "shellcheck")
           if not shutil.which(tool, path=ENVIRONMENT["PATH"])]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING} (scripts/setup.sh --sim --lint)")


def git(folder, *args):
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, env=ENVIRONMENT)


@pytest.fixture
def project(tmp_path):
    """A project of three sources that no tool finds fault with."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/lint.sh", ".clang-format", ".shellcheckrc", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    write(tmp_path, "src/a.cpp", "int a();\n")
    write(tmp_path, "src/free.cpp", "int b();\n")
    write(tmp_path, "tool.py", "print(1)\n")
    # What the torch-free build compiles; the other sources are of the half with LibTorch.
    write(tmp_path, "build/lint/compile_commands.json", f'[\n{{\n  "file": "{tmp_path}/src/free.cpp"\n}}\n]\n')
    write(tmp_path, ".gitignore", "/build/\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "text")


def lint(folder, *args, code=0, **variables):
    done = subprocess.run([folder / "scripts/lint.sh", *args], text=True, capture_output=True,
                          env={**ENVIRONMENT, **variables})
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_every_tool_is_named_where_nothing_is_found(project):
    said = lint(project, "check").stdout
    assert all(f"lint: {tool}: clean" in said for tool in ("clang-format", "ruff", "shellcheck"))


@pytest.mark.parametrize("name, text, tool, words", [
    ("src/b.cpp", "int  b( ){return 1;}\n", "clang-format", "src/b.cpp"),
    ("b.py", "import os\n", "ruff", "b.py:1:8: F401"),
    ("b.sh", "#!/bin/bash\nrm $1\n", "shellcheck", "b.sh:2:4"),
])
def test_a_finding_fails_and_the_other_tools_run(project, name, text, tool, words):
    write(project, name, text)  # not committed: git need not know it yet
    said = lint(project, "check", code=1).stdout
    assert words in said
    for other in ("clang-format", "ruff", "shellcheck"):
        assert (f"lint: {other}: clean" in said) == (other != tool)


def test_a_long_file_is_named_and_no_error(project):
    write(project, "long.py", "print(1)\n" * 301)
    write(project, "short.py", "print(1)\n" * 300)
    said = lint(project, "check").stdout
    assert "1 files have more than 300 lines" in said and "long.py 301" in said and "short.py" not in said


def changed(project, half="torch", **variables):
    return lint(project, "list", half, "changed", **variables).stdout.split()


def test_changed_are_the_last_commit_and_what_is_not_committed(project):
    assert lint(project, "list", "torch", "all").stdout.split() == ["src/a.cpp"]
    assert lint(project, "list", "free", "all").stdout.split() == ["src/free.cpp"]
    assert changed(project) == []  # no commit before
    write(project, "src/c.cpp", "int c();\n")
    write(project, "src/d.cpp", "int d();\n")
    write(project, "src/free.cpp", "int b(int);\n")
    commit(project)
    assert sorted(changed(project)) == ["src/c.cpp", "src/d.cpp"]
    assert changed(project, "free") == ["src/free.cpp"]
    write(project, "src/a.h", "int a();\n")  # stands for src/a.cpp
    assert changed(project)[0] == "src/a.cpp"
    commit(project)
    assert changed(project) == ["src/a.cpp"]
    assert changed(project, LINT_BASE="HEAD~2") == ["src/a.cpp", "src/c.cpp", "src/d.cpp"]
    done = lint(project, "list", "torch", "changed", LINT_BASE="HEAD~2", TIDY_LIMIT="1")
    assert done.stdout.split() == ["src/a.cpp"] and "2 of 3 changed files" in done.stderr


def test_changed_are_the_commits_since_the_upstream(project, tmp_path_factory):
    clone = tmp_path_factory.mktemp("clone") / "project"
    git(project, "clone", "-q", project, clone)
    for name in ("c", "d"):
        write(clone, f"src/{name}.cpp", f"int {name}();\n")
        commit(clone)
    shutil.copytree(project / "build", clone / "build")
    assert changed(clone) == ["src/d.cpp", "src/c.cpp"]
