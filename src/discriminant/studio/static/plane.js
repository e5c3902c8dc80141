// The plane of an image: its tiles, the areas drawn on it, and the divider between image and map.
// These methods of Leaflet's map are called from Python; events of the map are emitted by the page's element.
// The active class and the drawing are kept in the browser and sent to the server: a delayed response does not interrupt
// a drawing or relabel an area.
(function () {
  "use strict";
  L.Polyline._flat = L.LineUtil.isFlat; // the drawing tools use its old name
  const tools = { rectangle: "Rectangle", polygon: "Polygon", point: "CircleMarker" };
  const depth = { image: 200, classes: 300 };

  function corners(layer) {
    const found = layer.getLatLng ? [layer.getLatLng()] : layer.getLatLngs()[0];
    return found.map(function (place) { return [place.lat, place.lng]; });
  }

  document.addEventListener("keydown", function (event) {
    const plane = window.plane;
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    const asks = plane && plane.spot; // a number labels the point that is shown
    if (!plane || typing || asks || event.ctrlKey || event.metaKey || event.altKey) { return; }
    const found = plane.classes[Number(event.key) - 1];
    if (found) { plane.choose(found.name); }
  });

  L.Map.include({
    prepare: function (id, bounds) {
      window.plane = this;
      this.element = id;
      this.classes = [];
      this.active = "";
      this.fitBounds(bounds, { animate: false });
      this.tiles = {};
      this.share = 1;
      this.areas = L.featureGroup().addTo(this);
      Object.keys(depth).forEach(function (name) { this.createPane(name).style.zIndex = depth[name]; }, this);
      this.on("move zoom resize", this.clip, this);
      this.on("draw:canceled", function () { this.tool = null; this.emit("tool", ""); }, this);
      this.on("draw:created", function (event) {
        this.emit("area-drawn", { label: this.active, corners: corners(event.layer) });
      }, this);
      this.on("draw:editvertex", this.nameHandles, this);
      this.makeDivider();
    },

    emit: function (name, value) { getElement(this.element).$emit(name, value); },

    // Old tiles are removed after the new ones above them are loaded, to avoid flicker.
    showTiles: function (name, url, version, options) {
      const old = this.tiles[name] || [];
      const container = this.getContainer();
      if (!url) {
        old.forEach(function (layer) { layer.remove(); });
        this.tiles[name] = [];
        delete container.dataset[name];
      } else {
        const layer = L.tileLayer(url, Object.assign({ pane: name }, options)).addTo(this);
        this.tiles[name] = old.concat([layer]);
        layer.once("load", function () {
          this.tiles[name] = this.tiles[name].filter(function (one) {
            if (old.indexOf(one) < 0) { return true; }
            one.remove();
            return false;
          });
          container.dataset[name] = version;
        }, this);
      }
      this.divider.hidden = !(this.tiles.classes || []).length;
    },

    setOpacity: function (opacity) {
      (this.tiles.classes || []).forEach(function (layer) { layer.setOpacity(opacity); });
    },

    showAreas: function (areas, chosen) {
      this.areas.eachLayer(function (layer) { if (layer.editing) { layer.editing.disable(); } });
      this.areas.clearLayers();
      areas.forEach(function (area, place) { this.addArea(area, place, place === chosen); }, this);
      this.nameHandles();
    },

    addArea: function (area, place, chosen) {
      const moved = function () { this.emit("area-moved", { place: place, corners: corners(layer) }); };
      let layer;
      if (area.places.length < 3) {
        const spot = L.DomUtil.create("i", "spot" + (chosen ? " chosen" : ""));
        spot.style.background = area.colour;
        const icon = L.divIcon({ className: "spot-place", html: spot, iconSize: [22, 22] });
        layer = L.marker(area.places[0], { icon: icon, draggable: chosen, title: area.name, alt: area.name });
        layer.on("dragend", moved, this);
      } else {
        // A white line below the coloured one: areas remain visible on a map in their own colour.
        if (!chosen) {
          const below = { color: "#ffffff", weight: 5, opacity: 0.9, fill: false, interactive: false };
          this.areas.addLayer(L.polygon(area.places, below));
        }
        layer = L.polygon(area.places, { color: area.colour, weight: chosen ? 4 : 2.5, fillOpacity: chosen ? 0.3 : 0.15 });
        layer.on("edit", moved, this);
      }
      layer.on("click", function () { if (!this.tool) { this.emit("area-chosen", place); } }, this);
      this.areas.addLayer(layer);
      if (chosen && area.places.length >= 3) { layer.editing.enable(); }
    },

    nameHandles: function () {
      this.getPane("markerPane").querySelectorAll(".leaflet-editing-icon").forEach(function (handle) {
        handle.setAttribute("aria-label", "Corner: drag to move");
      });
    },

    // The classes with their colours; `chosen` is the active one if the server changed it.
    showClasses: function (classes, chosen) {
      this.classes = classes;
      const names = classes.map(function (one) { return one.name; });
      this.choose(chosen || (names.indexOf(this.active) < 0 ? names[0] || "" : this.active));
    },

    choose: function (name) {
      this.active = name;
      document.querySelectorAll(".class[data-label]").forEach(function (row) {
        row.setAttribute("aria-checked", String(row.dataset.label === name));
      });
      if (!this.tool) { return; }
      const look = this.look();
      Object.assign(this.tool.options, look);
      Object.assign(this.tool.options.shapeOptions, look);
      [this.tool._shape, this.tool._poly].forEach(function (shape) { if (shape) { shape.setStyle(look); } });
    },

    look: function () {
      const own = this.classes.find(function (one) { return one.name === this.active; }, this);
      return { color: own ? own.colour : "#000000", weight: 2.5, fillOpacity: 0.15 };
    },

    // One tool draws area after area until it is put down.
    useTool: function (name) {
      if (this.tool && this.tool.kind === name) { return; }
      if (this.tool) { this.tool.disable(); }
      this.tool = null;
      this.getContainer().dataset.tool = name;
      if (!name) { return; }
      const settings = { shapeOptions: this.look(), showArea: false, showLength: false, repeatMode: true };
      this.tool = new L.Draw[tools[name]](this, Object.assign(settings, this.look()));
      this.tool.kind = name;
      this.tool.enable();
    },

    lookAt: function (place, zoom) { this.setView(place, zoom, { animate: false }); },

    showSpot: function (place) {
      if (this.spot) { this.spot.remove(); this.spot = null; }
      if (place) {
        const icon = L.divIcon({ className: "target", iconSize: [36, 36] });
        this.spot = L.marker(place, { icon: icon, interactive: false, keyboard: false }).addTo(this);
      }
    },

    makeDivider: function () {
      const line = L.DomUtil.create("div", "divider", this.getContainer());
      line.title = "Drag to compare image and map";
      line.hidden = true;
      this.divider = line;
      L.DomEvent.disableClickPropagation(line);
      line.addEventListener("pointerdown", function (event) {
        event.preventDefault();
        event.stopPropagation();
        line.setPointerCapture(event.pointerId);
      });
      line.addEventListener("pointermove", function (event) {
        if (!line.hasPointerCapture(event.pointerId)) { return; }
        const box = this.getContainer().getBoundingClientRect();
        this.swipe(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1));
      }.bind(this));
      line.addEventListener("pointerup", function () { this.emit("swiped", this.share); }.bind(this));
      this.clip();
    },

    // The map is shown on the left of the line.
    swipe: function (share) { this.share = share; this.clip(); },

    clip: function () {
      const size = this.getSize();
      const first = this.containerPointToLayerPoint([0, 0]);
      const last = this.containerPointToLayerPoint(size);
      const edge = first.x + size.x * this.share;
      this.getPane("classes").style.clip =
        "rect(" + first.y + "px, " + edge + "px, " + last.y + "px, " + first.x + "px)";
      this.divider.style.left = "clamp(0px, calc(" + 100 * this.share + "% - 11px), calc(100% - 24px))";
    },
  });
})();
