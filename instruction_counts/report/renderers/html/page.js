"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector, from = document) => from.querySelector(selector);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Rows that unfold.
  for (const button of all("button.unfold")) {
    const details = button.closest("tr").nextElementSibling;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      details.hidden = !open;
      if (open) draw(details);
    });
  }

  // Headings stand above the rows of a group; where these are sorted or filtered, each says its path.
  const headings = ".row.strong:not([data-case])";
  function flatten(table, flat) {
    if (!one(headings, table)) return;
    for (const row of all(".row", table)) {
      const cell = row.cells[0], name = (one("button, a", cell) ?? cell).firstChild;
      cell.dataset.leaf ??= name.data;
      name.data = flat && row.dataset.case || cell.dataset.leaf;
      cell.classList.toggle("path", flat);
      if (row.matches(headings)) row.hidden = flat;
    }
  }

  // Sorting: numbers by their value, texts by their letters; what is not known comes last.
  const compare = (one, other) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
  };
  for (const button of all("button.sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const table = head.closest("table");
      const place = [...head.parentNode.children].indexOf(head);
      const down = button.dataset.order === "up";
      for (const other of all("button.sort", table)) {
        delete other.dataset.order;
        other.closest("th").removeAttribute("aria-sort");
      }
      button.dataset.order = down ? "down" : "up";
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = one("tbody", table);
      const rows = all(":scope > .row", body).map((row) => [
        row,
        row.nextElementSibling?.classList.contains("details") ? row.nextElementSibling : null,
        row.children[place].dataset.sort,
      ]);
      rows.sort((a, b) => {
        const unknown = a[2] === "" || b[2] === "";
        return (down && !unknown ? -1 : 1) * compare(a[2], b[2]);
      });
      for (const [row, details] of rows) body.append(row, ...(details ? [details] : []));
      flatten(table, true);
    });
  }

  // Filtering: the rows of all tables by what stands in them, but not those inside a row that unfolds.
  const filter = one("#filter");
  filter?.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const table of all("table.sortable")) {
      flatten(table, words.length > 0 || one("[aria-sort]", table) !== null);
    }
    let shown = 0;
    const rows = all("section > .scroll .row, section > details > .scroll .row")
      .filter((row) => !row.closest(".details") && !row.matches(headings));
    for (const row of rows) {
      const text = `${row.dataset.case ?? ""} ${row.textContent}`.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      row.hidden = !fits;
      shown += fits;
      const details = row.nextElementSibling;
      if (details?.classList.contains("details")) {
        details.hidden = !fits || one(".unfold", row)?.getAttribute("aria-expanded") !== "true";
      }
      if (fits && words.length) row.closest("details")?.setAttribute("open", "");
    }
    one("#matches").textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });

  // Charts.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const layout = (more = {}) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--ink") }, margin: { t: 20, r: 10, b: 50, l: 70 }, ...more,
  });
  const options = { displaylogo: false, responsive: true };
  const axis = (title, logarithmic) => ({
    title: { text: title }, gridcolor: colour("--rule"), automargin: true,
    ...(logarithmic ? { type: "log", dtick: 1, exponentformat: "SI" } : { tickformat: "," }),
  });
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");

  function draw(within = document) {
    for (const place of all(".chart", within)) {
      if (place.closest("[hidden]") || place.dataset.drawn) continue;
      place.dataset.drawn = "yes";
      const chart = JSON.parse(one("script", place).textContent);
      if (chart.kind === "treemap") {
        const { labels, x, y } = chart.series[0];
        Plotly.newPlot(place, [{
          type: "treemap", ids: labels, parents: x, values: y, branchvalues: "total",
          labels: labels.map((label) => plain(label.split(" / ").pop())),
          hovertemplate: "%{id}<br>%{value:,}<extra></extra>",
        }], layout({ margin: { t: 5, r: 5, b: 5, l: 5 } }), options);
        continue;
      }
      const level = { color: colour("--warning"), width: 1.5, dash: "dot" };
      Plotly.newPlot(place, chart.series.map((series, at) => ({
        type: "scatter",
        ...(series.level ? { mode: "lines", line: level, legendgroup: "level",
          showlegend: chart.series.findIndex((other) => other.level) === at }
          : { mode: chart.kind === "lines" ? "lines+markers" : "markers" }),
        name: plain(series.name), x: series.x, y: series.y, text: series.labels.map(plain),
        hovertemplate: "%{text}<br>%{x}, %{y:,}<extra></extra>",
      })), layout({
        xaxis: axis(chart.x, chart.logarithmic && chart.kind === "points"),
        yaxis: axis(chart.y, chart.logarithmic), showlegend: chart.series.length > 1,
      }), options);
    }
  }

  // The flame graph: an icicle, callers above what they call.
  function flame() {
    const stored = one("#nodes");
    if (!stored) return;
    const nodes = JSON.parse(stored.textContent);
    const place = one("#icicle");
    const number = nodes.name.length;
    const ids = nodes.name.map((_, at) => String(at));
    const parents = nodes.parent.map((parent) => (parent < 0 ? "" : String(parent)));
    const count = (value) => value.toLocaleString("en");
    const signed = (value) => (value > 0 ? "+" : "") + count(value);
    const changes = nodes.new.map((now, at) => now - nodes.base[at]);
    const said = nodes.name.map((name, at) => {
      const [base, now] = [nodes.base[at], nodes.new[at]];
      const both = base === now ? count(now) : `${count(base)} → ${count(now)} (${signed(changes[at])})`;
      const mark = base === 0 && now > 0 ? "  new" : now === 0 && base > 0 ? "  gone" : "";
      return `${name}  ${both}${mark}${nodes.place[at] ? `  ${nodes.place[at]}` : ""}`;
    });
    // Of the change, a node is as wide as what changed in it and below it.
    const own = [...changes];
    for (let at = number - 1; at > 0; at--) own[nodes.parent[at]] -= changes[at];
    const moved = own.map(Math.abs);
    for (let at = number - 1; at > 0; at--) moved[nodes.parent[at]] += moved[at];
    const widths = { base: nodes.base, new: nodes.new, difference: moved };
    const largest = Math.max(1, ...changes.slice(1).map(Math.abs));
    const mix = (share, to) => {
      const from = dark.matches ? [52, 62, 70] : [228, 232, 236];
      return `rgb(${from.map((part, at) => Math.round(part + (to[at] - part) * share)).join(",")})`;
    };
    const shade = (at, found) => {
      if (found) return dark.matches ? "#b48ead" : "#d9b3ff";
      const change = changes[at];
      if (!change) return mix(0, [0, 0, 0]);
      const share = 0.25 + 0.75 * Math.sqrt(Math.abs(change) / largest);
      const to = dark.matches ? (change > 0 ? [200, 70, 60] : [50, 130, 190])
        : (change > 0 ? [240, 130, 110] : [110, 180, 230]);
      return mix(Math.min(1, share), to);
    };
    // A row is as high as its text, unless there are too many for the window.
    const depth = nodes.parent.reduce((found, parent) => [...found, parent < 0 ? 1 : found[parent] + 1], []);
    place.style.height = `${Math.min(0.7 * innerHeight, 40 + 26 * Math.max(...depth))}px`;
    const state = { side: "new", level: "0", words: "" };
    const matches = (at) => state.words
      && `${nodes.name[at]} ${nodes.place[at]}`.toLowerCase().includes(state.words);

    function show() {
      const values = widths[state.side];
      const seen = ids.map(Number).filter((at) => values[at]);
      if (!values[state.level]) state.level = "0";
      Plotly.react(place, [{
        type: "icicle", branchvalues: "total", level: state.level, sort: false,
        ids: seen.map((at) => ids[at]), parents: seen.map((at) => parents[at]),
        values: seen.map((at) => values[at]), labels: seen.map((at) => plain(nodes.label[at])),
        text: seen.map((at) => plain(said[at])), textinfo: "label",
        hovertemplate: "%{text}<extra></extra>", tiling: { orientation: "v" }, maxdepth: 40,
        marker: {
          colors: seen.map((at) => shade(at, matches(at))),
          line: { width: 0.5, color: colour("--paper") },
        },
        pathbar: { visible: true, side: "top" }, textfont: { color: colour("--ink") },
      }], layout({
        margin: { t: 28, r: 2, b: 2, l: 2 }, uniformtext: { minsize: 10, mode: "hide" },
      }), { ...options, displayModeBar: false });
    }
    function choose(at) {
      state.level = String(at);
      one("#chosen").textContent = said[at];
      show();
    }
    show();
    place.on("plotly_icicleclick", (event) => {
      const at = Number(event.points[0].id ?? event.nextLevel ?? 0);
      one("#chosen").textContent = said[at];
      state.level = event.nextLevel === undefined || event.nextLevel === "" ? "0" : String(event.nextLevel);
    });
    for (const button of all("[data-side]")) {
      button.addEventListener("click", () => {
        state.side = button.dataset.side;
        for (const other of all("[data-side]")) other.setAttribute("aria-pressed", String(other === button));
        show();
      });
    }
    one("#whole").addEventListener("click", () => choose(0));
    one("#find").addEventListener("input", (event) => {
      state.words = event.target.value.trim().toLowerCase();
      const hits = state.words ? ids.map(Number).filter((at) => at && matches(at)) : [];
      hits.sort((a, b) => Math.max(nodes.new[b], nodes.base[b]) - Math.max(nodes.new[a], nodes.base[a]));
      one("#found").textContent = state.words ? `${hits.length} found` : "";
      one("#hits").replaceChildren(...hits.slice(0, 8).map((at) => {
        const [item, button] = [document.createElement("li"), document.createElement("button")];
        button.type = "button";
        button.textContent = said[at];
        button.addEventListener("click", () => choose(at));
        item.append(button);
        return item;
      }));
      show();
    });
    dark.addEventListener("change", show);
  }

  draw();
  for (const details of all("details")) details.addEventListener("toggle", () => draw(details));
  flame();
})();
