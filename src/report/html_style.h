// SPDX-License-Identifier: Apache-2.0
// The style sheet of the HTML report: light, dark, narrow and printed.
#pragma once

#include <string_view>

namespace nibble::inline report {

// --s0 to --s7 are the series of kPageTheme.
constexpr std::string_view kHtmlStyle = R"(
:root { color-scheme: light dark;
  --paper: #f6f7f9; --card: #ffffff; --ink: #1c2126; --grey: #5b6570; --rule: #dfe3e8;
  --mark: #fff3cd; --heat: #0b5f95; --on-heat: #ffffff; --accent: #0b5f95;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #b8529a;
  --s4: #3d9bd1; --s5: #a87400; --s6: #454b52; --s7: #7a7a1f; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171b; --card: #1d2126; --ink: #e7eaee; --grey: #9fa9b4; --rule: #353c45;
  --mark: #44390f; --heat: #58b4f0; --on-heat: #0c1a26; --accent: #6cbcf2;
  --s0: #4fa8e0; --s1: #ff8a3d; --s2: #2cc79a; --s3: #e59cc4;
  --s4: #9bd8ff; --s5: #e9b44c; --s6: #c3cad2; --s7: #c9c96a; } }
@media print { :root {
  --paper: #ffffff; --card: #ffffff; --ink: #000000; --grey: #444444; --rule: #cccccc;
  --mark: #fff3cd; --heat: #0b5f95; --on-heat: #ffffff; --accent: #0b5f95;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #b8529a;
  --s4: #3d9bd1; --s5: #a87400; --s6: #454b52; --s7: #7a7a1f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 38px 0 10px; }
p { margin: 4px 0 12px; max-width: 78ch; }
.note { color: var(--grey); font-size: 13.5px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 250px), 1fr));
  gap: 14px; margin: 20px 0; }
.card, figure, .box { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.card { padding: 14px 16px; border-top: 4px solid var(--rule); overflow-wrap: anywhere; }
.card .name { font-weight: 600; }
.card .big { font-size: 30px; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card .note { margin: 0; }
.box { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 10px; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; color: var(--grey); white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
td.wide { min-width: 16ch; max-width: 46ch; overflow-wrap: anywhere; }
caption { text-align: left; font-weight: 600; padding: 10px 12px 4px; overflow-wrap: anywhere; }
td.name { font-weight: 600; min-width: 20ch; max-width: 32ch; overflow-wrap: anywhere; }
td.short { white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
tr.differs td { background: var(--mark); }
.heat { width: auto; border-collapse: separate; border-spacing: 1px; font-size: 11px; }
.heat caption { font-size: 14px; padding: 2px 0 8px; white-space: nowrap; }
.heat th, .heat td { padding: 0 5px; border: 0; text-align: center; vertical-align: middle; }
.heat th { font-weight: 400; font-size: 11.5px; color: var(--ink); }
.heat th[scope=row] { text-align: right; }
.heat tr:first-child td { color: var(--grey); white-space: nowrap; vertical-align: bottom; }
.heat th + td, .heat td + td { min-width: 43px; height: 25px; background: color-mix(in srgb,
  var(--heat) var(--strength, 0%), color-mix(in srgb, var(--rule) 35%, var(--card))); }
.heat.small th + td, .heat.small td + td { min-width: 17px; height: 17px; padding: 0; }
.heat.turned th[scope=col] { writing-mode: vertical-rl; transform: rotate(180deg);
  text-align: left; padding: 5px 0; }
.heat .strong { color: var(--on-heat); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 12px; font-size: 14px; }
.legend span { display: inline-flex; align-items: center; gap: 8px; overflow-wrap: anywhere; }
.swatch { flex: none; width: 14px; height: 14px; border-radius: 3px; display: inline-block; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr));
  gap: 14px; }
.charts.pairs { grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); }
.charts + .box { margin-top: 14px; }
figure { margin: 0 0 14px; padding: 8px; }
.charts figure { margin: 0; }
.charts svg { width: 100%; max-width: 560px; height: auto; display: block; margin: 0 auto; }
figure.scroll { overflow-x: auto; }
figure.scroll svg { display: block; }
figcaption { color: var(--grey); font-size: 13px; padding: 4px 8px; }
details { margin: 10px 0; }
summary { cursor: pointer; color: var(--accent); padding: 4px 0; overflow-wrap: anywhere; }
.side { display: flex; flex-wrap: wrap; gap: 14px; align-items: flex-start; }
.side > * { max-width: 100%; min-width: 0; }
.side > .box { flex: 1 1 280px; margin-bottom: 14px; }
footer { margin-top: 44px; color: var(--grey); font-size: 13px; }
@media (max-width: 560px) { main { padding: 16px 10px 32px; } h1 { font-size: 22px; }
  th, td { padding: 5px 8px; } }
@media print { body { font-size: 11pt; } main { max-width: none; padding: 0; }
  figure, .card, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .box, figure.scroll { overflow: visible; } figure.scroll svg { max-width: 100%; height: auto; }
  .heat th + td, .heat td + td { min-width: 0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

}  // namespace nibble::inline report
