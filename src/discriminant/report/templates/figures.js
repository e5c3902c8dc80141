// Draws every figure from its data, in the width there is.
(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const settings = { responsive: true, displayModeBar: false, displaylogo: false };
  const narrow = 600;
  const usual = 450;
  const most = 10;
  const paper = { width: 660, height: 400 };

  // An axis's name in lines that fit a narrow screen.
  function wrapped(text) {
    const lines = [""];
    text.split(" ").forEach(function (word) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + word.length > 34) { lines.push(word); }
      else { lines[last] += (lines[last] ? " " : "") + word; }
    });
    return lines.join("<br>");
  }

  // Legends of many classes stand beside the plot; on a narrow screen below it, if they are short enough to help.
  function fitted(figure, width) {
    const copy = JSON.parse(JSON.stringify(figure.layout));
    const entries = figure.data.filter(function (trace) {
      return trace.showlegend !== false && trace.type !== "heatmap";
    }).length;
    if (entries > most) {
      copy.legend = Object.assign({}, copy.legend, { x: 1.02, xanchor: "left", y: 1, yanchor: "top" });
    }
    if (width < narrow) {
      copy.margin = Object.assign({}, copy.margin, { l: 56, r: 12 });
      copy.font = Object.assign({}, copy.font, { size: 11 });
      Object.keys(copy).filter(function (name) { return /^xaxis/.test(name); }).forEach(function (name) {
        const title = copy[name].title;
        if (title && title.text) { title.text = wrapped(title.text); }
      });
      const height = copy.height || usual;
      if (copy.showlegend !== false) { copy.showlegend = entries > 1 && entries <= most; }
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
    place.style.minHeight = (figure.layout.height || usual) + "px";
    Plotly.newPlot(place, {
      data: figure.data, layout: fitted(figure, place.clientWidth), frames: figure.frames || [], config: settings,
    });
  });

  window.addEventListener("beforeprint", function () {
    places().forEach(function (place) { 
      const height = Math.min(figures[place.id].layout.height || usual, paper.height);
      Plotly.relayout(place, { width: paper.width, height: height, autosize: false });
    });
  });
  window.addEventListener("afterprint", function () {
    places().forEach(function (place) { 
      Plotly.relayout(place, { width: null, height: figures[place.id].layout.height || null, autosize: true });
    });
  });
})();
