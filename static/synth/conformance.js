// Checks this server's streams from the browser, and says of each rule whether it holds.
"use strict";

const list = document.getElementById("checks");
const verdict = document.getElementById("verdict");
const agent = document.getElementById("agent");
const headers = { "Content-Type": "application/json", "X-CSRFToken": document.body.dataset.csrf };
const TERMINAL = new Set(["message.end", "error"]);
let failures = 0;

function note(holds, text, detail) {
  const item = document.createElement("li");
  item.className = holds ? "ok" : "bad";
  item.textContent = detail ? `${text} (${detail})` : text;
  list.append(item);
  if (!holds) failures += 1;
}

const post = (path, body, more) =>
  fetch(path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });

async function read(answer, onPiece) {
  // The raw text, and in how many pieces it came.
  const reader = answer.body.getReader();
  const bytes = [];
  let pieces = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces += 1;
    bytes.push(value);
    if (onPiece) onPiece(new TextDecoder().decode(value, { stream: true }));
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(bytes).arrayBuffer());
  return { text, pieces };
}

function events(text) {
  return text.split("\n\n").filter((block) => /^(id|event|data):/m.test(block)).map((block) => {
    const found = {};
    for (const line of block.split("\n")) {
      const at = line.indexOf(": ");
      if (at > 0) found[line.slice(0, at)] = line.slice(at + 2);
    }
    return found;
  }).filter((event) => event.data !== undefined);
}

function checkStream(answer, got, told) {
  note(answer.headers.get("content-type").startsWith("text/event-stream"), "It is an event stream");
  note(answer.headers.get("x-accel-buffering") === "no", "Proxies are asked not to hold it back");
  note(!answer.headers.get("content-encoding"), "It is not packed");
  note(!got.text.includes("\r"), "Lines end with LF only");
  note(got.text.endsWith("\n\n"), "Each event ends with a blank line");
  const ids = told.map((event) => Number(event.id));
  note(ids.every((id, n) => Number.isSafeInteger(id) && (n === 0 || id > ids[n - 1])), "Ids grow", `${ids.length} events`);
  note(told.length > 0 && told[0].event === "message.start", "It begins with message.start");
  const ends = told.filter((event) => TERMINAL.has(event.event));
  note(ends.length === 1 && told[told.length - 1] === ends[0], "Exactly one event ends it, as the last one");
  note(ends.length === 1 && ends[0].event === "message.end", "The answer came", ends[0] && ends[0].event === "error" ? JSON.parse(ends[0].data).message : "");
  note(told.every((event) => { try { JSON.parse(event.data); return true; } catch { return false; } }), "All data is JSON");
  const deltas = told.filter((event) => event.event === "delta").length;
  note(deltas < 3 || got.pieces > 1, "Words come while they are written", `${deltas} deltas in ${got.pieces} pieces`);
}

async function checkChat(dialogue) {
  const answer = await post("/api/chat/stream", { dialogue, content: "Please count from one to ten in words." });
  if (!answer.ok) return note(false, "A stream begins", `${answer.status} ${(await answer.json()).error.message}`);
  const got = await read(answer);
  const told = events(got.text);
  checkStream(answer, got, told);
  if (!told.length) return undefined;
  const message = JSON.parse(told[0].data).message_id;
  const middle = told[Math.floor((told.length - 1) / 2)];
  const again = events((await read(await fetch(`/api/chat/stream?message=${message}`, { headers: { "Last-Event-ID": middle.id } }))).text);
  const missed = told.slice(told.indexOf(middle) + 1).map((event) => event.id).join();
  note(again.map((event) => event.id).join() === missed, "Last-Event-ID tells what was missed, and no more");
  const last = await fetch(`/api/chat/stream?message=${message}&since=${told[told.length - 1].id}`);
  note(last.status === 204, "Who has all of it is told so", `${last.status}`);
  return message;
}

