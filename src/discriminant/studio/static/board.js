// The board of the Learn page: figures, a plane to paint on, and steps to play.
// Points are painted here at once; changes go to the server in batches, and new figures come back.

const SEND_MS = 80; // between two batches of changes
const DAB = 14; // pixels between two dabs of a stroke
const NEAR = 16; // pixels from the pointer within which a point is selected
const STEPS = 40; // steps of the keyboard cursor across the plane
const CAPTION = 76; // pixels below the figures for the first lines of their captions
const PAUSE_MS = 600; // between two steps at speed 1

// The first colour of the palette is too dark on dark paper; the accent is equal to it on white paper.
const FIRST = "#0072B2";

const SHAPES = {
  circle: (c, r) => c.arc(0, 0, r, 0, 2 * Math.PI),
  square: (c, r) => c.rect(-0.9 * r, -0.9 * r, 1.8 * r, 1.8 * r),
  "triangle-up": (c, r) => outline(c, [[0, -1.25 * r], [1.15 * r, 0.8 * r], [-1.15 * r, 0.8 * r]]),
  diamond: (c, r) => outline(c, [[0, -1.3 * r], [1.3 * r, 0], [0, 1.3 * r], [-1.3 * r, 0]]),
  cross: (c, r) => {
    const a = 0.42 * r, b = 1.2 * r;
    outline(c, [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]]);
  },
};

