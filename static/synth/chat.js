// The chat page: follows answers while they are written, the inbox, and little else; the server renders.
"use strict";

const thread = () => document.getElementById("thread");
const composer = document.getElementById("composer");
const words = document.getElementById("words");
const notice = document.getElementById("notice");
const followed = new Map(); // stream address -> EventSource

function csrf() { return document.body.dataset.csrf; }

function isNearEnd(box) { return box.scrollHeight - box.scrollTop - box.clientHeight < 120; }

function toEnd(box) { box.scrollTop = box.scrollHeight; }

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  notice.replaceChildren(line);
}

// --- One answer that is being written ---

function follow(bubble) {
  const address = bubble.dataset.follow;
  if (followed.has(address)) return;
  const box = bubble.querySelector(".words");
  let told = ""; // what is shown of this round; what the page came with is replaced by the stream's own words
  let isFresh = true;
  const source = new EventSource(address);
  followed.set(address, source);
  busy(true);
  const show = (text) => {
    const near = isNearEnd(thread());
    told = text;
    box.classList.add("live");
    box.textContent = told;
    if (near) toEnd(thread());
  };
  // After the end, and when a proxy answers for a server that restarts: look at the answer, and follow it again
  // while it is written.
  const done = async () => {
    source.close();
    followed.delete(address);
    const status = await refresh(bubble);
    busy(followed.size > 0);
    if (status === 401) say("You are no longer logged in. Load the page anew to go on.");
    else if (status === 403 || status === 404) say("This answer is no longer there.");
    else setTimeout(followAll, 3000);
  };
  source.addEventListener("message.start", () => {
    if (isFresh) {
      show("");
      bubble.querySelector(".actions").replaceChildren();
    }
    isFresh = false;
  });
  source.addEventListener("delta", (event) => show(told + JSON.parse(event.data).text));
  source.addEventListener("resync", (event) => {
    isFresh = false;
    show(JSON.parse(event.data).content);
    refresh(bubble); // the cards of the events that are gone
  });
  source.addEventListener("action", (event) => act(bubble, JSON.parse(event.data), () => { if (told) show(told + "\n\n"); }));
  source.addEventListener("approval", () => refresh(bubble));
  source.addEventListener("check_in", (event) => checkIn(bubble, JSON.parse(event.data)));
  source.addEventListener("message.end", done);
  source.addEventListener("error", (event) => {
    // The browser's own "error" has no data: it connects again by itself, unless the server said no.
    if (event.data !== undefined || source.readyState === EventSource.CLOSED) done();
  });
}

function act(bubble, data, breakLine) {
  const list = bubble.querySelector(".actions");
  // Hosts may use an id again in a later round; an action that has ended stays as it is.
  let item = list.querySelector(`[data-call="${CSS.escape(data.call_id)}"]:not(.ok, .refused)`);
  if (!item) {
    item = document.createElement("li");
    item.dataset.call = data.call_id;
    list.append(item);
    breakLine();
  }
  item.className = data.status === "done" ? "ok" : data.status === "refused" ? "refused" : "";
  item.textContent = { running: "Doing: ", done: "Done: ", refused: "Not done: " }[data.status] + data.action;
}

function checkIn(bubble, data) {
  let card = bubble.querySelector(".check-in");
  const isAnswered = data.mode === "ask" && !(data.choices || []).length; // here or on another screen
  if (isAnswered) return card && card.remove();
  if (!card) {
    card = document.createElement("section");
    card.className = "approval check-in";
    bubble.append(card);
  }
  const line = document.createElement("p");
  line.textContent = `Still at work: ${data.n_calls} actions in ${Math.round(data.elapsed_s)} s.`;
  const labels = { nudge: "Ask how it goes", keep_going: "Keep going", stop: "Stop" };
  const buttons = (data.choices || []).map((choice) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = labels[choice] || choice;
    button.addEventListener("click", async () => {
      const answer = await post(`/api/chat/${data.message_id}/check-in/`, { choice });
      if (answer.ok || answer.status === 409) card.remove();
      if (!answer.ok) say((await answer.json()).error.message);
    });
    return button;
  });
  card.replaceChildren(line, ...buttons);
}

// Without a network the status is 0.
function part(address) {
  return fetch(address, { headers: { "HX-Request": "true" } }).catch(() => ({ ok: false, status: 0 }));
}