async function checkStop(dialogue) {
  const answer = await post("/api/chat/stream", { dialogue, content: "Please write a very long story about the sea." });
  if (!answer.ok) return note(false, "A second stream begins", `${answer.status}`);
  let seen = "";
  let isAsked = false;
  const got = await read(answer, (piece) => {
    seen += piece;
    const start = /"message_id":(\d+)/.exec(seen);
    if (start && !isAsked) {
      isAsked = true;
      post(`/api/chat/${start[1]}/stop/`, {});
    }
  });
  const end = events(got.text).pop();
  const status = end && end.event === "message.end" ? JSON.parse(end.data).message.status : "";
  // A short answer may have ended before it could be stopped.
  note(["cancelled", "complete"].includes(status), "A stopped answer ends, with what was said", status);
  return undefined;
}

async function checkRefusals() {
  const missing = await post("/api/chat/stream", { dialogue: "00000000-0000-4000-8000-000000000000", content: "Hello" });
  note(missing.status === 404 && missing.headers.get("content-type").startsWith("application/json"), "A refusal is JSON with a status, before any stream", `${missing.status}`);
  const bad = await post("/v1/chat/completions", { model: `synth/${agent.value}`, messages: [] });
  const said = await bad.json();
  note(bad.status === 400 && said.error.param === "messages", "The OpenAI door names what is wrong", `${bad.status}`);
}

async function checkOpenAi(mark) {
  const body = { model: `synth/${agent.value}`, stream: true, stream_options: { include_usage: true }, messages: [{ role: "user", content: `${mark}: say hello` }] };
  const answer = await post("/v1/chat/completions", body);
  if (!answer.ok) return note(false, "The OpenAI door streams", `${answer.status}`);
  const lines = (await read(answer)).text.split("\n\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  note(lines[lines.length - 1] === "[DONE]", "OpenAI: [DONE] is last");
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line));
  const first = chunks[0].choices[0].delta;
  note(first.role === "assistant" && first.content === "", "OpenAI: the first chunk says the role");
  const choices = chunks.flatMap((chunk) => chunk.choices || []);
  note(choices.slice(1).every((choice) => !("role" in choice.delta)), "OpenAI: no later chunk does");
  note(choices.filter((choice) => choice.finish_reason).length === 1, "OpenAI: exactly one finish reason");
  const usage = chunks[chunks.length - 1];
  note(usage.choices && usage.choices.length === 0 && usage.usage.total_tokens > 0, "OpenAI: usage comes last, when asked for");
  const models = await (await fetch("/v1/models")).json();
  note(models.data.some((model) => model.id === body.model), "OpenAI: the agent is listed as a model");
  return undefined;
}

async function clear(id, mark) {
  // Only what the checks began: others may begin dialogues meanwhile. The OpenAI door's is named by its first words.
  const listed = await (await fetch(`/api/dialogues/?agent=${agent.value}`)).json();
  const ours = listed.results.filter((row) => row.title.startsWith(mark)).map((row) => row.id);
  for (const one of [id, ...ours]) await fetch(`/api/dialogues/${one}/`, { method: "DELETE", headers });
}

async function run() {
  list.replaceChildren();
  verdict.textContent = "Checking …";
  failures = 0;
  const mark = `Stream check ${Math.random().toString(36).slice(2, 10)}`;
  const begun = await post("/api/dialogues/", { agent: agent.value, scratch: true });
  if (!begun.ok) return note(false, "A dialogue begins", `${begun.status}`);
  const { id } = await begun.json();
  for (const check of [checkRefusals, () => checkChat(id), () => checkStop(id), () => checkOpenAi(mark)]) {
    try {
      await check();
    } catch (error) {
      note(false, "A check broke", String(error));
    }
  }
  await clear(id, mark);
  return undefined;
}

agent.addEventListener("change", () => {
  document.querySelectorAll("[data-agent]").forEach((place) => { place.textContent = agent.value; });
});
document.getElementById("run").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  await run();
  button.disabled = false;
  verdict.textContent = failures ? `${failures} checks failed.` : "Every check holds.";
  verdict.dataset.failures = failures;
});
