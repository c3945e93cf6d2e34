// What a test asks about a page: how much wider it is than the window, fields without a name, faint text.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  // Relative luminance and contrast as WCAG 2 defines them.
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const back = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] > 250) return c;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (e) => {
    const a = light(rgb(getComputedStyle(e).color));
    const b = light(back(e));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const ours = (what) => [...document.querySelectorAll(".growth " + what)];
  const hasText = (e) => e.offsetParent && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const isNamed = (f) => f.type === "hidden" || f.labels.length || f.getAttribute("aria-label");
  return {
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    nameless: ours("input, .growth textarea, .growth select").filter((f) => !isNamed(f)).map((f) => f.outerHTML),
    faint: ours("*").filter((e) => hasText(e) && contrast(e) < 4.5).map((e) => [contrast(e), e.outerHTML.slice(0, 120)]),
    handlers: ours("[onclick], .growth [onsubmit], .growth script:not([src])").length,
  };
})();
