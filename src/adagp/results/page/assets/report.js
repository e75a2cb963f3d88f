'use strict';
// Makes the charts of a report answer: reading, zoom, legend, smoothing, sorting, downloads. The page
// is whole without it. Numbers come from the JSON in the page; only places are computed here.
// The page gets it without indentation, lines of comment and spaces around operators (page.cpp):
// no text in quotes may hold an operator between two spaces.
(() => {
const doc = document, root = doc.documentElement;
const find = (selector, from = doc) => [...from.querySelectorAll(selector)];
const one = (selector, from = doc) => from.querySelector(selector);
const safe = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const make = (tag, attributes, ...inside) => {
  const made = doc.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...inside);
  return made;
};
const on = (target, name, act) => target.addEventListener(name, act);

// What the reader chose, in the part of the address behind '#'.
const state = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
const words = key => (state.get(key) || '').split(' ').filter(Boolean);
const keep = (key, value) => {
  value ? state.set(key, value) : state.delete(key);
  history.replaceState(null, '', '#' + state);
};

// Round values: the first is not above low, the last not below high.
const ticksOf = (low, high, log) => {
  const ticks = [], size = Math.max(Math.abs(low), Math.abs(high));
  if (size > 1e15 || size < 1e-15) return [low, high > low ? high : low + 1];
  if (log) {
    const steps = high / low < 200 ? [1, 2, 5] : [1];
    for (let p = 10 ** Math.floor(Math.log10(low)); ; p *= 10) {
      for (const s of steps) {
        if (s * p <= low) ticks.length = 0;
        ticks.push(+(s * p).toPrecision(9));
        if (ticks.length > 1 && s * p >= high) return ticks;
      }
    }
  }
  if (!(high - low > size / 1e12)) high = low + 1;
  const p = 10 ** Math.floor(Math.log10((high - low) / 6));
  const step = p * [1, 2, 5, 10].find(s => s * p * 6.001 >= high - low);
  for (let i = Math.floor(low / step); ; ++i) {
    ticks.push(+(i * step).toPrecision(9));
    if (i * step >= high - step / 1e9) return ticks;
  }
};
const short = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 4}).format;

