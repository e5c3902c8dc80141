// Draws every figure from its data, in the available width.
(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const settings = { responsive: true, displayModeBar: false, displaylogo: false };
  const narrow = 600;
  const defaultHeight = 450;
  const maxEntries = 10;
  const paper = { width: 660, height: 400 };

  // The title of an axis, wrapped for a narrow screen.
  function wrapped(text) {
    const lines = [""];
    text.split(" ").forEach(function (word) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + word.length > 34) { lines.push(word); }
      else { lines[last] += (lines[last] ? " " : "") + word; }
    });
    return lines.join("<br>");
  }

  // Legends of many classes are right of the plot; on a narrow screen below it, if they are short.
  function fitted(figure, width) {
    const copy = JSON.parse(JSON.stringify(figure.layout));
    const entries = figure.data.filter(function (trace) {
      return trace.showlegend !== false && trace.type !== "heatmap";
    }).length;
    if (entries > maxEntries) {
      copy.legend = Object.assign({}, copy.legend, { x: 1.02, xanchor: "left", y: 1, yanchor: "top" });
    }
    if (width < narrow) {
      copy.margin = Object.assign({}, copy.margin, { l: 56, r: 12 });
      copy.font = Object.assign({}, copy.font, { size: 11 });
      Object.keys(copy).filter(function (name) { return /^xaxis/.test(name); }).forEach(function (name) {
        const title = copy[name].title;
        if (title && title.text) { title.text = wrapped(title.text); }
      });
      const height = copy.height || defaultHeight;
      if (copy.showlegend !== false) { copy.showlegend = entries > 1 && entries <= maxEntries; }
      if (copy.showlegend) {
        copy.legend = Object.assign({}, copy.legend, {
          orientation: "h", x: 0, xanchor: "left", y: -75 / (height - 84), yanchor: "top",
        });
        copy.height = height + 20 * entries;
      }
    }
    return copy;
  }

  function places() {
    return Object.keys(figures).map(function (name) { return document.getElementById(name); });
  }

  places().forEach(function (place) {
    const figure = figures[place.id];
    place.style.minHeight = (figure.layout.height || defaultHeight) + "px";
    Plotly.newPlot(place, {
      data: figure.data, layout: fitted(figure, place.clientWidth), frames: figure.frames || [], config: settings,
    });
  });

  window.addEventListener("beforeprint", function () {
    places().forEach(function (place) { 
      const height = Math.min(figures[place.id].layout.height || defaultHeight, paper.height);
      Plotly.relayout(place, { width: paper.width, height: height, autosize: false });
    });
  });
  window.addEventListener("afterprint", function () {
    places().forEach(function (place) { 
      Plotly.relayout(place, { width: null, height: figures[place.id].layout.height || null, autosize: true });
    });
  });
})();