async function refresh(bubble) {
  const answer = await part(bubble.dataset.bubble);
  const text = answer.ok ? await answer.text() : "";
  const now = document.getElementById(bubble.id);
  if (!text || !now) return answer.status;
  const near = isNearEnd(thread());
  const holder = document.createElement("template");
  holder.innerHTML = text;
  const fresh = holder.content.querySelector("article");
  const isLive = fresh.dataset.status === "streaming";
  if (isLive) {
    // Only the cards: the words go on where they are.
    now.querySelectorAll(".approval:not(.check-in)").forEach((card) => card.remove());
    fresh.querySelectorAll(".approval").forEach((card) => now.insertBefore(card, now.querySelector("footer")));
    checkIn(now, JSON.parse(fresh.dataset.checkIn || '{"mode": "ask"}'));
    htmx.process(now);
  } else {
    now.replaceWith(fresh);
    htmx.process(fresh);
  }
  if (near) toEnd(thread());
  return answer.status;
}

function busy(isBusy) {
  const stop = document.getElementById("stop");
  if (stop) stop.hidden = !isBusy;
}

function followAll() {
  for (const [address, source] of followed) {
    if (!document.querySelector(`[data-follow="${CSS.escape(address)}"]`)) {
      source.close();
      followed.delete(address);
    }
  }
  document.querySelectorAll("[data-follow]").forEach(follow);
  busy(followed.size > 0);
}

// --- The composer ---

function leaveEdit() {
  composer.elements.edits.value = "";
  document.getElementById("editing").hidden = true;
}

function newKey() { composer.elements.key.value = `page-${Date.now()}-${Math.random().toString(36).slice(2)}`; }

function begin() {
  newKey();
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches) {
      event.preventDefault();
      if (words.value.trim()) composer.requestSubmit();
    }
    if (event.key === "Escape") leaveEdit();
  });
  document.getElementById("no-edit").addEventListener("click", leaveEdit);
  composer.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt !== composer || !event.detail.successful) return;
    words.value = "";
    leaveEdit();
    newKey();
    notice.replaceChildren();
  });
  composer.addEventListener("htmx:sendError", () => say("The server cannot be reached; nothing was sent."));
  document.body.addEventListener("htmx:afterSettle", () => { followAll(); toEnd(thread()); });
  document.addEventListener("click", (event) => {
    const edit = event.target.closest("[data-edit]");
    if (!edit) return;
    words.value = edit.closest(".bubble").querySelector(".said").textContent;
    composer.elements.edits.value = edit.dataset.edit;
    document.getElementById("editing").hidden = false;
    words.focus();
  });
  followAll();
  toEnd(thread());
  setInterval(news, 15000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) news(); });
}

async function news() {
  const box = thread(); // null on the page that lists the agents
  if (!box || document.hidden || followed.size) return;
  const answer = await part(`${box.dataset.news}?leaf=${box.dataset.leaf}`);
  if (answer.status !== 200 || followed.size) return;
  htmx.swap("#thread", await answer.text(), { swapStyle: "outerHTML" });
}

// --- The inbox ---

function post(address, body) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf() };
  return fetch(address, { method: "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
}

const shown = new Map(); // number of a delivery -> its toast

function toasts(box, since = "") {
  const source = new EventSource(box.dataset.stream + (since && `?since=${encodeURIComponent(since)}`));
  let last = since;
  source.addEventListener("delivery", async (event) => {
    last = event.lastEventId;
    const item = JSON.parse(event.data);
    if (item.status !== "sent") return;
    // Whoever claims it shows it; 409 means that another screen did.
    if (!(await post(`${box.dataset.inbox}${item.seq}/seen/`)).ok) return;
    const toast = document.createElement("article");
    const title = document.createElement("b");
    title.textContent = item.title;
    const text = document.createElement("span");
    text.textContent = item.body.slice(0, 300);
    const close = document.createElement("button");
    close.className = "plain";
    close.textContent = "Dismiss";
    close.addEventListener("click", () => { toast.remove(); post(`${box.dataset.inbox}${item.seq}/dismiss/`); });
    toast.append(title, text, close);
    if (item.metadata && item.metadata.dialogue) {
      const link = document.createElement("a");
      link.href = `/chat/${encodeURIComponent(item.metadata.dialogue)}/`;
      link.textContent = "Open";
      toast.append(link);
    }
    shown.set(item.seq, toast);
    box.append(toast);
    news();
  });
  source.addEventListener("status", (event) => {
    const item = JSON.parse(event.data);
    if (["dismissed", "acted", "expired"].includes(item.status) && shown.has(item.seq)) shown.get(item.seq).remove();
  });
  // The browser connects again by itself, but not when a proxy answers for a server that restarts.
  const again = async () => {
    if ((await part(box.dataset.inbox)).status !== 401) toasts(box, last);
  };
  source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) setTimeout(again, 5000); });
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) notice.replaceChildren();
  const risky = event.target.closest("[data-confirm]");
  if (risky && !confirm(risky.dataset.confirm)) event.preventDefault();
});
if (composer) begin();
toasts(document.getElementById("toasts"));
