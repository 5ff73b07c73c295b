# SPDX-License-Identifier: Apache-2.0
"""The reference of the package: every name of every `__all__`, and what those give back, by the names that users write.

Read from the sources, which need not be built; what the extensions have of their own stands in tools/docs_stubs.
"""

import ast
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "python"

# Where the names of `nibble` stand on the page: the modules that have them, by heading. Modules of WHOLE are shown whole.
HEADINGS = {
    "Arrays": "_core rounding codes statistics product formats integers",
    "Networks": "engine model quantization training network data catalog evaluation conversion inspection sweeping placement "
    "limits",
    "Options as keywords": "keywords",
    "LoadGen": "mlperf",
    "Pictures": "plot",
    "Errors": "errors",
}
MODULES = " ".join(HEADINGS.values()).split()
WHOLE = "integers", "mlperf", "plot", "errors"

# What of torch's modules no `__all__` names and functions give back; `_networks.Engine` lends its class what the extension computes.
ALSO = {"torch.lower_report": "Report LayerReport", "torch.quantizer": "QuantizerFunction"}
INHERITED = {"nibble.engine.Engine": ["run", "answers", "device", "threads", "weight_bytes", "arena_bytes"]}


def _file_of(module):
    """The file of a module or a package; None where the name is no module."""
    path = SOURCES.joinpath(*module.split("."))
    return next((each for each in (path / "__init__.py", path.with_suffix(".py")) if each.exists()), None)


def _imports(module):
    """(name, module it comes from, its name there), for what a module imports in its own head."""
    file = _file_of(module)
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield alias.asname or alias.name, source, alias.name


def names_of(module):
    """What a module's `__all__` lists; nothing where it has none."""
    for node in ast.parse(_file_of(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == ["__all__"]:
            return ast.literal_eval(node.value)
    return []


def place_of(module, name):
    """Where what `module` calls `name` is defined, as `nibble.rounding.quantize`."""
    for imported, source, there in _imports(module):
        if imported == name and source.split(".")[0] == "nibble":
            own = _file_of(source)
            if own is not None and own.name == "__init__.py":
                return f"{source}.{there}" if _file_of(f"{source}.{there}") else place_of(source, there)
            return f"{source}.{there}"
    return f"{module}.{name}"


def offered():
    """(module, name, where it is defined) of every name of every `__all__`."""
    for file in sorted(SOURCES.joinpath("nibble").rglob("*.py")):
        module = ".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        for name in names_of(module):
            yield module, name, place_of(module, name)


def _block(place, level, **options):
    options = {"heading_level": level, **options}
    return [f"\n::: {place}\n    options:", *(f"      {key}: {value}" for key, value in options.items())]


def _entry(shown, place):
    inherited = {"inherited_members": INHERITED[place]} if place in INHERITED else {}
    return _block(place, 3, heading=shown, toc_label=shown, **inherited)


def _also(module):
    """(shown, place) of what else a module has: one under a heading all its classes, which functions take or give back."""
    file = None if module in WHOLE else _file_of(f"nibble.{module}")
    if module in ALSO:
        names = ALSO[module].split()
    else:
        body = ast.parse(file.read_text(encoding="utf-8")).body if file else []
        classes = [node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        names = [name for name in classes if name not in names_of("nibble")]
    return [(f"nibble.{module}.{name}", f"nibble.{module}.{name}") for name in names]


def reference():
    """The page, as Markdown."""
    lines = ["# Reference", "", "Made from the docstrings of the package, by the names that programs write."]
    rows = {module: [] for module in MODULES}
    for module, name, place in offered():
        if module == "nibble" and place.removeprefix("nibble.") not in WHOLE:
            rows[place.split(".")[1]].append((f"nibble.{name}", place))  # a module without a heading ends the build
    for heading, modules in HEADINGS.items():
        lines += ["", f"## {heading}"]
        for module in modules.split():
            if module in WHOLE:
                lines += _block(f"nibble.{module}", 3)
                continue
            for shown, place in [*rows[module], *_also(module)]:
                lines += _entry(shown, place)
    seen = {place for each in rows.values() for _, place in each}
    packages = {module for module, *_ in offered()} - {"nibble"}
    for package in sorted(packages, key=lambda name: (not name.startswith("nibble.torch"), name)):
        entries = [(f"{package}.{name}", place) for module, name, place in offered() if module == package]
        new = [(shown, place) for shown, place in entries if place not in seen and not _file_of(place)]
        if not new:
            continue  # a module whose names a package above it has shown
        seen |= {place for _, place in new}
        lines += _block(package, 2, members="false", toc_label=package)
        also = [each for module in ALSO if f"nibble.{module}".startswith(f"{package}.") for each in _also(module)]
        for shown, place in [*new, *also]:
            lines += _entry(shown, place)
    return "\n".join(lines) + "\n"


def anchors():
    """The places that have to be on the page."""
    named = {place for _, _, place in offered()}
    also = {place for module in (*MODULES, *ALSO) for _, place in _also(module)}
    inherited = {f"{place}.{member}" for place, members in INHERITED.items() for member in members}
    return sorted(named | also | inherited)
