// Draws the page's charts anew, so that they answer to the pointer: values, tiers on and off, zoom.
// A chart is replaced only once its drawing stands; until then, in print and without scripts the
// static one is shown.
(async () => {
  "use strict";
  async function unpacked(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // A table is packed as its columns: field → its values.
  function rowsOf(table) {
    if (Array.isArray(table)) return table;
    const columns = Object.entries(table);
    const count = columns.length ? columns[0][1].length : 0;
    const row = (place) => Object.fromEntries(columns.map(([field, all]) => [field, all[place]]));
    return Array.from({ length: count }, (_, place) => row(place));
  }

  // Without scripts a link to the file stands in the place of each drawing below the first screen.
  const stills = JSON.parse(await unpacked("stills"));
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const link = figure.querySelector(".still");
    if (link) link.outerHTML = stills[figure.dataset.chart];
  }
  const { config, charts } = JSON.parse(await unpacked("drawings"));
  for (const { datasets } of Object.values(charts)) {
    for (const [name, table] of Object.entries(datasets)) datasets[name] = rowsOf(table);
  }
  const vega = document.createElement("script");
  vega.textContent = await unpacked("vega"); // the page's policy knows its checksum
  document.head.append(vega);
  const views = new Map(); // figure → its Vega view
  const hidden = new Set(); // tiers that are switched off

  const fits = (spec) => typeof spec.width === "number"; // panels have a size of their own

  function hide(figure, view) {
    for (const [name, rows] of Object.entries(charts[figure.dataset.chart].datasets)) {
      const shown = rows.filter((row) => !hidden.has(row.tier)).map((row) => ({ ...row }));
      if (rows.some((row) => "tier" in row)) view.data(name, shown);
    }
    return view.runAsync();
  }

  async function draw(figure) {
    const still = figure.querySelector("svg").getBoundingClientRect();
    const text = JSON.stringify(charts[figure.dataset.chart]);
    const spec = JSON.parse(text, (key, value) => (key === "legend" ? null : value));
    if (fits(spec)) {
      const autosize = { type: "fit", contains: "padding" };
      Object.assign(spec, { width: still.width, height: still.height, autosize });
    }
    const place = document.createElement("div");
    place.className = "live";
    figure.querySelector("svg").after(place);
    try {
      const { view } = await vegaEmbed(place, spec, {
        actions: false,
        ast: true, // expressions are read, not made into code, which the page's policy forbids
        config,
        defaultStyle: false,
        mode: "vega-lite",
        renderer: "svg",
        tooltip: { disableDefaultStyle: true },
      });
      place.setAttribute("role", "img"); // one image to those who hear the page
      place.setAttribute("aria-label", spec.description);
      for (const part of place.children) part.setAttribute("aria-hidden", "true");
      await hide(figure, view);
      views.set(figure, view);
      together(figure, view);
      figure.classList.add("drawn");
      document.body.classList.add("drawn");
    } catch (error) {
      place.remove();
      console.error(`${figure.dataset.chart} stays as it is:`, error);
    }
  }

  // Charts side by side over the same time show the same stretch of it. Vega names the signal after
  // the selection and the field that it is made on (see `live.py`).
  const SPAN = "zoom_left";
  const spans = new Map(); // group of charts → the stretch shown
  function together(figure, view) {
    const group = figure.parentElement;
    if (!(SPAN in view.getState().signals)) return;
    if (spans.has(group)) view.signal(SPAN, spans.get(group)).runAsync();
    view.addSignalListener(SPAN, (_, span) => {
      if (same(spans.get(group), span)) return;
      spans.set(group, span);
      for (const other of group.children) {
        const beside = views.get(other);
        if (beside && beside !== view && SPAN in beside.getState().signals) {
          beside.signal(SPAN, span).runAsync();
        }
      }
    });
  }
  const same = (one, two) => JSON.stringify(one ?? null) === JSON.stringify(two ?? null);

  function toggle(tier) {
    if (!hidden.delete(tier)) hidden.add(tier);
    for (const button of document.querySelectorAll(".legend [data-tier]")) {
      button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.tier)));
    }
    for (const [figure, view] of views) hide(figure, view);
  }

  for (const name of document.querySelectorAll(".legend [data-tier]")) {
    name.setAttribute("role", "button");
    name.setAttribute("aria-pressed", "true");
    name.tabIndex = 0;
    name.addEventListener("click", () => toggle(name.dataset.tier));
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(name.dataset.tier);
    });
  }

  // What the pointer shows: field → its title.
  const titles = (spec) => {
    const found = {};
    JSON.stringify(spec, (key, value) => {
      for (const one of key === "tooltip" && Array.isArray(value) ? value : []) {
        found[one.field] = one.title ?? one.field;
      }
      return value;
    });
    return found;
  };

  // The values of a drawing as tables, for those who do not see it; made when they are asked for.
  function tabulate(details, { datasets, ...spec }) {
    const known = titles(spec);
    for (const [name, rows] of Object.entries(datasets)) {
      const all = Object.keys(rows[0] ?? {});
      const told = Object.keys(known).filter((field) => all.includes(field));
      const fields = told.length ? told : all;
      const table = document.createElement("table");
      table.createCaption().textContent = name;
      const head = table.createTHead().insertRow();
      for (const field of fields) {
        const cell = head.appendChild(document.createElement("th"));
        cell.scope = "col";
        cell.textContent = known[field] ?? field;
      }
      const body = table.createTBody();
      for (const row of rows) {
        const line = body.insertRow();
        for (const field of fields) line.insertCell().textContent = row[field] ?? "";
      }
      details.append(table);
    }
  }

  for (const figure of document.querySelectorAll("[data-chart]")) {
    const details = figure.appendChild(document.createElement("details"));
    details.className = "data";
    details.appendChild(document.createElement("summary")).textContent = "Values";
    const chart = charts[figure.dataset.chart];
    details.addEventListener("toggle", () => tabulate(details, chart), { once: true });
  }

  // Only what comes near the window is drawn: a page may have a hundred charts.
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "600px" });
  for (const figure of document.querySelectorAll("[data-chart]")) seen.observe(figure);

  let settled;
  addEventListener("resize", () => {
    clearTimeout(settled);
    settled = setTimeout(() => {
      for (const [figure, view] of views) {
        const { clientWidth } = figure.querySelector(".live");
        if (clientWidth && fits(charts[figure.dataset.chart])) view.width(clientWidth).runAsync();
      }
    }, 150);
  });
})();
