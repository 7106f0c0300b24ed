"""The look of the page: light and dark as the reader's system has it, on a phone, on paper."""

CSS = """
:root { color-scheme: light dark; --ink: #1c2127; --soft: #5b6470; --back: #fdfdfc; --box: #f4f5f3; --line: #d9dcdf;
  --accent: #00609a; --good: #1b7a43; --fair: #8a5a00; --bad: #b3261e; --warm: 0 114 178; --most: 0.34; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a3abb4; --back: #14171a; --box: #1d2125;
  --line: #363c43; --accent: #6cb8ea; --good: #6fcf97; --fair: #e5b567; --bad: #ff8a80; --warm: 86 180 233;
  --most: 0.3; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 84rem; background: var(--back);
  color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); line-height: 1.2; margin: 0.5rem 0; letter-spacing: -0.01em; }
h2 { font-size: 1.45rem; line-height: 1.3; margin: 3.2rem 0 0.6rem; padding-top: 1rem;
  border-top: 2px solid var(--line); }
h3 { font-size: 1.08rem; margin: 2rem 0 0.4rem; }
p, ul { max-width: 46rem; margin: 0.5rem 0; }
a { color: var(--accent); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; list-style: none; padding: 0; max-width: none; }
.soft, .note, small { color: var(--soft); }
.note { font-size: 0.86rem; }
.tally { display: flex; flex-wrap: wrap; gap: 0.6rem; padding: 0; list-style: none; max-width: none; }
.tally li { background: var(--box); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.5rem 1rem;
  min-width: 8.5rem; }
.tally b { display: block; font-size: 1.6rem; line-height: 1.2; }
.quick { border-left: 0.35rem solid var(--fair); background: var(--box); padding: 0.6rem 1rem; max-width: 46rem; }
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); } .dim { color: var(--soft); }
td .good, td .fair, td .bad { font-weight: 600; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
.wide:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; min-width: min(100%, 30rem); }
.title { font-weight: 600; margin: 1.2rem 0 0; max-width: none; } .title + .wide { margin-top: 0.3rem; }
th, td { padding: 0.35rem 0.7rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--back); z-index: 1; min-width: 7rem; }
th[scope=row], .words { text-align: left; }
td small, th small { display: block; font-weight: 400; font-size: 0.76rem; line-height: 1.35; white-space: nowrap; }
.claims td small, .claims th small { white-space: normal; }
.claims tbody th { position: static; font-weight: 400; min-width: 13rem; max-width: 24rem; }
.claims td:nth-child(2) { white-space: nowrap; }
.claims td:nth-child(3) { min-width: 18rem; }
.heat { background: rgb(var(--warm) / calc(var(--heat) * var(--heat) * var(--most))); }
td:not(.words) { white-space: nowrap; } p code { white-space: nowrap; }
code { font: 0.8rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.cells code { display: block; min-width: 26rem; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
figure { margin: 0.8rem 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: 0.82rem; color: var(--soft); }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 0.6rem 1.4rem; }
.panels figure { margin: 0; }
.roomy { overflow-x: auto; } .roomy svg { width: var(--natural); max-width: max(100%, 70rem); }
#run tbody th { min-width: 9rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 0 2rem;
  align-items: start; }
.pair > * { min-width: 0; } .single figure { max-width: 46rem; }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; padding: 0; list-style: none; font-size: 0.86rem;
  max-width: none; }
.key svg { width: 1.9rem; height: 0.7rem; vertical-align: middle; margin-right: 0.35rem; }
details { margin: 0.8rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) { body { font-size: 15px; } th, td { padding: 0.3rem 0.5rem; } tbody th { min-width: 5.5rem;
  max-width: 8.5rem; overflow-wrap: break-word; }
  .claims tr, .claims tbody th, .claims td { display: block; max-width: none; border: 0; padding: 0.1rem 0; }
  .claims thead { display: none; } .claims tr { border-bottom: 1px solid var(--line); padding: 0.6rem 0; } }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --back: #fff; --line: #bbb; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav, details:not([open]) { display: none; }
  .wide, .roomy { overflow: visible; } table { font-size: 7.5pt; } figure, tr, .quick { break-inside: avoid; }
  h2, h3, .title { break-after: avoid; } tbody th { position: static; } }
"""