const save = (name, blob) => {
  const link = make('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 9e3);
};
const csv = rows => rows.map(row => row.map(cell => {
  let text = String(cell ?? '');
  if (/^[=+@-]/.test(text) && isNaN(text)) text = "'" + text;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join() + '\n').join('');
// The drawing as a file, with its legend and the colours of the present theme.
const drawing = figure => {
  const svg = one('.plot svg', figure), {width, height} = svg.viewBox.baseVal;
  const names = find('.legend li', figure).filter(li => !one('[aria-pressed=false]', li));
  const tall = height + 20 * names.length + 10;
  const style = one('#chart-style').textContent.replace(/var\((.*?)\)/g, (_, name) => getComputedStyle(root).getPropertyValue(name));
  return [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${tall}" font-family="sans-serif" class="fink"><style>${style
  }</style><path class="fpaper" d="M0 0h${width}v${tall}H0z"/>${svg.innerHTML.replaceAll('&nbsp;', ' ')}${names.map((li, i) =>
    `<path class="f${li.dataset.colour}" d="M20 ${height + 20 * i}h12v12h-12z"/>` +
    text(40, height + 20 * i + 11, 'start', li.textContent)).join('')}</svg>`, 2 * width, 2 * tall];
};
const savePng = figure => {
  const [text, width, height] = drawing(figure), image = new Image();
  on(image, 'load', () => {
    const canvas = make('canvas', {width, height});
    canvas.getContext('2d').drawImage(image, 0, 0, width, height);
    canvas.toBlob(blob => save(figure.id + '.png', blob));
  });
  image.src = 'data:image/svg+xml,' + encodeURIComponent(text);
};

const button = (text, act) => {
  const made = make('button', {type: 'button'}, text);
  on(made, 'click', act);
  return made;
};
const choice = (label, options, chosen, act) => {
  const list = make('select', {}, ...options.map(([key, title]) => make('option', {value: key}, title)));
  list.value = chosen;
  on(list, 'change', () => act(list.value));
  return make('label', {}, label + ' ', list);
};
const toolbar = (figure, rows, ...more) => one('figcaption', figure).after(make('div', {class: 'tools'}, ...more,
    button('SVG', () => save(figure.id + '.svg', new Blob([drawing(figure)[0]]))),
    button('PNG', () => savePng(figure)),
    ...rows ? [button('CSV', () => save(figure.id + '.csv', new Blob([csv(rows())])))] : []));
// Entries of the legend become switches: act(place, colour, whether it is hidden).
const legend = (figure, act) => {
  const key = figure.id + '.off', off = new Set(words(key));
  find('.legend li', figure).forEach((li, i) => {
    const toggle = button('', () => {
      off[off.has(i + '') ? 'delete' : 'add'](i + '');
      keep(key, [...off].join(' '));
      tell();
    });
    const tell = () => {
      toggle.ariaPressed = !off.has(i + '');
      act(i, li.dataset.colour, off.has(i + ''));
    };
    toggle.append(...li.childNodes);
    li.append(toggle);
    tell();
  });
};
// Where the pointer is in the drawing.
const spot = (event, svg) => {
  const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
  return [event.clientX - box.left, event.clientY - box.top].map(length => length * scale);
};
const shapes = ['M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z', 'M-4-4h8v8h-8z', 'M0-5.5 5.5 4H-5.5z', 'M0-6 6 0 0 6-6 0z'];
const marker = (c, shape, x, y) =>
  `<path class="fs${c} marker" d="${shapes[(shape - 1) % 4]}" transform="translate(${x} ${y})"/>`;
const text = (x, y, anchor, words, more = '') =>
  `<text x="${x}" y="${y}" font-size="12" text-anchor="${anchor}"${more}>${safe(words)}</text>`;

const charts = [];
class Lines {
  constructor(figure, data) {
    Object.assign(this, {figure, data, hidden: new Set(), at: null, smooth: +state.get(figure.id + '.smooth')});
    for (const axis of ['x', 'y']) {
      const stored = data[axis].find(([key]) => key === state.get(`${figure.id}.${axis}`));
      this[axis] = (stored || data[axis][0])[0];
    }
    const zoom = words(figure.id + '.zoom').map(Number);
    this.zoom = zoom[1] > zoom[0] ? zoom : null;
    this.plot = one('.plot', figure);
    this.svg = one('svg', this.plot);
    this.reading = make('output', {class: 'reading'});
    this.plot.after(this.reading);
    [this.left, this.top, this.width, this.height] = (this.svg.dataset.frame || '74 20 620 320').split(' ').map(Number);
    const named = data.s.map((s, i) => i).filter(i => data.s[i].n);
    const range = make('input', {type: 'range', min: 0, max: 0.95, step: 0.05, value: this.smooth});
    on(range, 'input', () => this.set('smooth', +range.value));
    const pick = (label, axis) => data[axis].length > 1 ? [choice(label, data[axis], this[axis], key => this.set(axis, key))] : [];
    toolbar(figure, () => this.rows(), ...pick('Across', 'x'), ...pick('Figure', 'y'),
        ...data.smooth ? [make('label', {}, 'Smoothing ', range)] : [], button('Whole range', () => this.set('zoom', null)));
    this.draw();
    legend(figure, (i, colour, off) => {
      this.hidden[off ? 'add' : 'delete'](named[i]);
      this.draw();
    });
    this.listen();
    charts.push(this);
  }
  set(key, value) {
    if (key === 'x') this.set('zoom', null);
    this[key] = value;
    keep(`${this.figure.id}.${key}`, key === 'zoom' ? value && value.map(v => +v.toPrecision(6)).join(' ') : value);
    this.draw();
  }
  title(axis) {
    return this.data[axis].find(([key]) => key === this[axis])[1];
  }
  rows() {
    const {x, y, s} = this.data, keys = axis => axis.map(([key]) => key);
    return [['series', ...keys(x), ...keys(y)], ...s.flatMap(one => Object.values(one.x)[0].map((_, i) =>
      [one.n || 'fit', ...keys(x).map(key => one.x[key]?.[i]), ...keys(y).map(key => one.y[key]?.v[i])]))];
  }
  // What is to be drawn of a line: place in the data, x, value, lowest, highest.
  points(s) {
    const xs = s.x[this.x] || [], y = s.y[this.y];
    let before = null;
    return xs.flatMap((x, i) => {
      const v = y?.v[i];
      if (x == null || v == null) return [];
      before = before === null ? v : this.smooth * before + (1 - this.smooth) * v;
      return [[i, x, before, y.l?.[i] ?? before, y.h?.[i] ?? before]];
    });
  }
  draw() {
    const {data, left, top, width, height, zoom} = this, bottom = top + height;
    const shown = this.shown = data.s.map((s, i) => this.hidden.has(i) ? [] : this.points(s));
    let seen = shown.flat().filter(p => !zoom || p[1] >= zoom[0] && p[1] <= zoom[1]);
    if (!seen.length) seen = [[0, 1, 1, 1, 1]];
    const edge = (k, best) => seen.reduce((a, p) => best(a, p[k]), seen[0][k]);
    const yTicks = ticksOf(edge(3, Math.min), edge(4, Math.max), data.ly);
    const xTicks = ticksOf(...zoom || [edge(1, Math.min), edge(1, Math.max)], data.lx);
    const [x0, x1] = zoom || [xTicks[0], xTicks.at(-1)];
    const scale = (from, to, start, size, log) => {
      const f = log ? Math.log : v => v;
      return v => +(start + (f(v) - f(from)) / (f(to) - f(from)) * size).toFixed(2);
    };
    const X = this.X = scale(x0, x1, left, width, data.lx), Y = this.Y = scale(yTicks[0], yTicks.at(-1), bottom, -height, data.ly);
    this.back = px => {
      const share = (px - left) / width;
      return data.lx ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0);
    };
    const middle = top + height / 2, clip = this.figure.id + '-clip', points = (list, k) => list.map(p => X(p[1]) + ',' + Y(p[k]));
    this.svg.innerHTML = `<clipPath id="${clip}"><rect x="${left - 6}" y="${top - 6}" width="${width + 12}" height="${height + 12}"/></clipPath>` +
      yTicks.map(t => `<path class="lgrid" d="M${left} ${Y(t)}h${width}"/>` + text(left - 8, Y(t) + 4, 'end', short(t))).join('') +
      xTicks.filter(t => t >= x0 && t <= x1).map(t => `<path class="lgrid" d="M${X(t)} ${top}v${height}"/>` + text(X(t), bottom + 17, 'middle', short(t))).join('') +
      text(left + width / 2, bottom + 44, 'middle', this.title('x')) + text(left - 56, middle, 'middle', this.title('y'), ` transform="rotate(-90 ${left - 56} ${middle})"`) +
      `<g clip-path="url(#${clip})">` +
      shown.map((list, i) => data.s[i].y[this.y]?.l ? `<polygon class="fs${data.s[i].c} band" points="${points(list, 4)} ${points(list, 3).reverse()}"/>` : '').join('') +
      shown.map((list, i) => {
        const s = data.s[i];
        return (s.p ? '' : `<polyline fill="none" stroke-width="2" class="ls${s.c}" stroke-dasharray="${s.d}" points="${points(list, 2)}"/>`) +
          (s.m ? list.map(p => marker(s.c, s.m, X(p[1]), Y(p[2]))).join('') : '');
      }).join('') + '</g><g class="cross"></g>';
    this.show(this.at);
  }
  // The cross-hair at the point nearest to x; of each line the value that is nearest.
  show(x) {
    const {data, X, Y, shown} = this, cross = one('.cross', this.svg), far = p => Math.abs(X(p[1]) - X(x));
    const nearest = (list, far) => list.reduce((a, p) => far(p) < far(a) ? p : a);
    const found = x === null ? [] : shown.flatMap((list, i) => data.s[i].n && list.length ? [[i, nearest(list, far)]] : []);
    if (!found.length) {
      cross.innerHTML = '';
      this.reading.textContent = 'Values: point at the chart, or press → in it. Zoom: drag, or press +.';
      return;
    }
    this.at = nearest(found, ([, p]) => far(p))[1][1];
    cross.innerHTML = `<path class="laxis" d="M${X(this.at)} ${this.top}v${this.height}"/>` +
      found.map(([i, p]) => marker(data.s[i].c, 1, X(p[1]), Y(p[2]))).join('');
    this.reading.replaceChildren(make('b', {}, `${this.title('x')}: ${this.at}`), ...found.map(([i, p]) => {
      const s = data.s[i], value = s.y[this.y].v[p[0]];
      return make('span', {}, `${s.n}${s.t ? ' ' + s.t[p[0]] : ''}${p[1] === this.at ? '' : ' at ' + p[1]}: `, make('data', {value}, value));
    }));
  }
  hide() {
    this.show(this.at = null);
  }
  // Charts with the same axis follow.
  showAll(x) {
    this.show(x);
    for (const other of charts) if (other !== this && other.x === this.x) other.show(x);
  }
  listen() {
    const {svg} = this;
    let from = null;
    on(svg, 'pointermove', event => {
      const [x] = spot(event, svg);
      this.reading.ariaLive = 'off';
      this.showAll(this.back(Math.max(this.left, Math.min(this.left + this.width, x))));
      if (from !== null) one('.cross', svg).innerHTML += `<path class="fs0 band" d="M${from} ${this.top}H${x}v${this.height}H${from}z"/>`;
    });
    on(svg, 'pointerdown', event => from = spot(event, svg)[0]);
    on(svg, 'pointerleave', () => {
      from = null;
      charts.forEach(chart => chart.hide());
    });
    on(svg, 'pointerup', event => {
      const ends = [from, spot(event, svg)[0]].sort((a, b) => a - b);
      if (from !== null && ends[1] - ends[0] > 8) this.set('zoom', ends.map(this.back));
      from = null;
    });
    on(svg, 'dblclick', () => this.set('zoom', null));
    on(this.plot, 'keydown', event => {
      const by = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9}[event.key];
      const xs = [...new Set(this.shown.flat().map(p => p[1]))].sort((a, b) => a - b);
      if (by && xs.length) {
        const now = this.at === null ? (by > 0 ? -1 : xs.length) : xs.findIndex(x => x >= this.at);
        this.reading.ariaLive = 'polite';
        this.showAll(xs[Math.max(0, Math.min(xs.length - 1, now + by))]);
      } else if (event.key === '+') {
        const middle = this.at === null ? this.left + this.width / 2 : this.X(this.at);
        this.set('zoom', [-1, 1].map(side => this.back(middle + side * this.width / 4)));
      } else if (event.key === '-' || event.key === 'Escape') {
        this.set('zoom', null);
        this.hide();
      } else return;
      event.preventDefault();
    });
  }
}

// Layers by batches: a click shows the curve of a layer.
const heat = (figure, data) => {
  const svg = one('.plot svg', figure);
  const [, top, , row] = svg.dataset.frame.split(' ').map(Number);
  const chart = one(`#${figure.id}-layer`), line = (n, c, d, x, v) => ({n, c, d, m: n && 1, x: {x}, y: {v: {v}}});
  const curve = layer => {
    const s = [line(data.rows[layer], 0, '', data.x, data.v[layer]), line('', 6, '7 4', [data.x[0], data.x.at(-1)], [data.even, data.even])];
    one('figcaption', chart).textContent = data.rows[layer];
    chart.hidden = false;
    const lines = charts.find(one => one.figure === chart) || new Lines(chart, {x: [['x', 'batches']], y: [['v', data.title]], s});
    lines.data.s = s;
    lines.hide();
    lines.draw();
  };
  toolbar(figure, () => [['layer', ...data.x], ...data.rows.map((name, i) => [name, ...data.v[i]])],
      choice('Curve of', [['', 'a layer'], ...data.rows.map((name, i) => [i, name])], '', layer => layer && curve(layer)));
  on(svg, 'click', event => {
    const layer = Math.floor((spot(event, svg)[1] - top) / row);
    if (data.rows[layer]) curve(layer);
  });
};

// Seconds to a score, which the program computed for each place of the slider.
const slider = (place, {scores, rows, unit}) => {
  const range = one('input', place), cells = find('td', place);
  range.value = state.get(place.id) || range.value;
  const draw = () => {
    range.ariaValueText = one('output', place).textContent = `${scores[range.value]} ${unit}`;
    rows.flat().forEach((list, i) => cells[i].textContent = list[range.value]);
  };
  on(range, 'input', () => {
    keep(place.id, range.value);
    draw();
  });
  draw();
};

const sortable = table => find('thead th', table).forEach((th, column) => th.replaceChildren(button(th.textContent, () => {
  const up = th.ariaSort !== 'ascending', value = row => row.cells[column].textContent.replace(/^[≤≥<>=+ ]+|(?<=\d) (?=\d{3})/g, '');
  find('th', th.parentNode).forEach(other => other.ariaSort = null);
  th.ariaSort = up ? 'ascending' : 'descending';
  const order = (a, b) => parseFloat(a) - parseFloat(b) || isNaN(parseFloat(a)) - isNaN(parseFloat(b)) || a.localeCompare(b);
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => (up ? 1 : -1) * order(value(a), value(b))));
})));

const setTheme = value => value ? root.dataset.theme = value : delete root.dataset.theme;
setTheme(state.get('theme'));
const themes = one('#theme select');
themes.value = state.get('theme') || '';
on(themes, 'change', () => {
  setTheme(themes.value);
  keep('theme', themes.value);
});
find('.script').forEach(made => made.hidden = false);
find('nav a').forEach(link => on(link, 'click', event => {
  event.preventDefault();  // the address keeps the state
  one(link.getAttribute('href')).scrollIntoView();
}));
find('main table').forEach(sortable);

const several = {}, all = JSON.parse(one('#data').textContent);
for (const id in all) {
  const data = all[id], figure = one('#' + id);
  if (data.k === 'lines') new Lines(figure, data);
  else if (data.k === 'heat') heat(figure, data);
  else if (data.k === 'slider') slider(figure, data);
  else {
    const table = one('details table', figure);
    toolbar(figure, table && (() => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))));
    legend(figure, (i, colour, off) => find('.plot .f' + colour, figure).forEach(shape => shape.toggleAttribute('hidden', off)));
  }
  if (data.of) (several[data.of] ??= []).push(figure);
}
// Of charts of one kind one is shown.
for (const id in several) {
  const figures = several[id], show = chosen => figures.forEach(figure => figure.hidden = figure.id !== chosen);
  const chosen = (figures.find(figure => figure.id === state.get(id)) || figures[0]).id;
  figures[0].before(choice('Show', figures.map(figure => [figure.id, one('figcaption', figure).textContent]), chosen, value => {
    show(value);
    keep(id, value);
  }));
  show(chosen);
}
const open = new Set(words('open'));
find('details').forEach((details, i) => {
  details.open = open.has(String(i));
  on(details, 'toggle', () => {
    open[details.open ? 'add' : 'delete'](String(i));
    keep('open', [...open].join(' '));
  });
});
const seconds = +doc.body.dataset.reload;
if (seconds) setTimeout(() => location.reload(), 1e3 * seconds);
root.dataset.ready = 'yes';
})();
