// The point under the pointer, below its curve.
const curves = JSON.parse(document.getElementById('run').textContent).curves;
for (const figure of document.querySelectorAll('figure[data-curve]')) {
  const points = curves[figure.dataset.curve], svg = figure.querySelector('svg');
  const from = Number(figure.dataset.from), to = Number(figure.dataset.to), unit = Number(figure.dataset.unit);
  const number = value => value < 1000 ? value.toPrecision(5) : Math.round(value).toLocaleString('en');
  const text = value => number(value / unit) + figure.dataset.suffix;
  const show = event => {
    const box = svg.getBoundingClientRect();
    const step = from + (event.clientX - box.left) / box.width * (to - from);
    const near = points.reduce((best, point) => Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best);
    const range = near[1] < near[3] ? `, ${text(near[1])} to ${text(near[3])}` : '';
    figure.querySelector('.readout').textContent = `step ${near[0]}: ${text(near[2])}${range}`;
  };
  for (const kind of ['pointermove', 'pointerdown']) svg.addEventListener(kind, show);
}
