"""What helps at the prompt and in an editor: completion, manual pages, JSON schemas."""

import json
import shutil
import subprocess
import tomllib

import pytest
import harness
from harness import BIN, ROOT, adagp

RECIPES = sorted((ROOT / "configs/recipes").rglob("*.toml"))
ACCELERATORS = sorted((ROOT / "configs/accelerators").glob("*.toml"))
SCHEMAS = {"schema": ROOT / "configs/recipe.schema.json",
           "accelerator-schema": ROOT / "configs/accelerator.schema.json"}


def complete(*words):
    """What bash offers for the last word, through the function that the script defines."""
    script = ('source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'complete -p adagp > /dev/null && _adagp; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, str(BIN), "adagp", *words], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def commands():
    return sum(harness.commands().values(), [])


def flags(command):
    """The long names in the first column of the help, without their defaults ("--methods=bp")."""
    columns = [line.split()[0].split("=")[0] for line in adagp(command, "--help").stdout.splitlines()
               if line.startswith("  -")]
    return {name for column in columns for name in column.split(",") if name.startswith("--")}


def test_help_shows_at_most_18_commands_in_groups():
    assert list(harness.commands()) in (["Train", "Look", "Simulate", "Reproduce", "Tools"],
                                        ["Look", "Simulate", "Reproduce", "Tools"])  # without LibTorch
    assert len(set(commands())) == len(commands()) <= 18


@pytest.mark.parametrize("old,now", [
    (["energy", "--model", "vgg13"], "adagp paper --energy"), (["man", "train"], "adagp completion man"),
    (["rerun", "runs/a"], "adagp reproduce RUN"), (["trace", "info", "runs/a"], "adagp report --trace RUN"),
    (["watch", "runs"], "adagp report --watch DIR")])
def test_an_old_name_says_the_new_one_in_one_line(old, now):
    done = adagp(*old, code=2)
    assert done.stderr.count("\n") == 1 and f"'{old[0]}' is now '{now}'" in done.stderr


def test_bash_completes_every_command_and_flag():
    assert sorted(complete("")) == sorted(commands())
    for command in commands():
        offered = complete(command, "--")
        assert flags(command) <= set(offered), command
    assert complete("pipe") == ["pipeline"]
    assert "program" in complete("rtl", "")
    assert complete("rtl", "program", "--des") == ["--design"]
    assert complete("-q", "pipe") == ["pipeline"]


@pytest.mark.parametrize("words,kind", [
    (["simulate", "--model", ""], "models"), (["simulate", "--designs", ""], "designs"),
    (["simulate", "--dataflow", ""], "dataflows"), (["pipeline", "--schedule", ""], "pipelines"),
    (["pipeline", "--accelerator", ""], "accelerators")])
def test_bash_completes_what_list_knows(words, kind):
    known = [line["name"] for line in json.loads(adagp("list", kind, "--json").stdout)]
    assert complete(*words) == known


def test_bash_completes_lists_equal_signs_and_keys():
    assert complete("simulate", "--designs", "baseline,m") == ["baseline,max"]
    assert complete("pipeline", "--schedule", "=", "ch") == ["chimera"]
    assert complete("simulate", "--set", "energy.dram_p") == ["energy.dram_pj_per_bit="]
    kinds = complete("list", "")
    assert {"models", "keys", "schema", "accelerator-schema"} <= set(kinds)
    for kind in kinds:
        assert adagp("list", kind).stdout
    assert complete("completion", "") == ["bash", "zsh", "fish", "man"]
    assert complete("simulate", "--table", "") == []  # bash offers files then


@pytest.mark.parametrize("shell,check", [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]),
                                         ("fish", ["fish", "-N", "-n"])])
