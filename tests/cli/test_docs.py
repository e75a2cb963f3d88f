"""The pages of the documentation site (docs/tools/pages.py); `make docs` builds the site of them."""

import re
import subprocess
import sys

import pytest

from harness import ROOT


def pages(folder, root=ROOT):
    return subprocess.run([sys.executable, ROOT / "docs/tools/pages.py", folder, root], text=True,
                          capture_output=True)


def test_every_link_of_the_documents_leads_somewhere(tmp_path):
    done = pages(tmp_path)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "index.md").read_text()
    assert "](install.md)" in index and "](results/README.md)" in index
    assert "](src/" not in (tmp_path / "library.md").read_text()
    assert "::: adagp.lab.compare" in (tmp_path / "api.md").read_text()
    assert (tmp_path / "img/hardware-max.svg").exists()


@pytest.fixture
def small(tmp_path):
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "python/adagp").mkdir(parents=True)
    (root / "python/adagp/__init__.py").write_text('_LAZY = {"wrap": "predict"}\n')
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (root / name).write_text("text\n")
    (root / "README.md").write_text("[a](ARCHITECTURE.md) [b](CONTRIBUTING.md) [c](CHANGELOG.md) [d](docs/d.md)\n")
    (root / "mkdocs.yml").write_text("".join(f"  - {name}: {name}.md\n" for name in (
        "index", "architecture", "contributing", "changelog", "d", "lost")))
    (root / "docs/d.md").write_text("back to [the start](../README.md#top), `[no](link.md)`\n")
    return root


def test_links_get_their_places_in_the_site(small, tmp_path):
    assert pages(tmp_path / "out", small).returncode == 0
    assert (tmp_path / "out/d.md").read_text() == "back to [the start](index.md#top), `[no](link.md)`\n"


@pytest.mark.parametrize("text, words", [("[x](gone.md)", "docs/d.md: no file gone.md"),
                                         ("![x](img/gone.svg)", "no file img/gone.svg")])
def test_a_dead_link_is_an_error(small, tmp_path, text, words):
    (small / "docs/d.md").write_text(text)
    done = pages(tmp_path / "out", small)
    assert done.returncode == 1 and words in done.stderr


def test_a_page_that_nothing_leads_to_is_an_error(small, tmp_path):
    (small / "docs/lost.md").write_text("text\n")
    done = pages(tmp_path / "out", small)
    assert done.returncode == 1 and "docs/lost.md: no page leads there" in done.stderr


def test_a_page_that_the_navigation_lacks_is_an_error(small, tmp_path):
    (small / "mkdocs.yml").write_text((small / "mkdocs.yml").read_text().replace("  - d: d.md\n", ""))
    done = pages(tmp_path / "out", small)
    assert done.returncode == 1 and "docs/d.md: mkdocs.yml does not list it" in done.stderr


@pytest.mark.parametrize("page", sorted((ROOT / "docs/results").glob("2*.md")), ids=lambda page: page.stem)
def test_a_results_page_has_the_command_that_makes_it(page):
    code = re.findall(r"^```.*?\n(.*?)^```|`([^`]+)`", page.read_text(), re.M | re.S)
    words = ("adagp ", "make ", "python3 ", "scripts/", "bench/", "build/bin/")
    assert any(word in block or word in inline for block, inline in code for word in words)


# Pages of docs/results and the change log tell what was called then.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def code_of(page):
    return "\n".join(block or inline for block, inline in
                     re.findall(r"^```.*?\n(.*?)^```|`([^`]+)`", page.read_text(), re.M | re.S))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page):
    known = re.findall(r'{"[A-Z]\w+", "(\w+)", ', (ROOT / "apps/adagp/main.cpp").read_text())
    assert "train" in known
    for command in re.findall(r"(?:^|[&|] )(?:build/bin/)?adagp +([a-z]+)\b(?![.:=])", code_of(page), re.M):
        assert command in known, f"adagp {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_make_targets_and_scripts_of_a_page_exist(page):
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    choices = set(re.findall(r"^define ((?:test|bench)-[a-z]+)$", makefile, re.M))
    code = code_of(page)
    for target, what in re.findall(r"(?:^|[;&|] )make ([a-z][a-z-]*)(?: WHAT=([a-z]+))?", code, re.M):
        assert target in targets, f"make {target}"
        assert not what or f"{target}-{what}" in choices, f"make {target} WHAT={what}"
    for path in re.findall(r"(?<![\w/.])(?:scripts|rtl/tools|docs/tools)/\w+\.(?:sh|py)", code):
        assert (ROOT / path).exists(), path
