"""Pages in one file, which open from disk: our modules, our style and the data in one document."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files

FOLDER = files("fairlead.dashboard") / "files"
"""The parts of pages, which the service serves as it is."""

_IMPORT = re.compile(r'^import (\{[^;]*?\}) from "\./(\w+)\.js";$', re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


def page(title: str, module: str, data: Mapping[str, object]) -> str:
    """The document that `module` draws of the data. It loads nothing, and its policy forbids it:
    what runs is told by its digest."""
    script, style = bundle(module), _text("style.css")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{_digest(script)}'",
            f"style-src 'sha256-{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # A text with `</script>` in it must not end the element that holds it.
    tree = json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main></main>
<script type="application/json" id="data">{tree}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def bundle(module: str) -> str:
    """The module with all that it imports, each once and before whoever needs it, as one script in
    which each has names of its own."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        text = _text(f"{name}.js")
        for _, needed in _IMPORT.findall(text):
            if needed not in found:
                add(needed)
        offered = ", ".join(_EXPORT.findall(text))
        inside = _EXPORT.sub("", _IMPORT.sub(r"const \1 = of_\2;", text))
        found[name] = f"const of_{name} = (() => {{\n{inside}return {{ {offered} }};\n}})();\n"

    add(module)
    return "".join(found.values())


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
