// Gathers the figures of a page where the program that draws them looks for them.
(function () {
  "use strict";
  const all = {};
  document.querySelectorAll("script[data-figure]").forEach(function (data) {
    all[data.dataset.figure] = JSON.parse(data.textContent);
  });
  const element = document.createElement("script");
  element.type = "application/json";
  element.id = "figures";
  element.textContent = JSON.stringify(all);
  document.body.append(element);
})();
