// Draws the page's charts anew, so that they answer to the pointer: values, tiers on and off, zoom.
// A chart is replaced only once its drawing stands; until then, in print and without scripts the
// static one is shown.
(() => {
  "use strict";
  const { config, charts } = JSON.parse(document.getElementById("drawings").textContent);
  const views = new Map(); // figure → its Vega view
  const hidden = new Set(); // tiers that are switched off

  const rows = (columns) => {
    const table = [];
    for (const [name, values] of Object.entries(columns)) {
      const { words, at } = values;
      const plain = words ? at.map((place) => words[place]) : values;
      plain.forEach((value, row) => ((table[row] ??= {})[name] = value));
    }
    return table;
  };

  const fits = (spec) => typeof spec.width === "number"; // panels have a size of their own

  async function draw(figure) {
    const still = figure.querySelector("svg").getBoundingClientRect();
    const { datasets, ...spec } = charts[figure.dataset.chart];
    spec.datasets = Object.fromEntries(
      Object.entries(datasets).map(([name, columns]) => [name, rows(columns)]),
    );
    if (fits(spec)) {
      const autosize = { type: "fit", contains: "padding" };
      Object.assign(spec, { width: still.width, height: still.height, autosize });
    }
    const place = document.createElement("div");
    place.className = "live";
    figure.append(place);
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
      await view.signal("hidden", [...hidden]).runAsync();
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
    for (const view of views.values()) view.signal("hidden", [...hidden]).runAsync();
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
