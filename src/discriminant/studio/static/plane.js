// The plane of an image: its tiles, the areas drawn on it, and the divider between image and map.
// These methods of Leaflet's map are called from Python; events of the map are emitted by the page's element.
// The active class, the tool and the drawing are kept in the browser and sent to the server: a delayed response does not
// interrupt a drawing or relabel an area. Areas have keys: a change replaces only the layers of the areas that changed, so
// that a click or drag on another area is not lost.
(function () {
  "use strict";
  L.Polyline._flat = L.LineUtil.isFlat; // the drawing tools use its old name
  const tools = { rectangle: "Rectangle", polygon: "Polygon", point: "CircleMarker" };
  const toolKeys = { r: "rectangle", p: "polygon", o: "point", b: "brush", i: "inspect" };
  const depth = { image: 200, classes: 300 };

  function pair(place) { return [place.lat, place.lng]; }

  // The corners of an area as a list of rings: outline and holes, a line, or a point.
  function rings(layer) {
    if (layer.getLatLng) { return [[pair(layer.getLatLng())]]; }
    const found = layer.getLatLngs();
    return (L.LineUtil.isFlat(found) ? [found] : found).map(function (ring) { return ring.map(pair); });
  }

  // The server's places differ from those of the browser by rounding, less than a thousandth of a pixel.
  function isSame(some, others) {
    const places = some.flat(), other = others.flat();
    return some.length === others.length && places.length === other.length && places.every(function (place, i) {
      return Math.max(Math.abs(place[0] - other[i][0]), Math.abs(place[1] - other[i][1])) < 1e-7;
    });
  }

  document.addEventListener("keydown", function (event) {
    const plane = window.plane;
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (!plane || typing || event.ctrlKey || event.metaKey || event.altKey) { return; }
    const found = plane.classes[Number(event.key) - 1];
    const tool = toolKeys[event.key.toLowerCase()];
    if (found && !plane.asks) { plane.choose(found.name); }
    if (tool) { plane.useTool(tool); }
    if (event.key === "Escape") { plane.useTool(""); }
  });

  // Clicks on the plane ask for the values of a pixel.
  L.Handler.inspect = L.Handler.extend({
    addHooks: function () { this._map.on("click", this.ask, this); },
    removeHooks: function () {
      this._map.off("click", this.ask, this);
      this._map.closePopup();
    },
    ask: function (event) { this._map.emit("pixel", pair(event.latlng)); },
  });

  // A drag paints an area; the server has its outline.
  L.Handler.brush = L.Handler.extend({
    addHooks: function () {
      const pane = this._map.getContainer();
      this._map.dragging.disable();
      pane.addEventListener("pointerdown", this.start = this.start.bind(this), true);
      pane.addEventListener("pointermove", this.move = this.move.bind(this));
      pane.addEventListener("pointerup", this.end = this.end.bind(this));
    },
    removeHooks: function () {
      const pane = this._map.getContainer();
      this._map.dragging.enable();
      pane.removeEventListener("pointerdown", this.start, true);
      pane.removeEventListener("pointermove", this.move);
      pane.removeEventListener("pointerup", this.end);
      if (this.line) { this.line.remove(); }
    },
    start: function (event) {
      if (event.button || event.target.closest(".leaflet-control, .divider")) { return; }
      event.stopPropagation();
      this._map.getContainer().setPointerCapture(event.pointerId);
      const pixels = this._map.radius * this._map.pixelSize();
      const look = { color: this._map.look().color, weight: 2 * pixels, opacity: 0.5, interactive: false };
      this.line = L.polyline([this._map.mouseEventToLatLng(event)], look).addTo(this._map);
    },
    move: function (event) { if (this.line) { this.line.addLatLng(this._map.mouseEventToLatLng(event)); } },
    end: function () {
      if (!this.line) { return; }
      const path = this.line.getLatLngs().map(pair);
      this.line.remove();
      this.line = null;
      this._map.addDrawn({ corners: path, radius: this._map.radius });
    },
  });

  L.Map.include({
    prepare: function (id, bounds, nativeZoom) {
      window.plane = this;
      this.nativeZoom = nativeZoom; // at which a pixel of the image is one of the screen
      this.element = id;
      this.classes = [];
      this.active = "";
      this.fitBounds(bounds, { animate: false });
      this.tiles = {};
      this.share = 1;
      this.areas = L.featureGroup().addTo(this);
      this.drawn = new Map();
      this.moves = 0;
      this.radius = 4; // of the brush, in pixels of the image
      this.asks = false;
      Object.keys(depth).forEach(function (name) { this.createPane(name).style.zIndex = depth[name]; }, this);
      this.on("move zoom resize", this.clip, this);
      this.on("draw:canceled", function () { this.useTool(""); }, this);
      this.on("draw:created", function (event) {
        this.addDrawn({ corners: rings(event.layer)[0] });
      }, this);
      this.on("draw:editvertex", this.nameHandles, this);
      this.makeDivider();
    },

    addDrawn: function (drawn) {
      if (!this.asks) { this.showSpot(null, false); }
      this.emit("area-drawn", Object.assign({ label: this.active }, drawn));
    },

    showPixel: function (place, content) {
      L.popup({ className: "pixel-values", maxHeight: 280 }).setLatLng(place).setContent(content).openOn(this);
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

    // Update the areas: all `keys` in order, those that `changed`, and the key of the chosen one; `moves` is the number of
    // drags of which the server knows.
    showAreas: function (keys, changed, chosen, moves) {
      const current = new Set(keys);
      this.drawn.forEach(function (own, key) { if (!current.has(key)) { this.removeArea(key); } }, this);
      changed.forEach(function (area) {
        const own = this.drawn.get(area.key);
        const isCurrent = own && (own.isDragged || own.move > moves || isSame(own.rings, area.rings));
        if (own && !isCurrent) { this.removeArea(area.key); }
        if (isCurrent) { Object.assign(own.area, { colour: area.colour, name: area.name }); } else { this.addArea(area); }
      }, this);
      this.drawn.forEach(function (own, key) { this.showArea(own, key === chosen); }, this);
      this.nameHandles();
    },

    // An area has a white line below the coloured one: it remains visible on a map in its own colour.
    addArea: function (area) {
      const own = { area: area, rings: area.rings, isDragged: false, move: 0, below: null };
      if (area.kind === "Point") {
        own.spot = L.DomUtil.create("i", "spot");
        const icon = L.divIcon({ className: "spot-place", html: own.spot, iconSize: [22, 22] });
        own.layer = L.marker(area.rings[0][0], { icon: icon });
      } else {
        const make = area.kind === "LineString" ? L.polyline : L.polygon;
        own.below = make(area.rings, { color: "#ffffff", weight: 5, fill: false, interactive: false });
        this.areas.addLayer(own.below);
        own.layer = make(area.rings);
      }
      own.layer.on("click", function () { if (!this.tool) { this.emit("area-chosen", area.key); } }, this);
      own.layer.on("editstart dragstart", function () { own.isDragged = true; });
      own.layer.on("edit dragend", function () {
        own.isDragged = false;
        own.move = this.moves += 1;
        own.rings = rings(own.layer);
        this.emit("area-moved", { key: area.key, rings: own.rings, move: own.move });
      }, this);
      this.areas.addLayer(own.layer);
      this.drawn.set(area.key, own);
    },

    removeArea: function (key) {
      const own = this.drawn.get(key);
      if (own.layer.editing) { own.layer.editing.disable(); }
      [own.below, own.layer].forEach(function (layer) { if (layer) { this.areas.removeLayer(layer); } }, this);
      this.drawn.delete(key);
    },

    // The name and colour of an area; the corners of the selected one can be moved.
    showArea: function (own, isChosen) {
      const area = own.area, look = area.colour + isChosen + area.name;
      if (own.look === look) { return; }
      own.look = look;
      if (own.spot) {
        own.spot.style.background = area.colour;
        own.spot.classList.toggle("chosen", isChosen);
        Object.assign(own.layer.getElement(), { title: area.name, ariaLabel: area.name });
        own.layer.dragging[isChosen ? "enable" : "disable"]();
        return;
      }
      own.below.setStyle({ opacity: isChosen ? 0 : 0.9 });
      if (!isChosen) { own.layer.editing.disable(); }
      own.layer.setStyle({ color: area.colour, weight: isChosen ? 4 : 2.5, fillOpacity: isChosen ? 0.3 : 0.15 });
      if (isChosen) { own.layer.editing.enable(); }
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
      if (!this.tool || !tools[this.tool.kind]) { return; }
      const look = this.look();
      Object.assign(this.tool.options, look);
      Object.assign(this.tool.options.shapeOptions, look);
      [this.tool._shape, this.tool._poly].forEach(function (shape) { if (shape) { shape.setStyle(look); } });
    },

    look: function () {
      const own = this.classes.find(function (one) { return one.name === this.active; }, this);
      return { color: own ? own.colour : "#000000", weight: 2.5, fillOpacity: 0.15 };
    },

    // One tool draws area after area until it is put down; the server refuses one without a class.
    useTool: function (name) {
      const own = this.tool ? this.tool.kind : "";
      if (name === own) { return; }
      if (this.tool) { this.tool.disable(); }
      this.tool = null;
      if (name && (this.active || name === "inspect")) {
        const settings = { shapeOptions: this.look(), showArea: false, showLength: false, repeatMode: true };
        this.tool = tools[name]
          ? new L.Draw[tools[name]](this, Object.assign(settings, this.look()))
          : new L.Handler[name](this);
        this.tool.kind = name;
        this.tool.enable();
      }
      const used = this.tool ? name : "";
      this.getContainer().dataset.tool = used;
      document.querySelectorAll(".tools [data-tool]").forEach(function (button) {
        button.setAttribute("aria-pressed", String(button.dataset.tool === used));
      });
      this.emit("tool", { name: name, isUsed: name === used });
    },

    // The side of an image pixel on the screen.
    pixelSize: function () { return this.getZoomScale(this.getZoom(), this.nativeZoom); },

    lookAt: function (place, zoom) { this.setView(place, Math.max(zoom, this.getZoom()), { animate: false }); },

    // A mark at a place; `asks` if a number key labels it.
    showSpot: function (place, asks) {
      if (this.spot) { this.spot.remove(); this.spot = null; }
      this.asks = asks;
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
