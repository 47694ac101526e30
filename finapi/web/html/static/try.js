// "Try it": the call of the page with the caller's own key, which stays in this page and goes to this host only.
const form = document.getElementById("try");
const at = (name) => document.getElementById(`try-${name}`);

async function send(event) {
  event.preventDefault();
  const button = form.querySelector("button"), key = at("key").value.trim(), body = at("body")?.value;
  const headers = { Accept: "application/json" };
  if (key && form.dataset.session !== undefined) headers.Authorization = `Bearer ${key}`;
  else if (key) headers["X-API-Key"] = key;
  if (body) headers["Content-Type"] = "application/json";
  const target = new URL(at("target").value, location.origin);
  if (target.origin !== location.origin) return void (at("status").textContent = "Only calls of this host can be sent.");
  button.disabled = true;
  const began = performance.now();
  try {
    const answer = await fetch(target, { method: form.dataset.method, headers, body, cache: "no-store", credentials: "omit" });
    const text = await answer.text(), took = Math.round(performance.now() - began);
    const cost = answer.headers.get("X-Tokens-Charged");
    at("status").textContent = `${answer.status} in ${took} ms${cost === null ? "" : `, ${cost} tokens`}`;
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* Not JSON: shown as received. */ }
    at("answer").textContent = shown.slice(0, 200_000);
    at("answer").parentNode.hidden = shown === "";
    at("headers").textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    at("headers").closest("details").hidden = false;
  } catch (error) {
    at("status").textContent = `It could not be sent: ${error.message}`;
  } finally {
    button.disabled = false;
  }
}

form.hidden = false;
form.addEventListener("submit", send);
