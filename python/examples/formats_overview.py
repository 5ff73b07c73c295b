# SPDX-License-Identifier: Apache-2.0
"""Draws which numbers the formats hold, and how far from a number the nearest one is.

python formats_overview.py formats-overview.png
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import nibble

ROWS = [  # format, color, what it is
    ("fixed(8,4)", "#0f766e", "fixed point"),
    ("bfp(8)", "#0f766e", "block, exponent 0"),
    ("e3m4", "#1d4ed8", "float"),
    ("e4m3", "#1d4ed8", "float"),
    ("e5m2", "#1d4ed8", "float"),
    ("e3m2", "#6d28d9", "6 bits"),
    ("e2m3", "#6d28d9", "6 bits"),
    ("e2m1", "#6d28d9", "4 bits"),
    ("posit(8,0)", "#c2410c", "posit"),
    ("posit(8,1)", "#c2410c", "posit"),
    ("posit(8,2)", "#c2410c", "posit"),
    ("codebook(nf4)", "#a16207", "table"),
    ("codebook(act_format)", "#a16207", "table"),
]
CURVES = [("fixed(8,4)", "#0f766e"), ("e4m3", "#1d4ed8"), ("e5m2", "#7dabf8"), ("posit(8,1)", "#c2410c")]
LOW, HIGH = -18, 18
TICKS = range(-16, 17, 4)


def positive_values(text: str) -> np.ndarray:
    values = nibble.Format(text).values()
    return np.sort(values[(values > 0) & np.isfinite(values)])


def draw_values(axes) -> None:
    for row, (text, color, kind) in enumerate(ROWS):
        values = positive_values(text)
        axes.vlines(np.log2(values), row - 0.36, row + 0.36, color=color, linewidth=0.9, alpha=0.9)
        axes.text(
            LOW - 0.4,
            row,
            text.replace("codebook(", "").replace("_format)", "_format").replace("nf4)", "nf4"),
            ha="right",
            va="center",
            fontsize=9,
            color="#111827",
        )
        axes.text(HIGH + 0.4, row, f"{kind}, {len(values)}", ha="left", va="center", fontsize=8, color="#6b7280")
    axes.set_ylim(len(ROWS) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_title("Positive numbers that each format holds, and how many", loc="left", fontsize=12)


def draw_errors(axes) -> None:
    exponents = np.arange(LOW, HIGH)
    x = np.exp2(exponents)[:, None] * np.linspace(1, 2, 4096, endpoint=False)  # a binade a row
    x = x.astype(np.float32)
    for text, color in CURVES:
        worst = (np.abs(nibble.quantize(x, text) - x) / x).max(1)
        axes.stairs(worst, np.arange(LOW, HIGH + 1), color=color, linewidth=2, label=text, baseline=None)
    axes.set_yscale("log")
    axes.set_ylim(0.003, 4.5)
    axes.set_yticks([0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    axes.set_yticklabels(["0.3 %", "1 %", "3 %", "10 %", "30 %", "100 %", "300 %"])
    axes.minorticks_off()
    axes.set_title("Largest relative error of rounding to nearest, by binade", loc="left", fontsize=12)
    axes.set_xlabel("magnitude")
    axes.legend(frameon=False, ncol=len(CURVES), loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9)


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "formats-overview.png"
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(10.5, 8.6), dpi=150, sharex=True, gridspec_kw={"height_ratios": [1.55, 1]}
    )
    draw_values(top)
    draw_errors(bottom)
    for axes in (top, bottom):
        axes.set_xlim(LOW, HIGH)
        axes.set_xticks(TICKS)
        axes.set_xticklabels([f"$2^{{{k}}}$" for k in TICKS])
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
    bottom.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    top.tick_params(labelbottom=True)
    figure.subplots_adjust(left=0.15, right=0.83, top=0.95, bottom=0.1, hspace=0.22)
    figure.savefig(path)

    print(f"{'format':24}{'bits':>5}{'values':>8}{'smallest':>12}{'largest':>12}")
    for text, _, _ in ROWS:
        values = positive_values(text)
        print(
            f"{text:24}{nibble.Format(text).bits:5}{np.isfinite(nibble.Format(text).values()).sum():8}{values[0]:12.4g}{values[-1]:12.4g}"
        )


if __name__ == "__main__":
    main()
