// The text of what is pointed at, or touched, under its drawing. Without scripts the browser's own titles do.
for (const section of document.querySelectorAll('section')) {
  const lines = section.querySelectorAll('.readout');
  for (const line of lines) line.dataset.rest = line.textContent;
  const show = event => {
    const part = event.target.closest('svg *');
    const title = part ? (part.querySelector(':scope > title') || part.parentNode.querySelector(':scope > title')) : null;
    const figure = event.target.closest('figure');
    const line = (figure ? figure.querySelector('.readout') : null) || section.querySelector('p.readout');
    if (line) line.textContent = title ? title.textContent : line.dataset.rest;
  };
  if (lines.length) for (const kind of ['pointerover', 'pointerdown']) section.addEventListener(kind, show);
}