def test_scripts_are_written_for_each_shell(tmp_path, shell, check):
    script = adagp("completion", shell).stdout
    for command in commands():
        assert command in script
    assert "dram_pj_per_bit" in script and "chimera" in script
    path = tmp_path / "script"
    path.write_text(script)
    if shutil.which(check[0]):  # only bash is everywhere
        done = subprocess.run([*check, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("args,words", [(["completion", "tcsh"], ["'tcsh'", "bash"]),
                                        (["completion"], ["shell"]),
                                        (["completion", "man", "simulat"], ["did you mean 'simulate'"]),
                                        (["completion", "man", "simulate", "-o", "x"], ["--output"]),
                                        (["completion", "bash", "simulate"], ["completion man"])])
def test_bad_words_are_usage_errors(args, words):
    done = adagp(*args, code=2)
    for word in words:
        assert word in done.stderr


def test_manual_pages_name_every_flag(tmp_path):
    adagp("completion", "man", "-o", tmp_path)
    pages = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {"adagp.1", "adagp-rtl-program.1"} | {f"adagp-{c}.1" for c in commands()} <= set(pages)
    for command in commands():
        page = pages[f"adagp-{command}.1"]
        assert page == adagp("completion", "man", command).stdout
        for flag in flags(command):
            assert "\\fB" + flag.replace("-", "\\-") + "\\fR" in page, (command, flag)
    if shutil.which("groff"):
        for name, page in pages.items():
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True)
            assert done.returncode == 0 and done.stderr == "", (name, done.stderr)


def problems(value, schema, place=""):
    """A validator of the words that our schemas use; an unknown word fails the test."""
    known = {"$schema", "title", "description", "default", "type", "enum", "minimum", "maximum",
             "properties", "additionalProperties", "items", "anyOf"}
    assert set(schema) <= known, set(schema) - known
    if "anyOf" in schema:
        return min((problems(value, one, place) for one in schema["anyOf"]), key=len)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
             "number": (int, float)}
    fits = isinstance(value, kinds[schema["type"]]) and (isinstance(value, bool) == (schema["type"] == "boolean"))
    if not fits:
        return [f"{place}: {value!r} is no {schema['type']}"]
    out = []
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{place}: {value!r} is not in {schema['enum']}")
    if value_below(value, schema) or value_above(value, schema):
        out.append(f"{place}: {value} is out of range")
    if isinstance(value, dict):
        assert schema["additionalProperties"] is False
        for key, inner in value.items():
            if key in schema["properties"]:
                out += problems(inner, schema["properties"][key], f"{place}.{key}")
            else:
                out.append(f"{place}: unknown key {key}")
    if isinstance(value, list):
        for inner in value:
            out += problems(inner, schema["items"], place)
    return out


def value_below(value, schema):
    return "minimum" in schema and value < schema["minimum"]


def value_above(value, schema):
    return "maximum" in schema and value > schema["maximum"]


@pytest.mark.rivals  # the file has their keys
@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_schema_files_are_what_the_program_prints(kind):
    assert SCHEMAS[kind].read_text() == adagp("list", kind).stdout, f"adagp list {kind} > {SCHEMAS[kind]}"


def schema_of(path):
    """As an editor finds it: by the comment in the first line."""
    first = path.read_text().splitlines()[0]
    assert first.startswith("#:schema "), path
    return json.loads((path.parent / first.removeprefix("#:schema ")).resolve(strict=True).read_text())


@pytest.mark.parametrize("path", RECIPES + ACCELERATORS, ids=lambda path: path.name)
def test_every_recipe_and_accelerator_fits_its_schema(path):
    assert problems(tomllib.loads(path.read_text()), schema_of(path)) == []


@pytest.mark.parametrize("text,word", [
    ("epoch = 3", "unknown key epoch"), ("epochs = '3'", "'3' is no integer"), ("epochs = 0", "out of range"),
    ("epochs = 2.5", "no integer"), ("head = 'none'", "not in"), ("[optim]\nlearning = 1", "unknown key learning"),
    ("optim = 3", "no object"), ("[augment]\nflip = 1", "no boolean")])
def test_the_schema_catches_wrong_keys_types_and_values(text, word):
    schema = json.loads(adagp("list", "schema").stdout)
    found = problems(tomllib.loads(text), schema)
    assert len(found) == 1 and word in found[0], found


@pytest.mark.parametrize("text", ["array.rows = 'x'", "array.row = 3", "word_bytes = 1.5", "dataflow = 3",
                                  "double_buffer = true", "clock_mhz = -1.0"])
def test_schema_and_program_refuse_the_same_accelerators(tmp_path, text):
    schema = json.loads(adagp("list", "accelerator-schema").stdout)
    assert problems(tomllib.loads(text), schema)
    path = tmp_path / "a.toml"
    path.write_text(text + "\n")
    adagp("simulate", "--model", "resnet8", "--input", "cifar", "--accelerator", path, code=2)


def test_every_key_is_in_the_schema_with_its_default():
    for kind, keys in (("schema", "keys"), ("accelerator-schema", "accelerator-keys")):
        schema = json.loads(adagp("list", kind).stdout)
        for key in json.loads(adagp("list", keys, "--json").stdout):
            entry = schema
            for part in key["name"].split("."):
                entry = entry["properties"][part]
            assert entry["description"] == key["about"]
            if "default" in entry:
                assert tomllib.loads(f"x = {key['default']}")["x"] == entry["default"], key