function outline(context, corners) {
  corners.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

// A trace with the changes of a frame.
function merged(trace, frame) {
  const made = { ...trace };
  for (const [name, value] of Object.entries(frame))
    made[name] = ["marker", "line"].includes(name) ? { ...trace[name], ...value } : value;
  return made;
}

// Grids are sent as bytes; 255 is a missing value: see figures/sketch.py. Without groups a legend fills its rows.
function grids(trace) {
  delete trace.legendgroup;
  if (!trace.z?.bytes) return trace;
  const { bytes, low, high, width } = trace.z, text = atob(bytes), rows = [];
  for (let start = 0; start < text.length; start += width)
    rows.push(Float32Array.from({ length: width }, (_, j) => {
      const step = text.charCodeAt(start + j);
      return step === 255 ? NaN : low + ((high - low) * step) / 254;
    }));
  trace.z = rows;
  return trace;
}

export default {
  template: `
<div class="board">
  <div v-if="paint" class="tools" role="toolbar" aria-label="Painting">
    <div class="group" role="radiogroup" aria-label="Class to paint">
      <button v-for="(one, k) in classes" :key="k" type="button" role="radio" class="tool" :aria-checked="String(k === chosen)"
        :tabindex="k === chosen ? 0 : -1" @click="choose(k)" @keydown="among($event, classes.length, chosen, choose)">
        <svg viewBox="-8 -8 16 16" aria-hidden="true"><path :d="symbol(one.symbol)" :fill="shade(one.colour)"/></svg>
        <span>{{ one.name }}</span><span class="count">({{ counts[k] }})</span><kbd>{{ k + 1 }}</kbd>
      </button>
    </div>
    <div class="group" role="radiogroup" aria-label="Tool">
      <button v-for="(one, j) in all" :key="one.name" type="button" role="radio" class="tool" :aria-checked="String(one.name === tool)"
        :tabindex="one.name === tool ? 0 : -1" :title="one.help" @click="tool = one.name"
        @keydown="among($event, all.length, all.findIndex(t => t.name === tool), i => tool = all[i].name)">{{ one.name }}<kbd>{{ one.key }}</kbd></button>
    </div>
    <div class="group">
      <label>Points per stroke <input type="range" min="1" max="8" v-model.number="dab"><output>{{ dab }}</output></label>
      <label>Jitter <input type="range" min="0" max="80" v-model.number="jitter"><output>{{ jitter }} px</output></label>
    </div>
    <div class="group">
      <button type="button" class="tool" :disabled="!past.length" @click="undo">Undo</button>
      <button type="button" class="tool" :disabled="!rows.size" @click="clear">Clear</button>
    </div>
  </div>
  <div v-if="steps > 1" class="transport" role="group" aria-label="Steps">
    <button v-for="one in buttons" :key="one.name" type="button" class="tool" :class="{ play: one.name === 'Play' }"
      :aria-label="one.name === 'Play' && playing ? 'Pause' : one.name" :title="one.name === 'Play' && playing ? 'Pause' : one.name"
      :disabled="one.ended" @click="one.go()"><svg viewBox="0 0 16 16" aria-hidden="true"><path :d="one.icon" fill="currentColor"/></svg>
      <span v-if="one.name === 'Play'">{{ playing ? "Pause" : "Play" }}</span></button>
    <input type="range" min="0" :max="steps - 1" :value="step" aria-label="Step of the algorithm" @input="go(Number($event.target.value))">
    <output>{{ step }} of {{ steps - 1 }}</output>
    <label>Speed <select v-model.number="speed" aria-label="Speed">
      <option v-for="s in [0.25, 0.5, 1, 2, 4, 8]" :key="s" :value="s">{{ s }} ×</option></select></label>
  </div>
  <div class="figures" ref="figures" :class="'of' + Math.min(figures.length, 3)">
    <figure v-for="(one, i) in figures" :key="i" class="drawn" :class="{ painted: paint && i === 0 }">
      <div class="sheet">
        <div ref="plots" class="js-plotly-plot plot" role="img" :aria-label="one.alt"></div>
        <canvas v-if="paint && i === 0" ref="canvas" class="overlay" :class="tool.toLowerCase()" tabindex="0" role="application"
          aria-roledescription="plane to paint on" :aria-label="help"
          @pointerdown="down" @pointermove="drag" @pointerup="up" @pointercancel="up" @pointerleave="left" @keydown="key"
          @focus="focused = true; sketch()" @blur="focused = false; sketch()"></canvas>
      </div>
      <figcaption><strong v-if="one.title">{{ one.title }}.</strong> {{ caption(one) }}</figcaption>
    </figure>
  </div>
  <p class="announced" aria-live="polite">{{ announced }}</p>
</div>`,
  props: { drawn: String, points: Object, classes: Array, paint: Boolean, lesson: String, start: Boolean },
  emits: ["edit"],
  data() {
    return {
      rows: new Map(), chosen: 0, tool: "Paint", dab: 1, jitter: 0, past: [], step: 0, playing: false, speed: 1,
      announced: "", cursor: [0.5, 0.5], focused: false, counts: [],
      all: [
        { name: "Paint", key: "P", help: "Add points of the chosen class" },
        { name: "Erase", key: "E", help: "Remove points near the pointer" },
        { name: "Move", key: "M", help: "Drag a point to another place" },
        { name: "Inspect", key: "I", help: "Point at rows and regions for details" },
      ],
    };
  },
  computed: {
    figures() {
      return JSON.parse(this.drawn);
    },
    steps() {
      return Math.max(1, ...this.figures.map((one) => one.figure?.frames?.length ?? 1));
    },
    buttons() {
      const { step, steps } = this, first = step <= 0, last = step >= steps - 1;
      return [
        { name: "To the start", icon: "M2 2h2v12H2zM14 2v12L5 8z", ended: first, go: () => this.go(0) },
        { name: "Back", icon: "M12 2v12L3 8z", ended: first, go: () => this.go(step - 1) },
        { name: "Play", icon: this.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2v12l10-6z", go: () => (this.playing ? this.stop() : this.play()) },
        { name: "Step", icon: "M4 2v12l9-6z", ended: last, go: () => this.go(step + 1) },
        { name: "To the end", icon: "M2 2v12l9-6zM12 2h2v12h-2z", ended: last, go: () => this.go(steps - 1) },
      ];
    },
    help() {
      const where = "Arrow keys move the cursor, Shift makes larger steps, Enter uses the tool";
      return `Plane with ${this.rows.size} points. ${where}, 1 to ${this.classes.length} choose a class, P, E, M and I a tool.`;
    },
  },
  watch: {
    figures() {
      this.stop();
      const atEnd = this.step >= this.last;
      if (this.lesson !== this.shown) this.step = this.start ? 0 : this.steps - 1;
      else this.step = atEnd ? this.steps - 1 : Math.min(this.step, this.steps - 1);
      [this.shown, this.last] = [this.lesson, this.steps - 1];
      this.$nextTick(this.draw);
    },
    points: "place",
    tool: "sketch",
  },
  async mounted() {
    this.pending = [];
    this.place();
    const { Plotly } = await import("nicegui-plotly");
    this.Plotly = Plotly;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.$el);
    this.draw();
    this.onResize = () => this.draw();
    addEventListener("resize", this.onResize);
    this.onKey = (event) => {
      if (event.key === "Escape" && document.body.classList.contains("presenting"))
        document.querySelector(".heading button[aria-pressed=true]")?.click();
    };
    addEventListener("keydown", this.onKey);
  },
  unmounted() {
    removeEventListener("resize", this.onResize);
    removeEventListener("keydown", this.onKey);
    this.stop();
    clearTimeout(this.timer);
    this.sizes?.disconnect();
  },
  methods: {
    // Figures and their frames
    caption(one) {
      return one.words?.[Math.min(this.step, one.words.length - 1)] ?? one.explanation;
    },
    async draw() {
      if (!this.Plotly) return;
      for (const [i, one] of this.figures.entries()) {
        const place = this.$refs.plots?.[i];
        if (place && one.figure) await this.Plotly.react(place, this.now(one, i), this.layout(one.figure.layout), CONFIG);
      }
      this.sketch();
    },
    // The figures and the buttons fit into the window; on narrow screens figures are about square.
    layout(given) {
      const room = innerHeight - this.top() - CAPTION, narrow = matchMedia("(max-width: 60rem)").matches;
      const presenting = document.body.classList.contains("presenting");
      const width = this.$refs.plots?.[0]?.offsetWidth ?? 520;
      const height = narrow ? Math.min(520, Math.max(300, width)) : Math.max(300, Math.min(room, presenting ? 900 : 520));
      // Plotly writes the ranges that it computes into the layout: every drawing starts from the given one.
      const made = JSON.parse(JSON.stringify(given));
      return { ...made, height, font: { ...made.font, size: presenting ? 16 : 12 } };
    },
    top() {
      const place = this.$refs.figures;
      return place ? place.getBoundingClientRect().top + scrollY : 0;
    },
    // The traces of a figure at this step; rows that are drawn on the canvas are transparent, for pointing only.
    now(one, i) {
      const figure = one.figure, data = figure.data.map(grids);
      const frame = figure.frames?.[Math.min(this.step, figure.frames.length - 1)];
      frame?.traces.forEach((place, j) => (data[place] = merged(data[place], frame.data[j])));
      if (i || !this.paint) return data;
      const moved = frame?.traces.some((place) => figure.data[place].meta === "rows") && this.step > 0;
      this.covered = !moved;
      return data.map((trace) => (trace.meta === "rows" && !moved ? { ...trace, opacity: 0, showlegend: false } : trace));
    },
    async resize() {
      // The new scale is known only after the figure is drawn; points sketched before would be misplaced.
      const drawn = (this.$refs.plots ?? []).filter((place) => place.data && place.offsetWidth);
      await Promise.allSettled(drawn.map((place) => this.Plotly.Plots.resize(place)));
      this.sketch();
    },
    async go(step) {
      this.step = Math.max(0, Math.min(step, this.steps - 1));
      await this.draw();
      if (this.step === this.steps - 1) this.stop();
    },
    play() {
      if (this.step >= this.steps - 1) this.step = 0;
      this.playing = true;
      const next = async () => {
        if (!this.playing) return;
        await this.go(this.step + 1);
        if (this.playing) this.player = setTimeout(next, PAUSE_MS / this.speed);
      };
      next();
    },
    stop() {
      this.playing = false;
      clearTimeout(this.player);
    },

    // Points: a map from their numbers to [x, y, class]
    place() {
      const given = this.points;
      if (!given || given.revision === this.revision) return;
      this.revision = given.revision;
      this.rows = new Map(JSON.parse(given.rows).map(([id, x, y, k]) => [id, [x, y, k]]));
      this.past = [];
      this.pending = [];
      this.chosen = Math.max(0, Math.min(this.chosen, this.classes.length - 1));
      this.counted();
      this.sketch();
    },
    counted() {
      this.counts = this.classes.map(() => 0);
      for (const [, , k] of this.rows.values()) this.counts[k]++;
    },
    change(changes, remember = true) {
      if (!changes.length) return;
      const back = [];
      for (const [id, row] of changes) {
        back.push([id, this.rows.get(id) ?? null]);
        if (row) this.rows.set(id, row);
        else this.rows.delete(id);
        this.pending.push([id, ...(row ?? [])]);
      }
      if (remember) (this.stroke ?? this.past).unshift(...(this.stroke ? back : [back]));
      this.counted();
      this.sketch();
      this.timer ??= setTimeout(() => this.send(), SEND_MS);
    },
    send() {
      clearTimeout(this.timer);
      this.timer = null;
      if (!this.pending.length) return;
      this.$emit("edit", { revision: this.revision, changes: this.pending });
      this.pending = [];
    },
    undo() {
      const back = this.past.shift();
      if (back) this.change(back, false);
      this.announced = `Change undone. ${this.rows.size} points.`;
    },
    clear() {
      this.change([...this.rows.keys()].map((id) => [id, null]));
      this.announced = "No points.";
    },
    choose(k) {
      this.chosen = k;
      if (this.tool !== "Move") this.tool = "Paint";
    },
    among(event, n, now, pick) {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      pick((now + by + n) % n);
      this.$nextTick(() => event.target.parentElement.querySelector("[aria-checked=true]").focus());
    },

    // The plane, in pixels of the canvas
    axes() {
      const layout = this.$refs.plots?.[0]?._fullLayout;
      return layout?.xaxis?._length ? [layout.xaxis, layout.yaxis] : null;
    },
    toData(px, py) {
      const [x, y] = this.axes();
      return [x.p2d(px - x._offset), y.p2d(py - y._offset)];
    },
    toPixels([vx, vy]) {
      const [x, y] = this.axes();
      return [x.d2p(vx) + x._offset, y.d2p(vy) + y._offset];
    },
    inside(px, py) {
      const [x, y] = this.axes();
      return px >= x._offset && px <= x._offset + x._length && py >= y._offset && py <= y._offset + y._length;
    },
    near(px, py, radius) {
      const found = [];
      for (const [id, row] of this.rows) {
        const [x, y] = this.toPixels(row), distance = Math.hypot(x - px, y - py);
        if (distance <= radius) found.push([distance, id]);
      }
      return found.sort((a, b) => a[0] - b[0]).map(([, id]) => id);
    },
    sketch() {
      const canvas = this.$refs.canvas?.[0];
      if (!canvas || !this.axes()) return;
      const { clientWidth: width, clientHeight: height } = canvas, scale = window.devicePixelRatio || 1;
      if (canvas.width !== width * scale || canvas.height !== height * scale) [canvas.width, canvas.height] = [width * scale, height * scale];
      const c = canvas.getContext("2d");
      c.setTransform(scale, 0, 0, scale, 0, 0);
      c.clearRect(0, 0, width, height);
      if (this.covered === false) return;
      const accent = getComputedStyle(this.$el).getPropertyValue("--accent").trim() || FIRST;
      c.lineWidth = 0.9;
      c.strokeStyle = "white";
      for (const row of this.rows.values()) {
        const [x, y] = this.toPixels(row), { colour, symbol } = this.classes[row[2]] ?? this.classes[0];
        c.save();
        c.translate(x, y);
        c.beginPath();
        (SHAPES[symbol] ?? SHAPES.circle)(c, 4.2);
        c.fillStyle = colour === FIRST ? accent : colour;
        c.fill();
        c.stroke();
        c.restore();
      }
      if (this.focused && this.byKeys) this.crosshair(c);
    },
    crosshair(c) {
      const [x, y] = this.at();
      c.strokeStyle = getComputedStyle(this.$el).color;
      c.lineWidth = 1.5;
      c.beginPath();
      c.arc(x, y, 9, 0, 2 * Math.PI);
      for (const [a, b] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
        c.moveTo(x + 5 * a, y + 5 * b);
        c.lineTo(x + 15 * a, y + 15 * b);
      }
      c.stroke();
    },

    // By mouse, pen and finger
    down(event) {
      if (event.button || !this.axes()) return;
      const place = [event.offsetX, event.offsetY];
      if (!this.inside(...place)) return;
      this.byKeys = false;
      event.target.setPointerCapture(event.pointerId);
      this.stroke = [];
      this.last = place;
      if (this.tool === "Move") this.held = this.near(...place, NEAR)[0];
      this.use(...place);
    },
    drag(event) {
      if (!this.stroke) return;
      const place = [event.offsetX, event.offsetY];
      if (this.tool === "Paint" && Math.hypot(place[0] - this.last[0], place[1] - this.last[1]) < DAB) return;
      this.last = place;
      if (this.inside(...place)) this.use(...place);
    },
    up() {
      if (!this.stroke) return;
      if (this.stroke.length) this.past.unshift(this.stroke);
      this.stroke = this.held = null;
      this.send();
    },
    left(event) {
      if (!event.buttons) this.up();
    },
    use(px, py) {
      if (this.tool === "Paint") this.spray(px, py);
      else if (this.tool === "Erase") this.change(this.near(px, py, Math.max(NEAR, this.jitter)).map((id) => [id, null]));
      else if (this.tool === "Move" && this.rows.has(this.held))
        this.change([[this.held, [...this.toData(px, py), this.rows.get(this.held)[2]]]]);
    },
    spray(px, py) {
      const made = [];
      let id = Math.max(0, ...this.rows.keys());
      for (let i = 0; i < this.dab; i++) {
        const radius = this.jitter * Math.sqrt(Math.random()), angle = 2 * Math.PI * Math.random();
        const place = [px + radius * Math.cos(angle), py + radius * Math.sin(angle)];
        if (this.inside(...place)) made.push([++id, [...this.toData(...place), this.chosen]]);
      }
      this.change(made);
    },

    // By keys
    at() {
      const [x, y] = this.axes();
      return [x._offset + this.cursor[0] * x._length, y._offset + this.cursor[1] * y._length];
    },
    key(event) {
      if (event.ctrlKey || event.metaKey) {
        if (event.key === "z") this.undo(), event.preventDefault();
        return;
      }
      const step = (event.shiftKey ? 5 : 1) / STEPS;
      const by = { ArrowRight: [step, 0], ArrowLeft: [-step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
      const tool = this.all.find((one) => one.key === event.key.toUpperCase());
      const number = Number(event.key);
      if (by) this.steer(by);
      else if (event.key === "Enter" || event.key === " ") this.apply();
      else if (event.key === "Delete" || event.key === "Backspace") this.apply("Erase");
      else if (event.key === "Escape") this.held = null;
      else if (number >= 1 && number <= this.classes.length) this.choose(number - 1);
      else if (tool) this.tool = tool.name;
      else return;
      event.preventDefault();
      this.byKeys = true;
      this.sketch();
    },
    steer(by) {
      this.cursor = this.cursor.map((value, j) => Math.min(1, Math.max(0, value + by[j])));
      if (this.tool === "Move" && this.held != null) this.use(...this.at());
      const near = this.near(...this.at(), NEAR)[0], [x, y] = this.toData(...this.at());
      const on = near == null ? "" : `, on a point of ${this.classes[this.rows.get(near)[2]].name}`;
      this.announced = `${x.toPrecision(3)}, ${y.toPrecision(3)}${on}`;
    },
    apply(tool = this.tool) {
      const place = this.at();
      if (tool === "Move") {
        this.held = this.held == null ? this.near(...place, NEAR)[0] : null;
        this.announced = this.held == null ? "Released." : "Selected: move it with the arrow keys, Enter releases it.";
        return;
      }
      if (tool === "Erase") this.change(this.near(...place, NEAR).map((id) => [id, null]));
      else this.use(...place);
      this.announced = `${this.rows.size} points.`;
      this.send();
    },
    shade(colour) {
      return colour === FIRST ? "var(--accent)" : colour;
    },
    symbol(name) {
      return {
        circle: "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z", square: "M-4.5-4.5H4.5V4.5H-4.5Z",
        "triangle-up": "M0-6L5.5 4H-5.5Z", diamond: "M0-6L6 0L0 6L-6 0Z",
        cross: "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
      }[name] ?? "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z";
    },
  },
};

const CONFIG = { displayModeBar: false, displaylogo: false, responsive: false, doubleClick: false };
