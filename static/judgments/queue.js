// Labels with one key: the number on a button presses it, s goes on without a label.
(function () {
  "use strict";
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (/^(input|textarea|select)$/i.test(event.target.tagName)) return;
    const button = document.querySelector('[data-key="' + CSS.escape(event.key.toLowerCase()) + '"]');
    if (!button) return;
    event.preventDefault();
    button.click();
  });
})();
