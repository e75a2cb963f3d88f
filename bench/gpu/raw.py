"""The raw folder of run.py: what was measured, as JSON."""

import json


def load(file):
    """{}: not there, or cut short by a kill."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def write(file, data):
    part = file.with_suffix(".part")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(file)


def usable(result):
    """None for what is not there or has failed; that was told when it was measured."""
    return None if not result or "error" in result else result


def of_this_kind(args, results):
    return [result for result in results if result.get("input", args.input) == args.input
            and result.get("batch") == args.batch]


def load_pytorch(raw):
    """All files as one; of a mode that was measured twice, the later."""
    merged, results = {}, {}
    for file in sorted(raw.glob("pytorch-*.json")):
        one = load(file)
        merged.update(one)
        for result in one.get("results", []):
            key = tuple(result.get(name) for name in ("model", "input", "batch", "mode"))
            results[key] = result
    return {**merged, "results": list(results.values())} if merged else {}


def refusal(about, before):
    """Why --resume cannot go on with what was measured before; '': it can."""
    def kept(one):
        versions = one.get("versions", {})
        return {**one.get("settings", {}), **{key: versions.get(key) for key in
                                              ("torch", "adagp", "commit")}}

    now, then = kept(about), kept(before)
    other = [f"{key} was {then.get(key)} and is {now[key]} now" for key in now
             if now[key] != then.get(key)]
    return (f"--resume: {', '.join(other)}; without --resume all is measured anew"
            if before and other else "")
