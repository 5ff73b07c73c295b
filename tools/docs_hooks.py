# SPDX-License-Identifier: Apache-2.0
"""What mkdocs.yml needs beside docs/: pages that stand at the root of the tree, the notebooks, the reference of the
package and the public headers.

Links between pages work in the tree and on the site. Links to folders of the tree have no page; here they become text.
"""

import json
import re
from pathlib import Path

from docs_reference import reference
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
AT_THE_ROOT = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
AT_THE_ROOT["SECURITY.md"] = "SECURITY.md"


def _link_on_site(match, folder):
    """`[text](target)` of a page in `folder`, a path under the root."""
    text, target = match.group(1), match.group(2)
    if re.match(r"[a-z]+:|#", target):  # another site, a picture in the page, a heading
        return match.group(0)
    path, hash_mark, anchor = target.partition("#")
    there = (ROOT / folder / path).resolve()
    if not there.is_relative_to(ROOT):
        return text
    name = there.relative_to(ROOT).as_posix()
    if name in AT_THE_ROOT:
        page = AT_THE_ROOT[name]
    elif name.startswith("docs/") and not there.is_dir():
        page = name.removeprefix("docs/")
    else:
        return f"`{name}`"
    up = "../" * (len(Path(folder).parts) - 1) if folder.startswith("docs") else ""
    return f"[{text}]({up}{page}{hash_mark}{anchor})"


def _adapted(text, folder):
    return re.sub(r"\[([^\]\[]*)\]\(([^)\s]+)\)", lambda match: _link_on_site(match, folder), text)


def _headers(module):
    """The headers of a module, each with its opening comment as text and the rest as code."""
    folder = ROOT / "include" / "nibble" / module if module else ROOT / "include"
    lines = [f"# {'nibble/' + module if module else 'nibble.h: the engine for C'}"]
    for path in sorted(folder.glob("*.h" if module else "nibble.h")):
        text = path.read_text(encoding="utf-8")
        comment = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)*)", text)
        opening = re.sub(r"^// ?", "", comment.group(1), flags=re.M).strip() if comment else ""
        rest = text[comment.end() :].strip() if comment else text
        lines += ["", f"## {path.name}", "", opening, "", "```cpp", rest, "```"]
    return "\n".join(lines) + "\n"


def _notebook(path):
    """A notebook as a page: its text, its code and what that printed or drew."""
    lines = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        lines += ["", source] if cell["cell_type"] == "markdown" else ["", "```python", source, "```"]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = "".join(output.get("text") or data.get("text/plain", ""))
            if "image/png" in data:
                lines += ["", f"![a figure](data:image/png;base64,{''.join(data['image/png']).strip()})"]
            elif "text/html" in data:
                lines += ["", "".join(data["text/html"])]
            elif text:
                lines += ["", "```text", text.rstrip(), "```"]
    return "\n".join(lines).strip() + "\n"


def _modules():
    return sorted(folder.name for folder in (ROOT / "include" / "nibble").iterdir() if folder.is_dir())


def on_config(config):
    pages = [{"C": "headers/nibble.md"}, *({module: f"headers/{module}.md"} for module in _modules())]
    config.nav.insert(-1, {"C and C++": pages})
    return config


def on_files(files, config):
    for source, page in AT_THE_ROOT.items():
        text = _adapted((ROOT / source).read_text(encoding="utf-8"), ".")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "reference.md", content=reference()))
    for path in sorted((ROOT / "python" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=_notebook(path)))
    files.append(File.generated(config, "headers/nibble.md", content=_headers("")))
    for module in _modules():
        files.append(File.generated(config, f"headers/{module}.md", content=_headers(module)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by is not None:
        return markdown
    return _adapted(markdown, (Path("docs") / page.file.src_uri).parent.as_posix())
