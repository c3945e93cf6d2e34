// Follows long work: asks its address for JSON, shows steps and verdicts, loads the page anew when it is done.
(function () {
  "use strict";
  const box = document.querySelector("[data-progress-url][data-open]");
  if (!box) return;
  const EVERY_MS = 1500;
  const SLOWEST_MS = 15000;
  let waitMs = EVERY_MS;

  function fill(list, items) {
    const rows = items.map(function (item) {
      const row = document.createElement("li");
      row.textContent = item.text;
      row.className = item.css;
      if (item.css === "is-now") row.setAttribute("aria-current", "step");
      return row;
    });
    list.replaceChildren(...rows);
  }

  function show(answer) {
    fill(box.querySelector(".growth-steps"), answer.steps);
    box.querySelector("progress").value = answer.percent;
    fill(box.querySelector(".growth-log"), answer.lines.map(function (line) { return { text: line, css: "" }; }));
  }

  async function ask() {
    try {
      const response = await fetch(box.dataset.progressUrl, { headers: { Accept: "application/json" } });
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      const answer = await response.json();
      if (!answer.is_open) {
        window.location.reload();
        return;
      }
      show(answer);
      waitMs = EVERY_MS;
    } catch (error) {
      // The server restarts, or the login ended: ask less often, and keep what is shown.
      waitMs = Math.min(waitMs * 2, SLOWEST_MS);
    }
    window.setTimeout(ask, waitMs);
  }

  window.setTimeout(ask, EVERY_MS);
})();
