// "Try it": sends the call of the page with the reader's own key, which stays in this page and is sent to this host only.
const MAX_SHOWN_CHARACTERS = 200_000;

const form = document.getElementById("try");
const find = (name) => document.getElementById(`try-${name}`);

function buildHeaders(key, body) {
  const headers = { Accept: "application/json" };
  if (key && form.dataset.session !== undefined) headers.Authorization = `Bearer ${key}`;
  else if (key) headers["X-API-Key"] = key;
  if (body) headers["Content-Type"] = "application/json";
  return headers;
}

function formatBody(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // Not JSON: shown as received.
  }
}

function showAnswer(response, text, milliseconds) {
  const cost = response.headers.get("X-Tokens-Charged");
  find("status").textContent = `${response.status} in ${milliseconds} ms${cost === null ? "" : `, ${cost} tokens`}`;
  find("answer").textContent = formatBody(text).slice(0, MAX_SHOWN_CHARACTERS);
  find("answer").parentNode.hidden = text === "";
  find("headers").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  find("headers").closest("details").hidden = false;
}

async function send(event) {
  event.preventDefault();
  const button = form.querySelector("button"), key = find("key").value.trim(), body = find("body")?.value;
  const target = new URL(find("target").value, location.origin);
  if (target.origin !== location.origin) {
    find("status").textContent = "Only calls of this host can be sent.";
    return;
  }
  button.disabled = true;
  const start = performance.now();
  const options = { method: form.dataset.method, headers: buildHeaders(key, body), body, cache: "no-store" };
  try {
    const response = await fetch(target, { ...options, credentials: "omit" });
    const text = await response.text();
    showAnswer(response, text, Math.round(performance.now() - start));
  } catch (error) {
    find("status").textContent = `The call could not be sent: ${error.message}`;
  } finally {
    button.disabled = false;
  }
}

form.hidden = false;
form.addEventListener("submit", send);
