// The sliders: counts, rates and cost at any threshold, cost ratio and share of the class.
(function () {
  "use strict";
  const source = document.getElementById("threshold-state");
  if (!source) { return; }
  const state = JSON.parse(source.textContent);
  const element = function (id) { return document.getElementById(id); };
  const threshold = element("threshold-value");
  const ratio = element("cost-ratio");
  const share = element("class-share");
  const chooser = element("threshold-class");
  const plot = element("plot-thresholds");
  // Prevalences from 0.1 % to 99.9 %, in even steps of the log-odds; the middle one is that of the rows.
  const shareSteps = 100;
  const maxLogOdds = Math.log(999);
  let own = 0.5;

  function current() { return state.classes[chooser ? Number(chooser.value) : 0]; }

  function shareNow() {
    const step = Number(share.value) - shareSteps / 2;
    if (step === 0) { return own; }
    const centre = Math.log(own / (1 - own));
    const range = step < 0 ? centre + maxLogOdds : maxLogOdds - centre;
    const odds = centre + Math.max(range, 1) * step / (shareSteps / 2);
    return 1 / (1 + Math.exp(-odds));
  }

  function costs(found, miss, part) {
    return found.thresholds.map(function (_, i) {
      const missed = 1 - found.hits[i] / found.positive;
      const alarmed = found.alarms[i] / found.negative;
      return 100 * (part * missed * miss + (1 - part) * alarmed);
    });
  }

  function cheapest(values) {
    const least = Math.min.apply(null, values);
    let place = 0; // ties: the highest threshold
    values.forEach(function (value, i) { if (value <= least * (1 + 1e-9) + 1e-12) { place = i; } });
    return place;
  }

  function plain(value) { return Number(value.toPrecision(3)).toString(); }
  // As in Python: shares near 0 or 1 have more digits.
  function percent(value) {
    if (!Number.isFinite(value)) { return "-"; }
    const rest = Math.min(value, 1 - value);
    const places = rest > 1e-9 && rest < 0.00095 ? -Math.floor(Math.log10(100 * rest)) : 1;
    return (100 * value).toFixed(places) + " %";
  }
  function count(value) {
    return value.toLocaleString("en-GB", { maximumFractionDigits: Number.isInteger(value) ? 0 : 1 });
  }
  function versus(value) { return value >= 1 ? plain(value) + " : 1" : "1 : " + plain(1 / value); }

  function show() {
    const found = current();
    const place = Number(threshold.value);
    const miss = state.ratios[Number(ratio.value)];
    const part = shareNow();
    const hits = found.hits[place];
    const alarms = found.alarms[place];
    const sensitivity = hits / found.positive;
    const fallout = alarms / found.negative;
    const called = part * sensitivity + (1 - part) * fallout;
    const values = costs(found, miss, part);
    const texts = {
      "threshold-shown": plain(found.thresholds[place]),
      "ratio-shown": versus(miss),
      "share-shown": percent(part),
      "count-hits": count(hits),
      "count-misses": count(found.positive - hits),
      "count-alarms": count(alarms),
      "count-rejections": count(found.negative - alarms),
      "rate-sensitivity": percent(sensitivity),
      "rate-specificity": percent(1 - fallout),
      "rate-precision": called > 0 ? percent(part * sensitivity / called) : "-",
      "cost-now": values[place].toFixed(2),
    };
    Object.keys(texts).forEach(function (id) { element(id).textContent = texts[id]; });
    threshold.setAttribute("aria-valuetext", texts["threshold-shown"]);
    ratio.setAttribute("aria-valuetext", texts["ratio-shown"]);
    share.setAttribute("aria-valuetext", texts["share-shown"]);
    Plotly.restyle(plot, {
      x: [found.thresholds, [found.thresholds[place]]],
      y: [values, [values[place]]],
    }, [0, 1]);
  }

  function restart() {
    const found = current();
    own = found.positive / (found.positive + found.negative);
    threshold.max = found.thresholds.length - 1;
    threshold.value = found.start;
    share.value = shareSteps / 2;
    show();
  }

  ratio.max = state.ratios.length - 1;
  share.max = shareSteps;
  function begin() { ratio.value = state.ratio; restart(); }

  [threshold, ratio, share].forEach(function (control) { control.addEventListener("input", show); });
  if (chooser) { chooser.value = state.first; chooser.addEventListener("change", restart); }
  element("cheapest").addEventListener("click", function () {
    threshold.value = cheapest(costs(current(), state.ratios[Number(ratio.value)], shareNow()));
    show();
  });
  element("start-again").addEventListener("click", begin);
  begin();
})();
