// The point under the pointer, below its curve.
const curves = JSON.parse(document.getElementById('run').textContent).curves;
for (const figure of document.querySelectorAll('figure[data-curve]')) {
  const points = curves[figure.dataset.curve], svg = figure.querySelector('svg');
  const from = Number(figure.dataset.from), to = Number(figure.dataset.to);
  const show = event => {
    const box = svg.getBoundingClientRect();
    const step = from + (event.clientX - box.left) / box.width * (to - from);
    const near = points.reduce((best, point) => Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best);
    const range = near[1] < near[3] ? `, ${near[1].toPrecision(5)} to ${near[3].toPrecision(5)}` : '';
    figure.querySelector('.readout').textContent = `step ${near[0]}: ${near[2].toPrecision(5)}${range}`;
  };
  for (const kind of ['pointermove', 'pointerdown']) svg.addEventListener(kind, show);
}
